// Lines over the positions so far: allowed, feasible mass, entropy, probability of what was chosen.
//
// Blue is what the mask leaves, grey and dashed what the model says by itself. A line has a gap where
// a figure is not known. Values that span two decades or more have a logarithmic axis, and the chart says so.
// The pointer and the arrow keys read the values of a position in all four; a click or Enter goes there.

const CHART = 46; // Height of the drawing, in pixels.
const CHART_LEFT = 46;
const DECADES = 100; // The ratio from which on an axis is logarithmic.

const CHARTS = [
  { name: "allowed", series: ["allowed"], show: count, log: true },
  { name: "feasible mass", series: ["z"], show: mass, log: true, top: 1 },
  { name: "entropy, bits", series: ["entropy_after", "entropy_before"], show: bits },
  { name: "chosen, %", series: ["chosen_constrained", "chosen"], show: percent, top: 1 },
];

const isKnown = (x) => x !== null && x !== undefined;

/** Where values stand on an axis of 0 to 1, and what its ends say. */
function axisOf(values, { log, top }) {
  const most = Math.max(...values, top || 0) || 1;
  const positive = values.filter((x) => x > 0);
  const least = Math.min(...positive);
  if (!log || !positive.length || most / least < DECADES) return { log: false, low: 0, high: most, at: (x) => x / most };
  const low = 10 ** Math.floor(Math.log10(least));
  const span = Math.log10(most / low);
  return { log: true, low, high: most, at: (x) => (x > low ? Math.log10(x / low) / span : 0) };
}

/** Path data, a gap where a value is not known; a value between two gaps is a short stroke. */
function linePath(values, x, y) {
  let out = "";
  values.forEach((value, i) => {
    if (!isKnown(value)) return;
    const place = `${x(i).toFixed(1)},${y(value).toFixed(1)}`;
    if (i && isKnown(values[i - 1])) out += `L${place}`;
    else out += `M${place}` + (isKnown(values[i + 1]) ? "" : "h0.1");
  });
  return out;
}

