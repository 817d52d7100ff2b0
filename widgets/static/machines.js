// The three machines on one axis: character FSA, detokenizing FST, token DFA.
//
// A graph is drawn once per constraint. A step, a pointer or slow motion only changes classes, so
// nothing moves except what changed. What is lit is worked out in one place for all three (`lit`),
// from the path so far and from the token in view.

const MACHINES = [
  ["character_fsa", "Character FSA", "what the pattern accepts"],
  ["detokenizing_fst", "Detokenizing FST", "token in : byte out"],
  ["token_dfa", "Token DFA = FSA ∘ FST", "same states, tokens on the arcs"],
];
const LEAST_ZOOM = 0.72; // Smaller than this circles and labels would overlap.
const LABEL = 12;
const LEAST_LABEL = 11; // On the screen, however small the drawing is.

/** Which nodes and arcs of the three machines are past, in progress, or where a byte fails. */
function lit(ui, graphs) {
  const out = {};
  for (const [name] of MACHINES) {
    out[name] = { past: new Set(), pastArcs: new Set(), go: new Set(), open: new Set(), now: null, next: null, ko: null };
  }
  const p = ui.position;
  if (!p) return out;
  const chars = out.character_fsa, inner = out.detokenizing_fst, tokens = out.token_dfa;
  const between = (name, source, target) => graphs[name]?.between.get(source + ">" + target) || null;
  const node = (name, id) => graphs[name]?.figure.alias?.[id] || id;
  const path = p.path || [];
  path.forEach((state) => chars.past.add(node("character_fsa", "c" + state)));
  (p.path_arcs || []).forEach((arc) => arc && chars.pastArcs.add(arc));
  for (let i = 1; i < path.length; i++) {
    const arc = between("character_fsa", "c" + path[i - 1], "c" + path[i]);
    if (arc) chars.pastArcs.add(arc.id);
  }
  const places = (ui.line.states || []).slice(0, p.k + 1);
  const at = (state) => (state < 0 ? "done" : node("token_dfa", "q" + state));
  places.forEach((state, i) => {
    tokens.past.add(at(state));
    const arc = i && between("token_dfa", at(places[i - 1]), at(state));
    if (arc) tokens.pastArcs.add(arc.id);
  });
  const here = p.finished ? "done" : p.char_state;
  chars.now = node("character_fsa", "c" + (p.finished ? path[path.length - 1] : here));
  tokens.now = p.finished ? "done" : at(here);
  inner.now = "t";
  const shown = ui.shown();
  if (!shown) return out;
  const { walk, byte } = shown;
  const steps = walk.path || [];
  const upTo = byte === null ? steps.length : byte;
  const fst = graphs.detokenizing_fst;
  if (byte !== null) inner.past.add("t");
  steps.forEach((step, i) => {
    const failed = walk.failed_at !== null && walk.failed_at !== undefined && i >= walk.failed_at;
    if (i >= upTo) return;
    const arc = fst && fst.arcs.get(step.edge_t);
    if (step.edge_t) inner.go.add(step.edge_t);
    if (failed) return;
    if (step.edge_c) chars.go.add(step.edge_c);
    if (byte !== null) {
      if (arc) {
        inner.past.add(arc.source);
        inner.now = arc.target;
      }
      chars.past.add(node("character_fsa", "c" + step.from));
      chars.now = node("character_fsa", "c" + step.to);
    } else if (i === steps.length - 1) {
      chars.next = node("character_fsa", "c" + step.to);
    }
  });
  const failedAt = walk.failed_at;
  if (failedAt !== null && failedAt !== undefined && (byte === null || byte > failedAt)) {
    const before = steps[failedAt - 1];
    chars.ko = node("character_fsa", "c" + (before ? before.to : p.char_state));
  }
  if (walk.edge_q) {
    const whole = byte !== null && byte >= steps.length;
    (whole || byte === null ? tokens.go : tokens.open).add(walk.edge_q);
    const arc = graphs.token_dfa && graphs.token_dfa.arcs.get(walk.edge_q);
    if (arc && byte === null) tokens.next = arc.target;
  }
  return out;
}

