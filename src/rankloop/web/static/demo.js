/* The little that the demo needs beyond htmx and the charts. */
(function () {
  "use strict";
  const stopped = () => document.getElementById("stopped");

  // "/" goes to the search box, as on many search pages, unless somebody is typing.
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    const box = document.getElementById("q");
    if (!box) return;
    event.preventDefault();
    box.focus();
    box.select();
  });

  // A new status means new points on the curve.
  document.addEventListener("htmx:afterSettle", (event) => {
    if (event.target.id === "status" || document.getElementById("status") === event.detail.elt) {
      document.dispatchEvent(new Event("rankloop:refresh"));
    }
  });

  // The machine that serves this page may stop: say so, rather than stand still.
  async function look() {
    if (document.hidden || !stopped()) return;
    let alive = false;
    try {
      alive = (await fetch("/healthz", { cache: "no-store" })).ok;
    } catch (error) {
      alive = false;
    }
    stopped().hidden = alive;
  }
  setInterval(look, 2000);
  document.addEventListener("htmx:sendError", look);
})();