export function renderOverTime({ model, el, ui = pageState(model) }) {
  island(el, "Over time");
  const grid = h("div.lmx-time", { tabindex: 0, role: "slider", "aria-label": "values by position; arrow keys read, Enter goes there", "aria-valuemin": 0 });
  const legend = h("div.dim.lmx-legend");
  const reading = h("span.dim.reading");
  el.append(h("header.over", {}, h("h4", {}, "Over time"), reading, legend), grid);
  const inner = sizeOf(grid, ui.changed);
  let pointed = null; // the position that is read
  let drawn = {}; // what was drawn last, and how wide
  let places = null; // {x, n, step}: the axis that the charts share
  let charts = []; // what is drawn: a chart and its element

  const history = () => model.get("history") || {};
  const here = () => (ui.position ? ui.position.k : 0);
  const value = (chart, k) => {
    const [after, before] = chart.series.map((key) => (history()[key] || [])[k]);
    const both = chart.series.length > 1 && isKnown(before);
    return both ? `${chart.show(before)} → ${chart.show(after)}` : isKnown(after) ? chart.show(after) : "–";
  };
  const words = (k) => {
    const token = ui.tokens()[k - 1];
    const marks = [(history().forced || [])[k] && "one token allowed", (history().interventions || [])[k] && "the model's first choice was masked"];
    return [`position ${k}${token ? ", after " + token.text : ""}`, ...CHARTS.map((chart) => `${chart.name} ${value(chart, k)}`), ...marks.filter(Boolean)].join("; ");
  };

  const draw = (chart, width, n) => {
    const lines = chart.series.map((key) => (history()[key] || []).slice(0, n));
    const all = lines.flat().filter(isKnown);
    if (!all.length) return null;
    const axis = axisOf(all, chart);
    const y = (v) => 5 + (CHART - 5) * (1 - Math.min(1, axis.at(v)));
    const { x } = places;
    const dense = places.step < 4;
    const k = here();
    const bottom = CHART + 1;
    const svg = s("svg", { viewBox: `0 0 ${width} ${CHART + 14}`, width, height: CHART + 14, role: "img",
      "aria-label": `${chart.name} per position${axis.log ? ", logarithmic" : ""}: ${lines[0].map((v) => (isKnown(v) ? chart.show(v) : "–")).slice(0, 60).join(", ")}` });
    svg.append(
      s("line.axis", { x1: CHART_LEFT, x2: width, y1: bottom, y2: bottom }), s("line.axis", { x1: CHART_LEFT, x2: width, y1: 5, y2: 5 }),
      s("text.end", { x: CHART_LEFT - 5, y: 9 }, chart.show(axis.high)), s("text.end", { x: CHART_LEFT - 5, y: bottom }, axis.low ? chart.show(axis.low) : "0"),
      s("line.read", { y1: 5, y2: bottom, visibility: "hidden" }));
    lines.map((values, i) => [values, i]).reverse().forEach(([values, i]) => {
      svg.append(s("path" + (i ? ".before" : ".after") + (dense ? ".dense" : ""), { d: linePath(values, x, y) }));
      if (!i && n <= 40) values.forEach((v, j) => isKnown(v) && svg.append(s("circle.dot", { cx: x(j), cy: y(v), r: 2 })));
      if (!i) svg.append(s("line.now", { x1: x(k), x2: x(k), y1: 5, y2: bottom }));
      if (!i && isKnown(values[k])) svg.append(s("circle.here", { cx: x(k), cy: y(values[k]), r: 4 }));
    });
    // Two lanes under the axis: ticks where one token was allowed; triangles, ticks where they are
    // close, where the first choice was masked.
    const lane = (flags, mark) => (flags || []).slice(0, n).map((on, j) => (on ? `M${x(j).toFixed(1)},${mark}` : "")).join("");
    svg.append(
      s("path.forced" + (dense ? ".dense" : ""), { d: lane(history().forced, `${bottom + 1}v5`) }),
      s("path.masked" + (dense ? ".dense" : ""), { d: lane(history().interventions, `${bottom + 7}` + (dense ? "v5" : "l3,5h-6z")) }));
    return h("div.chart", {}, h("div", {}, h("b"), h("span", {}, chart.name + (axis.log ? " (log)" : ""))), svg);
  };

  const read = () => {
    const k = pointed ?? here();
    for (const [chart, el] of charts) put(el.querySelector("b"), value(chart, k));
    for (const line of grid.querySelectorAll(".read")) {
      line.setAttribute("visibility", pointed === null ? "hidden" : "visible");
      if (pointed !== null) for (const end of ["x1", "x2"]) line.setAttribute(end, places.x(pointed));
    }
    const token = pointed === null ? null : ui.tokens()[pointed];
    put(reading, pointed === null ? "" : [`position ${pointed}`, token ? [", next ", h("span.lmx-tok", {}, readable(token.text))] : ""]);
    grid.setAttribute("aria-valuenow", k);
    grid.setAttribute("aria-valuetext", words(k));
  };
  const point = (k) => {
    if (k === pointed) return;
    pointed = k;
    read();
  };
  const nearest = (event) => {
    const svg = event.target.closest("svg");
    if (!svg || !places) return null;
    const x = (event.clientX - svg.getBoundingClientRect().left) / zoomOf(grid);
    return Math.max(0, Math.min(places.n - 1, Math.round((x - places.x(0)) / places.step)));
  };
  grid.addEventListener("pointermove", (event) => point(nearest(event)));
  grid.addEventListener("pointerleave", () => point(null));
  grid.addEventListener("blur", () => point(null));
  grid.addEventListener("click", (event) => {
    const k = nearest(event);
    if (k !== null) ui.go(k);
  });
  const KEYS = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity, Enter: 0 };
  grid.dataset.keys = Object.keys(KEYS).join(" ");
  grid.addEventListener("keydown", (event) => {
    if (!usesKey(event) || KEYS[event.key] === undefined || !places) return;
    event.preventDefault();
    event.stopPropagation();
    const k = pointed ?? here();
    if (event.key === "Enter") return ui.go(k);
    point(Math.max(0, Math.min(places.n - 1, k + KEYS[event.key])));
  });

  const update = () => {
    const n = (history().allowed || []).length;
    grid.hidden = !n;
    if (!n) return;
    if (!inner.width) inner.read(); // It was hidden.
    const wide = inner.width;
    const columns = wide >= 640 ? 4 : wide >= 296 ? 2 : 1;
    const width = Math.max(140, Math.floor((wide - (columns - 1) * 16) / columns));
    // Parts of a line that did not change are the same objects as before.
    if (drawn.columns === columns && drawn.width === width && drawn.here === here() && drawn.history === history() && drawn.tokens === ui.tokens()) return;
    drawn = { columns, width, here: here(), history: history(), tokens: ui.tokens() };
    if (pointed !== null && pointed >= n) pointed = null;
    const step = (width - CHART_LEFT - 12) / Math.max(n - 1, 10);
    places = { n, step, x: (i) => CHART_LEFT + 6 + i * step };
    grid.style.gridTemplateColumns = `repeat(${columns}, minmax(0, 1fr))`;
    charts = CHARTS.map((chart) => [chart, draw(chart, width, n)]).filter(([, made]) => made);
    put(grid, charts.map(([, made]) => made));
    grid.setAttribute("aria-valuemax", n - 1);
    const mark = (path, name) => h("span", {}, s("svg", { viewBox: "-5 -1 10 9", width: 10, height: 9, "aria-hidden": "true" }, path), " " + name);
    put(legend,
      (history().entropy_before || []).some(isKnown) ? [mark(s("path.after", { d: "M-5,4h10" }), "under the constraint"), mark(s("path.before", { d: "M-5,4h10" }), "the model alone")] : null,
      (history().forced || []).slice(0, n).some(Boolean) ? mark(s("path.forced", { d: "M0,1v5" }), "one token allowed") : null,
      (history().interventions || []).slice(0, n).some(Boolean) ? mark(s("path.masked", { d: "M0,0l3,6h-6z" }), "first choice masked") : null);
    read();
  };
  const off = ui.on("after", update);
  update();
  return () => {
    inner.end();
    off();
  };
}
