/* The study viewer: tables sort by the heading that is pressed, and times are shown in the reader's zone. */
(function () {
  "use strict";
  const MISSING = "–";

  function value(cell) {
    const text = cell.textContent.trim();
    if (!cell.classList.contains("number")) return text;
    const found = /[-−+]?[\d.,]+(?:e[-−+]?\d+)?/.exec(text);
    if (!found) return null;
    const number = Number(found[0].replace(/−/g, "-").replace(/,/g, ""));
    return text.startsWith("<") ? number / 2 : number;
  }

  function compare(a, b) {
    if (typeof a === "string") return a.localeCompare(b, "en", { numeric: true });
    return a - b;
  }

  function sort(table, index, direction) {
    const body = table.tBodies[0];
    const rows = Array.from(body.rows);
    rows.forEach((row, at) => { if (row.dataset.place === undefined) row.dataset.place = at; });
    const place = (row) => Number(row.dataset.place);
    rows.sort((one, other) => {
      if (!direction) return place(one) - place(other);
      const a = value(one.cells[index]), b = value(other.cells[index]);
      const missing = (x) => x === null || x === "" || x === MISSING;
      if (missing(a) || missing(b)) return missing(a) - missing(b) || place(one) - place(other);
      return direction * compare(a, b) || place(one) - place(other);
    });
    body.append(...rows);
    table.classList.toggle("sorted", !!direction);
  }

  /* Numbers begin with the largest, names with the first of the alphabet; the third press restores the report's order. */
  function press(heading) {
    const table = heading.closest("table");
    const order = heading.classList.contains("number") ? ["descending", "ascending"] : ["ascending", "descending"];
    const next = order[order.indexOf(heading.getAttribute("aria-sort")) + 1];
    table.querySelectorAll("th").forEach((one) => one.removeAttribute("aria-sort"));
    if (next) heading.setAttribute("aria-sort", next);
    sort(table, heading.cellIndex, next === "ascending" ? 1 : next === "descending" ? -1 : 0);
  }

  function showTimes(root) {
    root.querySelectorAll("time[datetime]").forEach((one) => {
      const at = new Date(one.dateTime);
      one.textContent = at.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
      one.title = at.toISOString();
    });
  }

  /* On a phone a table is a list, and a cell stands beside the name of its column. */
  function nameCells(table) {
    const names = Array.from(table.tHead.rows[0].cells, (heading) => heading.textContent.trim());
    for (const row of table.tBodies[0].rows) {
      Array.from(row.cells).forEach((cell, at) => { if (names[at] && cell.textContent) cell.dataset.label = names[at]; });
    }
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("table.sortable th button");
    if (button) press(button.closest("th"));
  });
  document.addEventListener("htmx:afterSwap", (event) => showTimes(event.target));
  showTimes(document);
  document.querySelectorAll("table.list").forEach(nameCells);
})();
