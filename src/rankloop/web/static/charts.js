/* Charts: every <figure class="chart" data-src="…"> is drawn from the JSON at its address, and again every
   data-refresh milliseconds. The JSON says it all:
     {"x": [..], "time": true, "x_label": "…", "y_label": "…", "unit": "%", "y_range": [0, 1],
      "series": [{"label": "…", "values": [..], "low": [..], "high": [..], "line": 1, "dash": false}]}
   `low` and `high` draw a band. null is a gap; with "join": true lines go on behind it. "points": true marks every value,
   "whole": true counts in whole numbers, as ranks do. Times are seconds since 1970 and shown in the viewer's zone. */
(function () {
  "use strict";
  const drawn = new WeakMap();
  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const fade = (colour) => (/^#[0-9a-f]{6}$/i.test(colour) ? colour + "2e" : colour);

  function number(value, unit) {
    if (value === null || value === undefined) return "–";
    const size = Math.abs(value);
    const digits = size >= 1000 ? 0 : size >= 10 ? 1 : 3;
    return value.toLocaleString(undefined, { maximumFractionDigits: digits }) + (unit ? " " + unit : "");
  }

  function options(data, width, height) {
    const axis = { stroke: style("--quiet"), grid: { stroke: style("--rule"), width: 1 }, ticks: { stroke: style("--rule"), width: 1 }, font: "12px system-ui, sans-serif" };
    const series = [{ label: data.x_label || "", value: data.time ? undefined : (u, v) => number(v) }];
    const bands = [];
    data.series.forEach((one, index) => {
      const colour = style("--line-" + (one.line || (index % 5) + 1));
      series.push({ label: one.label, stroke: colour, width: 2, dash: one.dash ? [6, 4] : undefined, points: { show: data.x.length < 3 || !!data.points, size: 7, fill: colour }, value: (u, v) => number(v, data.unit), spanGaps: !!data.join });
      if (one.low && one.high) {
        const at = series.length;
        series.push({ label: one.label + " low", stroke: "transparent", points: { show: false }, spanGaps: !!data.join, value: (u, v) => number(v, data.unit) });
        series.push({ label: one.label + " high", stroke: "transparent", points: { show: false }, spanGaps: !!data.join, value: (u, v) => number(v, data.unit) });
        bands.push({ series: [at + 1, at], fill: fade(colour) });
      }
    });
    const range = data.y_range;
    const lone = data.time ? 1800 : 1; // room around a single value; nothing is counted below 0
    const around = (x) => [x < 0 ? x - lone : Math.max(0, x - lone), x + lone];
    return {
      width: width, height: height, series: series, bands: bands,
      scales: { x: { time: !!data.time, range: (u, low, high) => (u.data[0].length === 1 ? around(u.data[0][0]) : [low, high]) }, y: range ? { range: range } : {} },
      axes: [Object.assign({}, axis, data.whole ? { incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500] } : {}, { label: data.x_label, labelFont: axis.font, labelSize: 18, size: data.time ? 46 : 36 }), Object.assign({}, axis, { label: data.y_label + (data.unit ? " (" + data.unit + ")" : ""), labelFont: axis.font, labelSize: 18, size: 56 })],
      legend: { live: false }, cursor: { drag: { x: false, y: false } },
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

  function draw(figure, data) {
    const plot = figure.querySelector(".plot");
    const shape = JSON.stringify([data.series.map((one) => [one.label, !!one.low]), style("--ground"), plot.clientWidth, data.y_range, data.x.length < 3]);
    const before = drawn.get(figure);
    figure.dataset.points = data.x.length;
    if (!data.x.length) return;
    if (before && before.shape === shape) {
      before.chart.setData(columns(data));
      return;
    }
    if (before) before.chart.destroy();
    plot.textContent = "";
    const chart = new uPlot(options(data, plot.clientWidth, plot.clientHeight - 30), columns(data), plot);
    // Low and high belong to their line: the legend need not name them.
    chart.root.querySelectorAll(".u-legend .u-series").forEach((row) => {
      if (/ (low|high)$/.test(row.textContent)) row.remove();
    });
    // A legend may take more lines than one, on a phone: the chart gets what it leaves.
    chart.root.style.width = plot.clientWidth + "px";
    const legend = chart.root.querySelector(".u-legend");
    chart.setSize({ width: plot.clientWidth, height: plot.clientHeight - legend.offsetHeight - 4 });
    drawn.set(figure, { chart: chart, shape: shape });
  }

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

  // Times come as UTC and are shown in the viewer's zone. One formatter for all: making one takes milliseconds.
  const part = "numeric";
  const local = new Intl.DateTimeFormat(undefined, { year: part, month: part, day: part, hour: part, minute: part, second: part });
  function times(root) {
    root.querySelectorAll("time[datetime]:not([data-local])").forEach((one) => {
      const at = new Date(one.getAttribute("datetime"));
      if (!isNaN(at)) { one.textContent = local.format(at); one.dataset.local = "yes"; }
    });
  }
  document.addEventListener("DOMContentLoaded", () => times(document));
  // As soon as it is in the page: before anybody can see the other zone, or anything moves.
  ["htmx:afterSwap", "htmx:oobAfterSwap", "htmx:afterSettle"].forEach((moment) => document.addEventListener(moment, () => times(document)));
})();
