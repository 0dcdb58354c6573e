/* The dashboard's manners: ask only while somebody looks, change only what is new and nobody is reading, and say so when
   the service does not answer. */
(function () {
  "use strict";
  const last = new Map();
  const lost = (is) => { const note = document.getElementById("lost"); if (note) note.hidden = !is; };

  document.addEventListener("htmx:beforeRequest", (event) => { if (document.hidden) event.preventDefault(); });
  document.addEventListener("htmx:oobBeforeSwap", (event) => {
    const fresh = Array.from(event.detail.fragment.children, (one) => one.outerHTML).join("");
    // What has not changed stays: nothing is read out again, and nobody loses their place. Nor is a list pulled away
    // from under somebody who has opened a part of it.
    const here = event.detail.target;
    if (last.get(here.id) === fresh || here.querySelector("details[open]")) event.detail.shouldSwap = false;
    else last.set(here.id, fresh);
  });
  ["htmx:sendError", "htmx:timeout", "htmx:responseError"].forEach((moment) => document.addEventListener(moment, () => lost(true)));
  document.addEventListener("htmx:afterRequest", (event) => { if (event.detail.successful) lost(false); });
})();
