// The stack of a grammar: the open rules, the innermost first, and the tree of the rules so far.
//
// A row is a rule as it was written, with the call that it waits for and what it can go on with. What the last
// token pushed slides in; what it popped stays above the stack, struck through, until the next one. In slow
// motion the same happens byte by byte. A row that is pointed at, or in focus, lights its rule in the editor;
// a rule in which the editor's caret stands is lit on the stack.

const SMALL_GRAPH = 8; // Up to so many states the push-down automaton is shown at once.
const RULE_SHOWN = 58; // The most characters of a rule that are shown,
const RULE_BEFORE = 18; // and how many of them before the first mark, if the rule is longer.

export function renderStack({ model, el, ui = pageState(model) }) {
  island(el, "Stack of the grammar");
  const caption = h("p.dim");
  const asTree = h("button.quiet", { "aria-pressed": "false", title: "the rules so far as a tree, with the text under each", "aria-label": "Stack: as a tree", onclick: () => {
    asTree.setAttribute("aria-pressed", asTree.getAttribute("aria-pressed") !== "true");
    drawn = "";
    update();
  } }, "tree");
  const asGraph = h("button.quiet", { "aria-pressed": "false", title: "the push-down automaton: a +7 pushes the symbol 7, b −7 pops it, ⊥ is the empty stack", "aria-label": "Stack: the push-down automaton", onclick: () => {
    graphWanted = asGraph.getAttribute("aria-pressed") !== "true";
    drawGraph();
  } }, "automaton");
  const graph = h("div.lmx-graph.lmx-pushdown", { tabindex: 0, hidden: true, "aria-label": "push-down automaton" });
  const said = h("p.dim");
  const rows = h("ol.lmx-stack", { "aria-label": "open rules, the innermost first" });
  const tree = h("ol.lmx-tree", { "aria-label": "the rules so far, each below the one that it stands in", hidden: true });
  const note = h("p.dim");
  const legend = h("p.dim.lmx-stack-legend");
  el.append(h("header", {}, h("h4", {}, "Stack"), h("div.tools", {}, asTree, asGraph)), caption, rows, tree, legend, note, said, graph);
  let drawn = "";
  let graphWanted = null; // Unless somebody chose, a small automaton is shown.
  let before = null; // The key of what was shown last: only what follows it moves.

  const point = (row) => (ui.rule = row && row.spans.length ? { spans: row.spans } : null);
  rows.dataset.keys = "ArrowDown ArrowUp";
  rows.addEventListener("keydown", (event) => {
    if (!usesKey(event)) return;
    const to = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!to) return;
    const all = [...rows.querySelectorAll("button")];
    const at = all.indexOf(document.activeElement);
    const next = all[Math.max(0, Math.min(all.length - 1, at + to))];
    if (next) next.focus();
    event.preventDefault();
    event.stopPropagation();
  });

  const line = (row, i, kind) => {
    const words = rowWords(row, i, kind);
    const button = h("button.row", { "aria-label": words, title: words, tabindex: kind === "popped" ? -1 : 0,
      onpointerenter: () => point(row), onpointerleave: () => point(null), onfocus: () => point(row), onblur: () => point(null) },
      h("b", {}, row.rule || "start"), h("span.read", {}, visible(row.read)),
      row.symbol === null || row.symbol === undefined ? null : h("span.symbol", { title: "the symbol on the stack of the machine" }, row.symbol), row.text ? ruleText(row) : null);
    const li = h("li", { "data-rule": row.rule }, button);
    if (kind) li.classList.add(kind);
    return li;
  };
  const update = () => {
    const p = ui.position;
    const here = p && p.stack;
    el.hidden = !here;
    tellAround(el, ".lmx-beside", "stacked", !!here);
    if (!here) return;
    const steps = ui.inside && ui.inside.walk.stack;
    const inside = steps && steps.steps[ui.inside.byte - 1];
    const shown = inside ? { ...inside, rows: inside.rows.map((i) => steps.rows[i]), popped: [] } : here;
    shownStack = shown;
    const key = [pathKey(ui, p.k), inside ? ui.inside.walk.token + "/" + ui.inside.byte : "", asTree.getAttribute("aria-pressed"), ui.gone].join("|");
    if (key !== drawn) {
      drawn = key;
      const open = asTree.getAttribute("aria-pressed") === "true" && !inside;
      rows.hidden = open;
      tree.hidden = !open;
      say(caption, stackCaption(shown));
      say(note, shown.said || (shown.several ? "One way of several: the text could have opened other rules." : ""));
      note.hidden = !note.textContent;
      signs(legend, open ? [] : shown.rows, open ? 0 : shown.pushed);
      const focus = [...rows.querySelectorAll("button")].indexOf(document.activeElement);
      const made = [];
      for (const [i, row] of (shown.popped || []).entries()) made.push(line(row, i, "popped"));
      if (inside && inside.gone) made.push(h("li.popped.count", {}, `popped ${inside.gone}`));
      for (const [i, row] of shown.rows.entries()) {
        if (shown.hidden && i === shown.gap) made.push(h("li.gap", {}, `… ${count(shown.hidden)} more …`));
        const li = line(row, i, i === 0 ? "reads" : i <= shown.pushed ? "pushed" : "");
        if (i < shown.live) li.classList.add("live");
        made.push(li);
      }
      rows.classList.toggle("moves", before !== null && before !== key);
      before = key;
      put(rows, made);
      put(tree, (here.tree || []).map(([depth, rule, open, text]) =>
        h("li" + (open ? ".open" : ""), { style: `--depth: ${Math.min(depth, 24)}`, "aria-level": depth + 1, "aria-label": `${rule || "start"}, ${open ? "open" : "closed"}, has read ${text || "nothing"}` },
          h("b", {}, rule || "start"), h("span.read", {}, visible(text)))));
      if (focus >= 0) {
        const all = rows.querySelectorAll("button");
        if (all.length) all[Math.min(focus, all.length - 1)].focus({ preventScroll: true });
      }
    }
    // The rows that the reason in view is about.
    const reason = ui.selected !== null && !inside && !p.finished ? ui.reasons.get(pathKey(ui, p.k) + "|" + ui.selected) : null;
    const meant = (reason && reason.stack && reason.stack.rows) || [];
    const caret = ui.caret;
    for (const [i, li] of [...rows.querySelectorAll("li:not(.popped, .gap)")].entries()) {
      const row = shown.rows[i];
      const place = shown.hidden && i >= shown.gap ? i + shown.hidden : i;
      li.classList.toggle("lit", meant.includes(place) || (caret !== null && !!row && row.spans.some(([start, end]) => start <= caret && caret <= end)));
    }
  };
  let shownStack = null;
  let made = null; // The drawing, and the figure that it is of.
  const drawGraph = () => {
    const near = ui.around && ui.around.machines && ui.around.machines.pushdown;
    const open = graphWanted ?? (!!near && near.nodes.length <= SMALL_GRAPH);
    asGraph.setAttribute("aria-pressed", open);
    asGraph.hidden = !near;
    graph.hidden = said.hidden = !open || !near;
    if (graph.hidden || !shownStack) return;
    if (!made || made.figure !== near) {
      made = drawMachine(near, ui.around.layouts.pushdown, "characters");
      made.svg.setAttribute("width", ui.around.layouts.pushdown.width);
      put(graph, made.svg);
    }
    say(said, `${near.caption}; +n pushes the symbol n, −n pops it, ⊥ needs an empty stack`);
    const symbols = new Set(shownStack.rows.map((row) => row.symbol));
    const now = shownStack.state;
    for (const [id, node] of made.nodes) {
      node.g.classList.toggle("now", id === "p" + now);
      node.g.classList.toggle("past", id !== "p" + now && symbols.has(Number(id.slice(1))));
    }
    const at = made.nodes.get("p" + now);
    if (at) {
      const [box, view] = [at.g.getBoundingClientRect(), graph.getBoundingClientRect()];
      if (box.left < view.left || box.right > view.right) graph.scrollLeft += (box.left + box.right - view.left - view.right) / 2 / zoomOf(graph);
    }
    const on = [...symbols].filter((symbol) => symbol !== null && symbol !== undefined);
    mark(made.svg, "aria-label", `push-down automaton, in state ${now}${on.length ? "; on the stack: " + on.join(", ") : ""}`);
  };
  const off = [ui.on("change", update), ui.on("after", drawGraph)];
  update();
  return () => {
    ui.rule = null;
    for (const one of off) one();
  };
}

