/* Charts: every <figure class="chart" data-src="…"> is drawn from the JSON at its address, and again every
   data-refresh milliseconds. The JSON says it all:
     {"x": [..], "time": true, "x_label": "…", "y_label": "…", "unit": "%", "y_range": [0, 1], "zero": true,
      "series": [{"label": "…", "values": [..], "low": [..], "high": [..], "line": 1, "dash": false}],
      "marks": [{"x": 3, "label": "…"}]}
   `low` and `high` draw a band. null is a gap; with "join": true lines go on behind it. A value between two gaps is a dot;
   "points": true marks every one; over time a single point is no line, and words stand in its place. "counts" are whole numbers; "whole": true counts in whole numbers, as ranks do, "zero" draws the line of no
   difference, a mark is a line from top to bottom with a word. Times are seconds since 1970 and shown in the viewer's
   zone. Whoever points at a chart, or moves over it with the arrow keys, is told the values there. */
(function () {
  "use strict";
  const drawn = new WeakMap();
  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const fade = (colour) => (/^#[0-9a-f]{6}$/i.test(colour) ? colour + "24" : colour);
  const FONT = "12px " + (style("--sans") || "sans-serif");
  const part = "numeric";
  // One formatter for all: making one takes milliseconds.
  const local = new Intl.DateTimeFormat(undefined, { year: part, month: "short", day: part, hour: "2-digit", minute: "2-digit", second: "2-digit" });
  const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
  const ticking = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
  const date = new Intl.DateTimeFormat(undefined, { day: part, month: "short" });
  const brief = new Intl.DateTimeFormat(undefined, { day: part, month: "short", hour: "2-digit", minute: "2-digit" });
  const short = new Intl.DateTimeFormat(undefined, { weekday: "short", day: part, month: "short", hour: part, minute: part });

  function number(value, unit) {
    if (value === null || value === undefined) return "–";
    const size = Math.abs(value);
    const digits = size >= 1000 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
    return value.toLocaleString(undefined, { maximumFractionDigits: digits }).replace("-", "−") + (unit ? " " + unit : "");
  }

  /* Where a value stands between two gaps: no line would show it. */
  function alone(values, join) {
    const found = [];
    let last = null;
    values.forEach((value, at) => {
      if (value === null || value === undefined) return;
      const left = join ? last !== null : at > 0 && values[at - 1] != null;
      const right = join ? values.slice(at + 1).some((one) => one != null) : at + 1 < values.length && values[at + 1] != null;
      if (!left && !right) found.push(at);
      last = at;
    });
    return found;
  }

  function room(u, labels, index, cycle) {
    const axis = u.axes[index];
    if (cycle > 1) return axis._size;
    u.ctx.font = FONT;
    const longest = (labels || []).reduce((most, one) => Math.max(most, u.ctx.measureText(one || "").width), 0);
    return Math.max(Math.ceil(longest) + 14, u.axes[0].least || 0);
  }

  const WHOLE = [1, 10, 100, 1e3, 1e4, 1e5, 1e6].flatMap((one) => [one, 2 * one, 5 * one]); // steps between numbers of things
  const MINUTE = 60, HOUR = 3600, DAY = 86400;
  // Steps between times: a clock that is shown to the second has none between two seconds.
  const STEPS = [1, 5, 10, 15, 30].concat([1, 5, 10, 15, 30].map((one) => one * MINUTE), [1, 2, 3, 4, 6, 8, 12].map((one) => one * HOUR),
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 15, 30, 60, 90, 180, 365].map((one) => one * DAY));
  const FEW = 5; // numbers that an axis of counts has at least: a line of nothing but zeros lies at its foot
  const HALF = 38; // half a time below the axis, the longest that there is
  /* How far apart times stand, at least: with seconds they are longer. */
  function apart(u, index, low, high, wide) {
    return (high - low) / (wide / 72) < 60 ? 96 : 72;
  }

  /* Times below the axis: the date once for each day, or where a step is a day; seconds where a step is less than a minute. */
  function moments(u, splits, index, space, step) {
    let day = "";
    return splits.map((at) => {
      const moment = new Date(1000 * at), today = date.format(moment), is_new = today !== day;
      day = today;
      return step >= 86400 ? today : (step < 60 ? ticking : clock).format(moment) + (is_new ? "\n" + today : "");
    });
  }

  function marks(data) {
    return (u) => {
      const { ctx } = u, { left, top, width, height } = u.bbox, ratio = devicePixelRatio || 1;
      ctx.save();
      if (data.zero) {
        const y = Math.round(u.valToPos(0, "y", true)) + 0.5;
        if (y >= top && y <= top + height) {
          ctx.strokeStyle = style("--edge");
          ctx.lineWidth = ratio;
          ctx.beginPath(); ctx.moveTo(left, y); ctx.lineTo(left + width, y); ctx.stroke();
        }
      }
      ctx.font = 12 * ratio + "px " + style("--sans");
      ctx.fillStyle = ctx.strokeStyle = style("--quiet");
      ctx.textAlign = "left";
      const ends = [];
      (data.marks || []).slice().sort((one, other) => one.x - other.x).forEach((mark) => {
        const x = Math.round(u.valToPos(mark.x, "x", true)) + 0.5;
        if (x < left - 1 || x > left + width + 1) return;
        ctx.lineWidth = ratio;
        ctx.setLineDash([3 * ratio, 3 * ratio]);
        ctx.beginPath(); ctx.moveTo(x, top); ctx.lineTo(x, top + height); ctx.stroke();
        const wide = ctx.measureText(mark.label).width;
        const from = x + wide + 8 * ratio > left + width ? x - wide - 5 * ratio : x + 5 * ratio;
        let row = 0;
        while (ends[row] > from) row += 1; // words that would lie on each other lie below each other
        ends[row] = from + wide + 6 * ratio;
        const down = top + (11 + 14 * row) * ratio;
        ctx.save(); // nothing that lies behind a word strikes it through
        ctx.setLineDash([]);
        ctx.lineWidth = 4 * ratio;
        ctx.strokeStyle = style("--card");
        ctx.strokeText(mark.label, from, down);
        ctx.restore();
        ctx.fillText(mark.label, from, down);
      });
      ctx.restore();
    };
  }

  /* What is drawn under the pointer, in words: the time or the rank, and each line's value with its interval. */
  function tooltip(data) {
    const tip = document.createElement("div");
    tip.className = "tip";
    tip.hidden = true;
    function tell(u) {
      const at = u.cursor.idx;
      tip.hidden = at === null || at === undefined || !(u.cursor.left >= 0);
      if (tip.hidden) return;
      tip.textContent = "";
      const title = document.createElement("b");
      title.textContent = data.time ? short.format(new Date(1000 * data.x[at])) : data.x_label + " " + number(data.x[at]);
      const table = document.createElement("table");
      data.series.forEach((one, index) => {
        if (one.values[at] === null || one.values[at] === undefined) return;
        const row = table.insertRow(), name = row.insertCell(), key = document.createElement("i");
        key.style.background = style("--line-" + (one.line || (index % 5) + 1));
        name.append(key, one.label);
        const band = one.low && one.low[at] != null && one.high[at] != null;
        row.insertCell().textContent = number(one.values[at], data.unit) + (band ? " (" + number(one.low[at]) + " to " + number(one.high[at]) + ")" : "");
      });
      tip.append(title, table.rows.length ? table : "no data");
      const left = u.cursor.left + u.over.offsetLeft, space = u.root.clientWidth;
      const x = left + 14 + tip.offsetWidth > space ? Math.max(0, left - 14 - tip.offsetWidth) : left + 14;
      tip.style.left = x + "px";
      tip.style.top = u.over.offsetTop + 4 + "px";
    }
    return { hooks: { init: (u) => u.root.append(tip), setCursor: tell } };
  }

  function options(data, width, height) {
    const axis = { stroke: style("--quiet"), grid: { show: false }, ticks: { show: false }, font: FONT, gap: 8 };
    const join = !!data.join;
    const series = [{ label: data.x_label || "", value: data.time ? undefined : (u, v) => number(v) }];
    const bands = [];
    data.series.forEach((one, index) => {
      const colour = style("--line-" + (one.line || (index % 5) + 1));
      const dots = { show: true, size: 6, fill: colour, stroke: colour };
      if (!data.points) dots.filter = (u, at) => alone(u.data[at], join);
      series.push({ label: one.label, stroke: colour, width: 2, dash: one.dash ? [6, 4] : undefined, points: dots, value: (u, v) => number(v, data.unit), spanGaps: join });
      if (one.low && one.high) {
        const at = series.length, edge = { stroke: "transparent", points: { show: false }, spanGaps: join, value: (u, v) => number(v, data.unit) };
        series.push(Object.assign({ label: one.label + " low" }, edge), Object.assign({ label: one.label + " high" }, edge));
        bands.push({ series: [at + 1, at], fill: fade(colour) });
      }
    });
    const range = data.y_range;
    const lone = data.time ? 120 : 1; // room around a single value; nothing is counted below 0
    const around = (x) => [x < 0 ? x - lone : Math.max(0, x - lone), x + lone];
    const across = Object.assign({}, axis, data.whole ? { incrs: WHOLE } : {}, data.time ? { size: 42, space: apart, values: moments, incrs: STEPS } : { label: data.x_label, labelFont: FONT, labelSize: 18, size: 28 });
    const up = Object.assign({}, axis, { size: room, grid: { stroke: style("--rule"), width: 1 }, values: (u, all) => all.map((one) => number(one, data.unit)), space: 36 }, data.counts ? { incrs: WHOLE } : {});
    return {
      width: width, height: height, series: series, bands: bands, padding: [10, data.time ? HALF : 14, 0, 0],
      scales: { x: { time: !!data.time, range: (u, low, high) => (u.data[0].length === 1 ? around(u.data[0][0]) : [low, high]) }, y: range ? { range: range } : data.counts ? { range: (u, low, high) => [0, Math.max(FEW, 1.1 * high)] } : {} },
      axes: [Object.assign(across, { least: data.time ? HALF : 0 }), up],
      legend: { live: false }, cursor: { drag: { x: false, y: false }, y: false, points: { size: 7 } },
      plugins: [tooltip(data)], hooks: { drawAxes: [marks(data)] },
    };
  }

  function columns(data) {
    const all = [data.x];
    data.series.forEach((one) => {
      all.push(one.values);
      if (one.low && one.high) all.push(one.low, one.high);
    });
    return all;
  }

  /* Whether some line has two points: one is no course of time. */
  const goes = (data) => !data.time || data.series.some((one) => one.values.filter((value) => value != null).length > 1);

  function draw(figure, data) {
    const plot = figure.querySelector(".plot");
    if (data.x.length && !goes(data)) return wait(figure, plot);
    figure.dataset.points = data.x.length; // one without any may be hidden, and has no size
    const same = JSON.stringify([data, style("--ground"), plot.clientWidth, plot.clientHeight]);
    const before = drawn.get(figure);
    if (!data.x.length || (before && before.same === same)) return;
    const pointed = before && before.chart.cursor.left >= 0 ? before.chart.cursor : null;
    if (before) before.chart.destroy();
    plot.textContent = "";
    const chart = new uPlot(options(data, plot.clientWidth, plot.clientHeight - 30), columns(data), plot);
    // Low and high belong to their line: the legend need not name them. One line needs no name beside the title.
    chart.root.querySelectorAll(".u-legend .u-series").forEach((row) => {
      if (/ (low|high)$/.test(row.textContent)) row.remove();
    });
    const legend = chart.root.querySelector(".u-legend");
    if (data.series.length < 2) legend.hidden = true;
    // A legend may take more lines than one, on a phone: the chart gets what it leaves.
    chart.root.style.width = plot.clientWidth + "px";
    chart.setSize({ width: plot.clientWidth, height: plot.clientHeight - legend.offsetHeight - 4 });
    if (pointed) chart.setCursor({ left: pointed.left, top: pointed.top });
    drawn.set(figure, { chart: chart, same: same });
  }

  /* What stands there until a second point has come. */
  function wait(figure, plot) {
    const before = drawn.get(figure), words = document.createElement("p");
    if (before) before.chart.destroy();
    drawn.delete(figure);
    words.className = "empty";
    words.textContent = "One point so far. The line starts with the second.";
    if (!plot.querySelector(".empty")) plot.replaceChildren(words);
    else plot.querySelector(".empty").textContent = words.textContent;
    figure.dataset.points = 1;
  }

  /* The arrow keys move along a chart that has the focus. */
  document.addEventListener("keydown", (event) => {
    const figure = event.target.closest && event.target.matches(".plot") && event.target.closest("figure.chart");
    const known = figure && drawn.get(figure);
    if (!known || !["ArrowLeft", "ArrowRight", "Escape"].includes(event.key)) return;
    const { chart } = known, last = chart.data[0].length - 1;
    event.preventDefault();
    if (event.key === "Escape") return chart.setCursor({ left: -10, top: -10 });
    const now = chart.cursor.left >= 0 ? chart.cursor.idx : last + 1;
    const next = Math.min(last, Math.max(0, now + (event.key === "ArrowLeft" ? -1 : 1)));
    chart.setCursor({ left: chart.valToPos(chart.data[0][next], "x"), top: 10 });
  });

  /* A finger that taps a chart reads it, until it taps elsewhere. What a browser makes of a tap for a mouse ends with
     leaving, after the click. */
  document.addEventListener("click", (event) => {
    const over = event.target.closest && event.target.closest("figure.chart .u-over");
    document.querySelectorAll("figure.chart").forEach((figure) => {
      const known = drawn.get(figure);
      if (!known || (known.chart.over !== over && !(known.chart.cursor.left >= 0))) return;
      const left = known.chart.over === over ? event.clientX - over.getBoundingClientRect().left : -10;
      setTimeout(() => known.chart.setCursor({ left: left, top: 10 }), 50);
    });
  });

  async function refresh(figure) {
    if (document.hidden && drawn.has(figure)) return;
    try {
      const answer = await fetch(figure.dataset.src, { headers: { accept: "application/json" } });
      if (answer.ok) draw(figure, await answer.json());
      figure.classList.toggle("stale", !answer.ok);
    } catch (error) {
      figure.classList.add("stale");
    }
  }

  function adopt(root) {
    root.querySelectorAll("figure.chart[data-src]").forEach((figure) => {
      if (figure.dataset.adopted) return;
      figure.dataset.adopted = "yes";
      refresh(figure);
      const every = Number(figure.dataset.refresh || 0);
      if (every) {
        const timer = setInterval(() => (figure.isConnected ? refresh(figure) : clearInterval(timer)), every);
      }
    });
  }

  const redraw = () => document.querySelectorAll("figure.chart[data-adopted]").forEach(refresh);
  document.addEventListener("DOMContentLoaded", () => adopt(document));
  document.addEventListener("htmx:load", (event) => adopt(event.target.parentElement || document));
  document.addEventListener("rankloop:refresh", redraw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  let waiting;
  addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(redraw, 150); });

  // Times come as UTC and are shown in the viewer's zone.
  function times(root) {
    root.querySelectorAll("time[datetime]:not([data-local])").forEach((one) => {
      const at = new Date(one.getAttribute("datetime"));
      if (!isNaN(at)) { one.textContent = (one.dataset.brief ? brief : local).format(at); one.dataset.local = "yes"; }
    });
  }
  document.addEventListener("DOMContentLoaded", () => times(document));
  // As soon as it is in the page: before anybody can see the other zone, or anything moves.
  ["htmx:afterSwap", "htmx:oobAfterSwap", "htmx:afterSettle"].forEach((moment) => document.addEventListener(moment, () => times(document)));
})();
