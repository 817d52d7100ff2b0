// One machine as SVG: its nodes and its arcs.

const LABEL = 12;

/** The top and the bottom of a drawing, or of its part between two places of the axis. Two drawings on one axis share its
 * height, of which one may need little. */
function extent({ height, nodes, edges }, from = -Infinity, to = Infinity) {
  const seen = (x) => x >= from && x <= to;
  const ys = Object.values(nodes).flatMap(({ x, y, r }) => (seen(x) ? [y - r, y + r] : []));
  for (const place of Object.values(edges)) {
    if (seen(place.x)) ys.push(place.y - LABEL, place.y + 4);
    // Each path is read once; it is asked about at each step.
    place.points ??= (place.path.match(/-?[\d.]+,-?[\d.]+/g) || []).map((pair) => pair.split(",").map(Number));
    for (const [x, y] of place.points) if (seen(x)) ys.push(y);
  }
  const [top, bottom] = ys.reduce(([low, high], y) => [Math.min(low, y), Math.max(high, y)], [Infinity, -Infinity]);
  return ys.length ? [Math.max(0, top - 4), Math.min(height, bottom + 4)] : [0, height];
}

let serial = 0;

const CELL = 0.602; // The width of a sign of a label, as a share of its size.
const cells = (text) => [...text].length + (text.match(WIDE) || []).length;

/** The boxes of the tokens in a label of the FST, around its middle: of "{ : {" the first sign is a token, the last a character. */
function tokenBoxes(label, size = LABEL) {
  const wide = (text) => cells(text) * size * CELL;
  let [x, path] = [-wide(label) / 2, ""];
  for (const word of label.split(/( {2,})/)) {
    const at = word.startsWith("ε : ") ? 0 : Math.max(0, word.indexOf(" : "));
    const w = wide(word.slice(0, at)) + 4;
    if (at) path += `M${x - 2},${-size * 0.9} h${w} v${size * 1.28} h${-w} z `;
    x += wide(word);
  }
  return path;
}

/** A label with the boxes of its tokens. */
function labelled(kind, x, y, label, ...more) {
  const box = tokenBoxes(label);
  const text = s("text" + kind, { x, y }, label, more);
  return box ? [text, s("path.box", { d: box, transform: `translate(${x},${y})` })] : [text];
}

/** Draw one machine. Returns its svg and the maps that `lit` and `update` need. Of a wide one the height is that of the part
 * that is in view first, `first` wide; it grows with what comes into view. */
function drawMachine(figure, layout, form, first = Infinity) {
  const id = "lmx" + ++serial;
  const arrow = (name) =>
    s("marker", { id: `${id}-${name}`, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, markerUnits: "userSpaceOnUse", orient: "auto" },
      s("path.m-" + name, { d: "M0,0.6 L8,4 L0,7.4 z" }));
  const lines = s("g"), labels = s("g.words"), circles = s("g");
  const svg = s("svg", { role: "img" }, s("title", {}, figure.caption || ""),
    s("defs", {}, ["g", "past", "go", "ko"].map(arrow)), lines, circles, labels);
  const arcs = new Map(), between = new Map(), nodes = new Map();
  const graph = { id, svg, arcs, between, nodes, layout, figure, form, top: Infinity, bottom: -Infinity, cross: s("text.cross", {}, "✗") };
  for (const edge of figure.edges) {
    const place = layout.edges[edge.id];
    if (!place) continue;
    const g = s("g.a", { "data-arc": edge.id }, s("title", {}, edge.title || edge.label));
    const d = place.path;
    const line = s("path.line", { d, "marker-end": `url(#${id}-g)` });
    g.append(s("path.hit", { d }), line);
    const text = s("text" + (place.tucked ? ".tucked" : ""), { x: place.x, y: place.y, "data-arc": edge.id }, edge.label.split(/( {2,})/).map((word) => (word.trim() ? s("tspan", {}, word) : word)));
    text.append(s("title", {}, edge.title || edge.label));
    lines.append(g);
    const box = figure.name === "detokenizing_fst" ? s("path.box", { transform: `translate(${place.x},${place.y})` }) : null;
    labels.append(text, box || "");
    // A token that is masked here is vermilion; the arc where all its tokens fail is dashed.
    g.classList.toggle("no", !!edge.refused);
    const masked = new Set(edge.masked || []);
    if (masked.size) {
      text.querySelectorAll("tspan").forEach((word, i) => word.classList.toggle("no", masked.has(edge.tokens[i])));
    }
    arcs.set(edge.id, { ...edge, g, text, line, place, box, words: [...text.querySelectorAll("tspan")], other: null, said: edge.label, state: "" });
    between.set(edge.source + ">" + edge.target, edge);
  }
  graph.frame = (top, bottom) => {
    // It only grows, so that a step moves as little as can be.
    graph.top = Math.min(graph.top, top);
    graph.bottom = Math.max(graph.bottom, bottom);
    svg.setAttribute("viewBox", `0 ${graph.top} ${layout.width} ${graph.bottom - graph.top}`);
  };
  graph.frame(...extent(layout, -Infinity, first));
  for (const node of figure.nodes) {
    const place = layout.nodes[node.id];
    if (!place) continue;
    const { x, y, r } = place;
    const g = s("g.n." + node.kind, { "data-node": node.id }, s("title", {}, node.title || node.label));
    if (node.start) {
      const d = `M${x - r - 24},${y} L${x - r - 1},${y}`;
      lines.append(s("path.st", { d, "marker-end": `url(#${id}-g)` }));
    }
    g.append(s("circle", { cx: x, cy: y, r }));
    if (node.accepting && node.kind !== "done") g.append(s("circle.in", { cx: x, cy: y, r: Math.max(r - 4, 2) }));
    if (r > 7 && node.label) g.append(s("text", { x, y: y + 4, "data-room": 2 * r - 5 }, node.label));
    circles.append(g);
    nodes.set(node.id, { g, state: "" });
  }
  for (const { x, y } of layout.returns || []) circles.append(s("g.n.back", {}, s("title", {}, "back to the root"), s("circle", { cx: x, cy: y, r: 4 })));
  return graph;
}