/** The meanings of the signs that occur in the rows. */
function signs(el, rows, pushed) {
  const first = rows.map((row) => row.symbol).find((symbol) => symbol !== null && symbol !== undefined);
  const said = [
    pushed ? h("span", {}, h("b", {}, "+"), " pushed by the last token") : null,
    first === undefined ? null : h("span", {}, h("span.symbol", {}, first), " on the machine's stack: the state to go on in, once the rule above has ended"),
  ].filter(Boolean);
  el.hidden = !said.length;
  put(el, said);
}

/** A rule as it was written: the call that it waits for in a box, what it can go on with underlined. */
function ruleText({ text, call, next }) {
  const chars = [...text.replace(/\s/g, " ")];
  const marks = new Array(chars.length).fill("");
  for (const [start, end] of next) marks.fill("expect", start, end);
  if (call) marks.fill("called", call[0], call[1]);
  const first = call ? call[0] : next.length ? next[0][0] : 0;
  const from = chars.length > RULE_SHOWN ? Math.max(0, Math.min(first - RULE_BEFORE, chars.length - RULE_SHOWN)) : 0;
  const to = Math.min(chars.length, from + RULE_SHOWN);
  const out = h("code", {}, from ? "…" : null);
  for (let i = from; i < to; ) {
    let j = i;
    while (j < to && marks[j] === marks[i]) j++;
    const piece = chars.slice(i, j).join("");
    out.append(marks[i] ? h("span." + marks[i], {}, piece) : piece);
    i = j;
  }
  if (to < chars.length) out.append("…");
  return out;
}

/** One row in words, for readers who cannot see it. */
function rowWords(row, i, kind) {
  const what = kind === "popped" ? "popped" : i === 0 ? "reads" : kind === "pushed" ? "pushed, waits" : "waits";
  const goes = row.expects ? `${i === 0 ? "expects" : "goes on with"} ${row.expects}${row.ends ? ", or ends" : ""}` : "then ends";
  const symbol = row.symbol === null || row.symbol === undefined ? (i === 0 || kind === "popped" ? "" : "; no symbol of its own on the stack") : `; symbol ${row.symbol}`;
  return `${what}: ${row.rule || "start"}${row.text ? ", " + row.text.replace(/\s+/g, " ") : ""}; has read ${row.read || "nothing"}; ${goes}${symbol}`;
}