let serial = 0;

/** Draw one machine. Returns its svg and the maps that `lit` and `update` need. */
function drawMachine(figure, layout) {
  const id = "lmx" + ++serial;
  const arrow = (name) =>
    s("marker", { id: `${id}-${name}`, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, markerUnits: "userSpaceOnUse", orient: "auto" },
      s("path.m-" + name, { d: "M0,0.6 L8,4 L0,7.4 z" }));
  const svg = s("svg", { viewBox: `0 0 ${layout.width} ${layout.height}`, role: "img" },
    s("title", {}, figure.caption || ""), s("defs", {}, ["g", "past", "go"].map(arrow)));
  const arcs = new Map(), between = new Map(), nodes = new Map();
  const lines = s("g"), labels = s("g"), circles = s("g");
  for (const edge of figure.edges) {
    const place = layout.edges[edge.id];
    if (!place) continue;
    const g = s("g.a", { "data-arc": edge.id }, s("title", {}, edge.title || edge.label));
    const d = place.path;
    g.append(s("path.hit", { d }), s("path.line", { d, "marker-end": `url(#${id}-g)` }));
    const text = s("text", { x: place.x, y: place.y, "data-arc": edge.id }, edge.label);
    text.append(s("title", {}, edge.title || edge.label));
    lines.append(g);
    labels.append(text);
    arcs.set(edge.id, { ...edge, g, text });
    const key = edge.source + ">" + edge.target;
    between.set(key, edge);
  }
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
    nodes.set(node.id, g);
  }
  for (const { x, y } of layout.returns || []) circles.append(s("g.n.back", {}, s("title", {}, "back to the root"), s("circle", { cx: x, cy: y, r: 4 })));
  svg.append(lines, circles, labels);
  return { id, svg, arcs, between, nodes, layout, figure };
}