/** Say on a lit arc which token is meant. One that its label writes out is set in bold; of an arc of
 * many tokens the label names the one that was taken: "202 +156", not "100 +156". */
function relabel(arc, words) {
  const named = arc.words.filter(({ textContent }) => words.includes(textContent.split(" : ")[0]));
  const other = words.length && !named.length && arc.target !== "t" && arc.tokens ? words[words.length - 1] : null;
  arc.other = other;
  sayArc(arc, other === null ? arc.label : clipped(other) + (arc.count > 1 ? ` +${count(arc.count - 1)}` : ""));
  for (const word of arc.words) word.style.fontWeight = named.length && !named.includes(word) ? "400" : "";
}

/** Set the text of an arc's label. */
function sayArc(arc, text) {
  if (text === arc.said) return;
  arc.text.replaceChildren(...text.split(/( {2,})/).map((word) => (word.trim() ? s("tspan", {}, word) : word)), arc.text.querySelector("title"));
  arc.words = [...arc.text.querySelectorAll("tspan")];
  arc.said = text;
}

/** Keep the labels of lit arcs from covering states and each other. A label that names its token may be longer
 * than the label for which a place was found, and a tucked label had no place. Where there is no room, a label
 * says less: in the end only what fits its place, or nothing. The labels of other arcs give way to it. */
function makeRoom(graph) {
  const size = graph.size || LABEL;
  const boxOf = ({ place }, text) => {
    const half = (cells(text) * size * CELL) / 2;
    return [place.x - half, place.y - size * 0.8, place.x + half, place.y + size * 0.2];
  };
  const over = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
  const onRing = ([left, top, right, bottom]) =>
    Object.values(graph.layout.nodes).some(({ x, y, r }) => Math.max(left - x, x - right, 0) ** 2 + Math.max(top - y, y - bottom, 0) ** 2 < r * r);
  const arcs = [...graph.arcs.values()].filter(({ label }) => label);
  const isLit = ({ text }) => text.classList.contains("lit");
  const standing = [];
  // The arc that is taken now comes before those taken earlier, and a label with a place before one without.
  const order = (arc) => (arc.state.startsWith("go") ? 0 : 2) + (arc.place.tucked ? 1 : 0);
  for (const arc of arcs.filter(isLit).sort((a, b) => order(a) - order(b))) {
    const most = arc.other === null ? [] : [clipped(arc.other) + (arc.count > 1 ? ` +${count(arc.count - 1)}` : ""), clipped(arc.other)];
    const free = (text) => !standing.some((box) => over(box, boxOf(arc, text))) && ((text === arc.label && !arc.place.tucked) || !onRing(boxOf(arc, text)));
    const text = [...most, arc.label].find(free);
    if (text !== undefined) {
      if (arc.other !== null) sayArc(arc, text);
      standing.push(boxOf(arc, text));
    }
    arc.text.classList.toggle("covered", text === undefined);
  }
  for (const arc of arcs) if (arc.box) mark(arc.box, "d", tokenBoxes(arc.said, size));
  for (const arc of arcs) if (!isLit(arc)) arc.text.classList.toggle("covered", standing.some((box) => over(box, boxOf(arc, arc.label))));
}

const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\u{1f300}-\u{1faff}]/gu;

const clipped = (text) => (text.length > 12 ? text.slice(0, 11) + "…" : text);

/** Choose the labels that have room where letters are larger than the drawing is meant for: those of lit arcs
 * first, then the shortest. A label that would cover another label or a state is left out. Widths are
 * estimated, because measuring hundreds of labels would lay out the page. */
function thinLabels(graph, size, smaller) {
  const taken = smaller ? Object.values(graph.layout.nodes).map(({ x, y, r }) => [x - r, y - r, x + r, y + r]) : [];
  const arcs = [...graph.arcs.values()].filter(({ label }) => label);
  if (smaller) arcs.sort((a, b) => b.text.classList.contains("lit") - a.text.classList.contains("lit") || a.label.length - b.label.length);
  for (const { text, label } of arcs) {
    const [x, y] = ["x", "y"].map((name) => Number(text.getAttribute(name)));
    const half = [...label].length * size * 0.305;
    const box = [x - half, y - size * 0.8, x + half, y + size * 0.2];
    const crowded = smaller && taken.some(([left, top, right, bottom]) => box[0] < right && left < box[2] && box[1] < bottom && top < box[3]);
    text.classList.toggle("crowded", crowded);
    if (!crowded) taken.push(box);
  }
}
