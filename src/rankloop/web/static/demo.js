/* The little that the demo needs beyond htmx: results that glide to their new places, and hold still under a pointer. */
(function () {
  "use strict";
  const find = (id) => document.getElementById(id);
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const hovers = matchMedia("(hover: hover)");
  const rows = () => [...document.querySelectorAll("#results [data-key]")];

  // Every request says which page of results somebody is looking at, and whether it must hold still.
  let held = false;
  const aimed = (results) => (hovers.matches && results.matches(":hover")) || results.querySelector(":focus-visible, details[open]") !== null;
  document.addEventListener("htmx:configRequest", (event) => {
    const results = find("results");
    if (!results) return;
    event.detail.parameters.impression = results.dataset.impression;
    held = event.detail.path === "/demo/crowd" && aimed(results);
    if (held) event.detail.parameters.hold = "yes";
  });
  const release = () => {
    const results = find("results");
    if (held && results && !aimed(results)) htmx.ajax("GET", "/demo/crowd", { target: "#status", swap: "outerHTML" });
  };
  document.addEventListener("pointerout", (event) => { if (event.target.closest && event.target.closest("#results")) setTimeout(release, 50); });

  // First, last, invert, play: where in the list each result stood, then from there to where it stands.
  const height = (row) => row.getBoundingClientRect().top - row.parentElement.getBoundingClientRect().top;
  let before = null, landed = false;
  document.addEventListener("htmx:beforeSwap", () => {
    before = { results: find("results"), places: new Map(rows().map((row) => [row.dataset.key, height(row)])) };
  });
  // On a phone, what a click did is told at the bottom of the screen: the row that it is about must not lie under it,
  // nor have left the screen above. Where it will stand counts, not where it glides now.
  function uncover(row, told) {
    if (!row || !told || getComputedStyle(told).position !== "sticky") return;
    const list = row.parentElement, top = list.getBoundingClientRect().top + row.offsetTop - list.offsetTop;
    const under = top + row.offsetHeight - told.getBoundingClientRect().top;
    const by = top < 8 ? top - 8 : under > 0 ? under + 8 : 0;
    if (by) scrollBy({ top: by, behavior: still.matches ? "auto" : "smooth" });
  }
  function glide() {
    const results = find("results");
    if (!before || !results || before.results === results || !before.results) return;
    const places = before.places;
    before = null;
    let moved = 0;
    rows().forEach((row) => {
      const was = places.get(row.dataset.key);
      const by = was === undefined ? 24 : was - height(row);
      if (Math.abs(by) < 2) return;
      moved += 1;
      if (still.matches) return;
      const from = { transform: "translateY(" + by + "px)", opacity: was === undefined ? 0 : 1 };
      row.animate([from, { transform: "none", opacity: 1 }], { duration: 700, easing: "cubic-bezier(.2, .7, .2, 1)" });
      row.animate([{ backgroundColor: getComputedStyle(row).getPropertyValue("--moved") }, {}], { duration: 1600, easing: "ease-out" });
    });
    results.dataset.moved = moved;
    landed = true;
    const paths = results.querySelector(".paths");
    if (moved && paths && !still.matches) paths.animate([{ opacity: 0 }, { opacity: 1 }], { duration: 300 });
  }
  // What says the same as before stays as it is: nothing is read out twice.
  document.addEventListener("htmx:oobBeforeSwap", (event) => {
    const { target, fragment } = event.detail;
    if (target.id === "lesson" && fragment.textContent.trim() === target.textContent.trim()) event.detail.shouldSwap = false;
  });
  document.addEventListener("htmx:afterSwap", glide);
  document.addEventListener("htmx:oobAfterSwap", glide);
  // What has just come in has the classes of what it replaced until it settles, and so its place.
  document.addEventListener("htmx:afterSettle", () => {
    if (landed) uncover(document.querySelector("#results li.clicked"), find("lesson"));
    landed = false;
  });

  // What comes to lie under a pointer that rests after a click is not pointed at, until the pointer moves.
  let rests = null;
  document.addEventListener("click", (event) => {
    if (!event.target.closest || !event.target.closest("#results button.link") || !event.detail) return;
    rests = { x: event.clientX, y: event.clientY };
    document.querySelector(".demo").classList.add("resting");
  });
  document.addEventListener("pointermove", (event) => {
    if (!rests || Math.abs(event.clientX - rests.x) + Math.abs(event.clientY - rests.y) < 3) return;
    rests = null;
    document.querySelector(".demo").classList.remove("resting");
  });

  // One reason at a time, and Escape closes it.
  document.addEventListener("toggle", (event) => {
    if (event.target.matches(".why[open]")) document.querySelectorAll(".why[open]").forEach((one) => { if (one !== event.target) one.open = false; });
    else setTimeout(release, 50);
  }, true);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") document.querySelectorAll(".why[open]").forEach((one) => { one.open = false; });
    // "/" goes to the search box, as on many search pages, unless somebody is typing.
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) || !find("q")) return;
    event.preventDefault();
    find("q").focus();
    find("q").select();
  });

  // The machine that serves this page may stop: say so, rather than stand still.
  async function look() {
    if (document.hidden || !find("stopped")) return;
    let alive = false;
    try {
      alive = (await fetch("/healthz", { cache: "no-store" })).ok;
    } catch (error) {
      alive = false;
    }
    find("stopped").hidden = alive;
  }
  setInterval(look, 2000);
  document.addEventListener("htmx:sendError", look);
})();