export function renderMachines({ model, el, ui = pageState(model) }) {
  island(el, "The three machines");
  const graphs = {};
  const boxes = {};
  let zoom = null;
  let drawn = "";
  let active = "character_fsa";
  const tabs = h("div.lmx-tabs", { role: "tablist" });
  const holder = h("div.lmx-machines", {}, tabs);
  el.append(holder);

  // The character FSA and the token DFA have one scale, because they share their axis.
  const setZoom = (value) => {
    zoom = value;
    for (const [name] of MACHINES) {
      const graph = graphs[name];
      if (!graph) continue;
      const scale = factor(name);
      const size = Math.max(LABEL, LEAST_LABEL / scale);
      graph.svg.setAttribute("width", graph.layout.width * scale);
      graph.svg.style.setProperty("--lmx-label", size + "px");
      // A long name is made narrower rather than smaller than one can read.
      for (const text of graph.svg.querySelectorAll("text[data-room]")) {
        const room = Number(text.getAttribute("data-room"));
        const tight = [...text.textContent].length * size * 0.61 > room;
        if (tight) {
          text.setAttribute("textLength", room);
          text.setAttribute("lengthAdjust", "spacingAndGlyphs");
        } else text.removeAttribute("textLength");
      }
    }
  };
  const fitting = (name) => {
    const room = holder.clientWidth - 2;
    const same = name === "detokenizing_fst" ? [name] : ["character_fsa", "token_dfa"];
    const widest = Math.max(1, ...same.map((one) => (graphs[one] ? graphs[one].layout.width : 1)));
    return room > 0 ? room / widest : 1;
  };
  const factor = (name = "character_fsa") => zoom ?? Math.min(Math.max(fitting(name), LEAST_ZOOM), 1);

  for (const [name, title, about] of MACHINES) {
    const caption = h("span", {}, about);
    const body = h("div.lmx-graph", { tabindex: 0, "aria-label": title });
    const panel = h("div.lmx-arc", { hidden: true });
    const table = h("div.lmx-table", { hidden: true });
    const asTable = h("button.quiet", { title: title + " as a table", "aria-pressed": "false", onclick: () => {
      const open = asTable.getAttribute("aria-pressed") !== "true";
      asTable.setAttribute("aria-pressed", open);
      table.hidden = !open;
      body.hidden = open;
      update();
    } }, "table");
    const box = h("section.lmx-machine", { "data-machine": name },
      h("header", {}, h("h4", {}, title), caption, h("div.tools", {},
        h("button.quiet", { title: "smaller", onclick: () => setZoom(factor() / 1.25) }, "−"),
        h("button.quiet", { title: "fit", onclick: () => setZoom(null) }, "fit"),
        h("button.quiet", { title: "larger", onclick: () => setZoom(factor() * 1.25) }, "+"),
        asTable)),
      body, table, panel);
    boxes[name] = { box, body, caption, about, panel, table, open: null };
    if (name === "token_dfa") {
      const stage = h("select", { title: "how it is made, over the tokens shown above", "aria-label": "construction", onchange: () => construct(Number(stage.value)) },
        ["token DFA", "1 composed, with ε", "2 ε-free", "3 determinized", "4 trimmed"].map((label, i) => h("option", { value: i }, label)));
      box.querySelector(".tools").prepend(stage);
    }
    tabs.append(h("button", { role: "tab", "data-tab": name, onclick: () => {
      active = name;
      update();
    } }, title));
    holder.append(box);
    body.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return; // The notebook goes on scrolling.
      event.preventDefault();
      setZoom(factor() * (event.deltaY < 0 ? 1.1 : 1 / 1.1));
    }, { passive: false });
    body.addEventListener("keydown", (event) => {
      if (event.key === "+" || event.key === "-" || event.key === "0") {
        setZoom(event.key === "0" ? null : factor() * (event.key === "+" ? 1.25 : 0.8));
        event.preventDefault();
      }
    });
    let drag = null;
    body.addEventListener("pointerdown", (event) => {
      drag = { x: event.clientX + body.scrollLeft, y: event.clientY + body.scrollTop, moved: false };
    });
    body.addEventListener("pointermove", (event) => {
      if (!drag || !event.buttons) return;
      body.scrollLeft = drag.x - event.clientX;
      body.scrollTop = drag.y - event.clientY;
    });
    body.addEventListener("scroll", () => {
      // The character FSA and the token DFA share their axis, so they scroll as one.
      const other = { character_fsa: "token_dfa", token_dfa: "character_fsa" }[name];
      if (other && boxes[other]) boxes[other].body.scrollLeft = body.scrollLeft;
    });
    body.addEventListener("click", (event) => {
      const hit = event.target.closest("[data-arc]");
      boxes[name].open = hit ? hit.getAttribute("data-arc") : null;
      showArc(name);
    });
  }

  /** Show a stage of the construction in place of the token DFA; 0 is the token DFA itself. */
  const construct = async (number) => {
    stageShown = null;
    if (number) {
      const answer = await ui.ask("stages", { k: ui.position.k });
      if (answer.ok) stageShown = answer.stages[number - 1] || null;
    }
    drawn = "";
    delete graphs.token_dfa;
    update();
  };
  let stageShown = null;

  const showArc = (name) => {
    const { panel, open } = boxes[name];
    const arc = open && graphs[name] && graphs[name].arcs.get(open);
    panel.hidden = !arc;
    if (!arc) return;
    const ids = arc.tokens || [];
    const search = h("input", { type: "search", placeholder: "among them…", "aria-label": "search this arc's tokens" });
    const list = h("div.lmx-chips");
    const show = (found, total) => put(list, found.map((id) => {
      const chip = ui.token(id);
      chip.setAttribute("tabindex", 0);
      chip.setAttribute("role", "button");
      chip.addEventListener("click", () => ui.select(id));
      return chip;
    }), total > found.length ? h("span.dim", {}, `and ${count(total - found.length)} more`) : null);
    show(ids, arc.count || ids.length);
    search.addEventListener("input", () => {
      if (arc.class === null || arc.class === undefined || !ui.vocabulary) return;
      const found = [];
      let total = 0;
      ui.machine.classOf.forEach((number, id) => {
        if (number !== arc.class || !ui.text(id).includes(search.value)) return;
        total++;
        if (found.length < 40) found.push(id);
      });
      show(found, total);
    });
    const wide = arc.class !== null && arc.class !== undefined && (arc.count || 0) > ids.length;
    put(panel, h("span", {}, arc.title || arc.label), wide ? search : null, ids.length ? list : null);
  };

  const draw = () => {
    const machine = ui.machine;
    const near = ui.around;
    const key = (machine ? machine.key : "") + "|" + ((near && near.key) || "");
    if (key === drawn) return;
    drawn = key;
    for (const [name] of MACHINES) {
      let figure = machine && machine.machines && machine.machines[name];
      let layout = machine && machine.layouts && machine.layouts[name];
      if (near && near.machines && near.machines[name]) {
        figure = near.machines[name];
        layout = near.layouts[name];
      } else if (name === "detokenizing_fst") figure = null;
      if (name === "token_dfa" && stageShown) ({ figure, layout } = stageShown);
      const { body, caption, about, table, panel } = boxes[name];
      if (!figure || !layout) {
        delete graphs[name];
        put(body, h("p.dim", {}, machine ? (figure && figure.caption) || "drawing…" : "no constraint: every token is allowed"));
        continue;
      }
      if (graphs[name] && graphs[name].figure === figure) continue;
      graphs[name] = drawMachine(figure, layout);
      put(caption, figure.caption || about);
      put(body, graphs[name].svg);
      panel.hidden = true;
      boxes[name].open = null;
      const label = new Map(figure.nodes.map((node) => [node.id, node.label]));
      put(table, h("table", {}, h("caption", {}, figure.caption || ""),
        h("thead", {}, h("tr", {}, ["from", "arc", "to"].map((c) => h("th", { scope: "col" }, c)))),
        h("tbody", {}, figure.edges.map((edge) => h("tr", { "data-row": edge.id, tabindex: 0 },
          h("td", {}, label.get(edge.source) ?? edge.source), h("td", {}, edge.title || edge.label), h("td", {}, label.get(edge.target) ?? edge.target))))));
    }
    setZoom(zoom);
  };

  const update = () => {
    draw();
    const sets = lit(ui, graphs);
    for (const [name, title] of MACHINES) {
      const { box, body, table } = boxes[name];
      box.classList.toggle("active", name === active);
      const graph = graphs[name];
      const tab = tabs.querySelector(`[data-tab="${name}"]`);
      tab.setAttribute("aria-selected", name === active);
      if (!graph) continue;
      const set = sets[name];
      for (const [id, g] of graph.nodes) {
        g.classList.toggle("past", set.past.has(id) && id !== set.now);
        g.classList.toggle("now", id === set.now);
        g.classList.toggle("next", id === set.next);
        g.classList.toggle("ko", id === set.ko);
      }
      for (const [id, arc] of graph.arcs) {
        const go = set.go.has(id) || set.open.has(id);
        const past = !go && set.pastArcs.has(id);
        arc.g.classList.toggle("go", go);
        arc.g.classList.toggle("open", set.open.has(id));
        arc.g.classList.toggle("past", past);
        arc.text.classList.toggle("lit", go || past);
        arc.g.querySelector(".line").setAttribute("marker-end", `url(#${graph.id}-${go ? "go" : past ? "past" : "g"})`);
        const row = !table.hidden && table.querySelector(`[data-row="${CSS.escape(id)}"]`);
        if (row) row.className = go ? "go" : past ? "past" : "";
      }
      graph.svg.setAttribute("aria-label", `${title}, at ${String(set.now || "").replace(/^[cqt]/, "") || "the root"}`);
      const place = graph.layout.nodes[set.now];
      if (place && body.scrollWidth > body.clientWidth + 4) {
        // Only as far as needed to see where we are.
        const x = place.x * factor(name);
        if (x < body.scrollLeft + 40 || x > body.scrollLeft + body.clientWidth - 80) {
          body.scrollLeft = x - body.clientWidth / 2;
        }
      }
    }
  };
  const observer = new ResizeObserver(() => setZoom(zoom));
  observer.observe(holder);
  const off = ui.on("change", update);
  update();
  return () => {
    observer.disconnect();
    off();
  };
}
