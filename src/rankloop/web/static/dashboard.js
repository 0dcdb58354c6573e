/* The dashboard's manners: ask only while somebody looks, change only what is new, keep open what was opened, and say
   so when the service does not answer. */
(function () {
  "use strict";
  const last = new Map();
  const opened = new Set();
  const lost = (is) => { const note = document.getElementById("lost"); if (note) note.hidden = !is; };

  document.addEventListener("htmx:beforeRequest", (event) => { if (document.hidden) event.preventDefault(); });
  document.addEventListener("htmx:oobBeforeSwap", (event) => {
    const fresh = Array.from(event.detail.fragment.children, (one) => one.outerHTML).join("");
    const same = last.get(event.detail.target.id) === fresh;
    last.set(event.detail.target.id, fresh);
    // What has not changed stays: nothing is read out again, and nobody loses their place.
    if (same) event.detail.shouldSwap = false;
  });
  document.addEventListener("htmx:oobAfterSwap", () => {
    opened.forEach((id) => { const one = document.getElementById(id); if (one) one.open = true; });
  });
  document.addEventListener("toggle", (event) => {
    if (!event.target.id || !event.target.isConnected) return;
    if (event.target.open) opened.add(event.target.id); else opened.delete(event.target.id);
  }, true);
  ["htmx:sendError", "htmx:timeout", "htmx:responseError"].forEach((moment) => document.addEventListener(moment, () => lost(true)));
  document.addEventListener("htmx:afterRequest", (event) => { if (event.detail.successful) lost(false); });
})();
