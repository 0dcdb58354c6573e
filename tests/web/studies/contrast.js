/* Every piece of text that can be seen, with the contrast to what lies behind it (WCAG 2.2, 1.4.3). */
() => {
  const parse = (colour) => {
    const [r, g, b, a = 1] = colour.match(/[\d.]+/g).map(Number);
    return { r, g, b, a };
  };
  const over = (top, below) => ({
    r: top.r * top.a + below.r * (1 - top.a),
    g: top.g * top.a + below.g * (1 - top.a),
    b: top.b * top.a + below.b * (1 - top.a),
    a: 1,
  });
  const linear = (part) => { const v = part / 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
  const luminance = (c) => 0.2126 * linear(c.r) + 0.7152 * linear(c.g) + 0.0722 * linear(c.b);
  const ground = (element) => {
    const layers = [];
    for (let one = element; one; one = one.parentElement) layers.push(parse(getComputedStyle(one).backgroundColor));
    return layers.reverse().reduce((below, top) => over(top, below), { r: 255, g: 255, b: 255, a: 1 });
  };
  const found = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = Array.from(element.childNodes).some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!own || !element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    const behind = ground(element);
    const front = luminance(over(parse(getComputedStyle(element).color), behind));
    const back = luminance(behind);
    const ratio = (Math.max(front, back) + 0.05) / (Math.min(front, back) + 0.05);
    found.push({ text: element.textContent.trim().slice(0, 40), tag: element.tagName, ratio });
  }
  return found;
}
