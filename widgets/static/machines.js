// The three machines on one axis: character FSA, detokenizing FST, token DFA.
//
// A graph is drawn once per constraint. A step, a pointer or slow motion only changes classes, so
// nothing moves except what changed. What is lit is worked out in one place for all three (`lit`),
// from the path so far and from the token in view.

const MACHINES = [
  ["character_fsa", "Character FSA", "what is accepted"],
  ["detokenizing_fst", "Detokenizing FST", "token in : byte out"],
  ["token_dfa", "Token DFA = FSA ∘ FST", "tokens on the arcs"],
];

const HEAD = 26; // The height of the line above a drawing,
const TALL = 200; // and the most that it asks for.
const SMALL = 16; // A vocabulary of so many tokens is drawn whole.

export function renderMachines({ model, el, ui = pageState(model) }) {
  island(el, "The three machines");
  const graphs = {};
  const boxes = {};
  const replay = !!model.get("replay");
  let drawn = "";
  let built = null; // The construction of the token DFA.
  let along = null; // Whether they are drawn along the text; null until the user has chosen.
  const choose = (wanted) => () => {
    along = wanted;
    update();
    ui.changed();
    requestAnimationFrame(() => (wanted ? asMachines : asText).focus({ preventScroll: true }));
  };
  const asMachines = h("button.quiet", { "aria-label": "as machines", title: "each machine by itself: the whole of it, its loops, its construction", onclick: choose(false) }, "as machines");
  const asText = h("button.quiet.lmx-astext", { "aria-label": "along the text", title: "the machines on one axis: the text", onclick: choose(true) }, "along the text");
  const pairs = h("button.quiet", { "aria-pressed": "false", title: "how the token DFA is made of the other two: one pair a press of → or ←", onclick: () => {
    built.pairwise(!built.pairs());
    ui.changed();
  } }, "pair by pair");
  // In a lecture one machine is shown at a time, and the space bar goes on: after the third it takes a step.
  let alone = null;
  const lecture = h("button.quiet", { "aria-pressed": "false", title: "one machine at a time, large; the space bar goes on, Esc ends it", onclick: () => teach(alone === null ? 0 : null) }, "lecture");
  const teach = (number) => {
    if (number === MACHINES.length) ui.steps.step();
    alone = number === null ? null : number % MACHINES.length;
    ui.lecture = alone === null ? null : { " ": () => teach(alone + 1), Escape: () => teach(null) };
    tellAround(holder, ".lmx-root", "lmx-lecture", alone !== null);
    MACHINES.forEach(([name], i) => boxes[name].box.classList.toggle("apart", alone !== null && alone !== i));
    mark(lecture, "aria-pressed", alone !== null);
    holder.closest("[tabindex]")?.focus({ preventScroll: true }); // The space bar is not the button's.
    update();
    sizes.again();
  };
  const text = alongText(ui);
  const holder = h("div.lmx-machines", {}, text.box);
  el.append(holder);
  (ui.foot || el.appendChild(h("div.lmx-foot"))).append(...[h("div.sp"), ui.foot && lecture, !replay && pairs, asMachines, asText].filter(Boolean));

  const wide = sizeOf(holder, () => {
    sizes.again();
    update();
  });
  const room = () => wide.width - 2;
  const high = {}; // The heights of the drawings.
  const sizes = machineSizes(graphs, room, (name) => high[name].height, () => alone !== null, (all) => {
    for (const { fit } of Object.values(boxes)) fit.setAttribute("aria-pressed", all);
    scroll.looked();
  });
  const scroll = machineScroll(graphs, boxes, sizes.factor);
  const asked = wholeMachine(model, ui, () => (drawn = ""), () => update());

  for (const [name, title, about] of MACHINES) {
    const caption = h("span", {}, about);
    const body = h("div.lmx-graph", { tabindex: 0, "data-keys": "+ - 0", "aria-label": title + ": + and − change its size, 0 restores it" });
    const panel = h("div.lmx-arc", { hidden: true });
    const table = h("div.lmx-table", { hidden: true });
    const offer = h("div.lmx-offer", { hidden: true, role: "status" });
    const lesson = h("div.lmx-lesson", { hidden: true });
    const asTable = h("button.quiet", { title: "as a table", "aria-label": title + ": as a table", "aria-pressed": "false", onclick: () => {
      const open = asTable.getAttribute("aria-pressed") !== "true";
      asTable.setAttribute("aria-pressed", open);
      table.hidden = !open;
      body.hidden = open;
      update();
      const row = table.querySelector("[aria-current]");
      if (open && row) row.scrollIntoView({ block: "nearest" });
    } }, "as a table");
    const fit = h("button.quiet", { title: "all of it in view", "aria-label": title + ": fit, all of it in view", "aria-pressed": "false", onclick: () => sizes.set(sizes.all() ? null : "all") }, "fit");
    const size = h("div.row", {},
      h("button.quiet", { title: "smaller", "aria-label": title + ": − smaller", onclick: () => sizes.set(sizes.factor(name) / 1.25) }, "− smaller"), fit,
      h("button.quiet", { title: "larger", "aria-label": title + ": + larger", onclick: () => sizes.set(sizes.factor(name) * 1.25) }, "+ larger"));
    const tools = h("div.tools", {}, size, asTable);
    const box = h("section.lmx-machine", { "data-machine": name, "aria-label": title },
      h("header", {}, h("h4", {}, title), caption, quietMenu(title, tools)), offer, body, lesson, table, panel);
    boxes[name] = { box, body, caption, about, panel, table, offer, fit, open: null };
    if (!replay && name === "character_fsa") tools.prepend(asked.inBytes);
    high[name] = sizeOf(body, () => sizes.again());
    if (!replay && name === "detokenizing_fst") {
      const editor = arcEditor(ui, title);
      tools.prepend(addToken(ui, title), editor.open);
      offer.before(editor.form);
    }
    if (name === "token_dfa") {
      built = construction(ui, title, graphs, lesson, () => update());
      if (!replay) tools.prepend(built.select);
    }
    holder.append(box);
    body.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return; // The notebook goes on scrolling.
      event.preventDefault();
      sizes.set(sizes.factor(name) * (event.deltaY < 0 ? 1.1 : 1 / 1.1));
    }, { passive: false });
    body.addEventListener("keydown", (event) => {
      if (!usesKey(event)) return;
      if (event.key === "+" || event.key === "-" || event.key === "0") {
        sizes.set(event.key === "0" ? null : sizes.factor(name) * (event.key === "+" ? 1.25 : 0.8));
        event.preventDefault();
      }
    });
    const open = (id) => {
      boxes[name].open = id;
      showArc(name);
    };
    const opens = (event) => {
      const hit = event.target.closest("[data-arc], [data-row]");
      open(hit ? hit.getAttribute("data-arc") || hit.getAttribute("data-row") : null);
    };
    tableKeys(table, open);
    scroll.drags(body);
    body.addEventListener("scroll", () => {
      const other = { character_fsa: "token_dfa", token_dfa: "character_fsa" }[name];
      if (other && boxes[other] && !built.number()) boxes[other].body.scrollLeft = body.scrollLeft;
      scroll.looked();
    });
    body.addEventListener("click", opens);
    table.addEventListener("click", opens);
  }

  const showArc = (name) => {
    const { panel, open } = boxes[name];
    const arc = open && graphs[name] && graphs[name].arcs.get(open);
    panel.hidden = !arc;
    if (!arc) return;
    const all = name === "token_dfa";
    const classes = async ({ source, target }) => {
      const answer = await ui.ask("arc", { source, target, form: graphs[name].form });
      return answer.ok && boxes[name].open === open ? answer.classes : null;
    };
    fillArc(ui, panel, arc, all, all && !replay && !built.number() ? classes : null);
  };

  const draw = () => {
    const machine = ui.machine;
    const near = ui.around;
    if (asked.changed(machine)) return;
    const drawing = asked.drawing();
    const stage = built.figure();
    const key = [machine ? machine.key : "", (near && near.key) || "", drawing ? JSON.stringify([drawing.form, !!drawing.said]) : "", built.number()].join("|");
    if (key === drawn && (!stage || graphs.token_dfa?.figure === stage.figure)) return;
    drawn = key;
    for (const [name] of MACHINES) {
      let figure = machine && machine.machines && machine.machines[name];
      let layout = machine && machine.layouts && machine.layouts[name];
      let shape = "characters";
      if (near && near.machines && near.machines[name]) {
        figure = near.machines[name];
        layout = near.layouts[name];
      } else if (name === "detokenizing_fst") figure = null;
      if (drawing && PAIR.includes(name) && !drawing.said) {
        figure = drawing.waiting ? null : drawing.machines[name];
        layout = drawing.waiting ? null : drawing.layouts[name];
        shape = drawing.form;
      }
      if (name === "token_dfa" && built.number()) ({ figure, layout } = stage || {});
      const { body, caption, about, table, panel } = boxes[name];
      if (!figure || !layout) {
        delete graphs[name];
        put(body, h("p.dim", {}, machine ? (figure && figure.caption) || "drawing…" : "no constraint: every token is allowed"));
        put(caption, about);
        caption.title = about;
        continue;
      }
      if (graphs[name] && graphs[name].figure === figure) continue;
      graphs[name] = drawMachine(figure, layout, shape, room() > 0 ? room() / READABLE : Infinity);
      // A stage of the construction is only named here; its text is below the drawing.
      put(caption, stage && name === "token_dfa" ? figure.caption.split(":")[0] : figure.caption || about);
      caption.title = figure.about || figure.caption || about;
      put(body, graphs[name].svg, figure.nodes.length ? null : h("p.dim", {}, "nothing is left: with these tokens alone no text can end"));
      // The machines share the height by what they are as a whole; what is near a place is another drawing at each step.
      const [top, bottom] = figure.complete === false && name === "detokenizing_fst" ? [0, 140] : extent(layout);
      boxes[name].box.style.flexGrow = HEAD + Math.min(bottom - top, TALL);
      panel.hidden = true;
      boxes[name].open = null;
      tabulate(table, graphs[name]);
    }
    sizes.again();
  };

  /** What a motion follows: the arcs and states of the token that led here, or of one that is looked at, by its letters. */
  ui.trail = async (token, walk = null) => {
    if (!text.box.hidden) return text.trail(walk);
    const k = ui.position.k - 1;
    const known = walk || ui.walks.get(pathKey(ui, k) + "|" + token) || (await ui.ask("walk", { token, k })).walk;
    const path = known && formOf(known.lit, "characters");
    if (!path) return null;
    const of = (names, what, pick) => names.map((name) => graphs[machineOf(name)]?.[what].get(name)).filter(Boolean).map(pick);
    const parts = (arcs, nodes) => ({ paths: of(arcs, "arcs", ({ line }) => line), rings: of(nodes, "nodes", ({ g }) => g), lit: [] });
    const pieces = characters(known.bytes).map(({ nodes, at, size }) => ({ text: nodes.map((one) => one.textContent ?? one).join(""), fails: known.failed_at !== null && known.failed_at < at + size, step: path.steps[at + size - 1] }));
    const letters = pieces.filter(({ step }) => step).map(({ text, fails, step: [arcs, nodes] }) => ({ text, fails, ...parts(arcs, fails ? [] : nodes) }));
    const pair = path.arc ? parts([path.arc], [path.target]) : null;
    return { letters, pair: pair && { ...pair, path: pair.paths[0] } };
  };

  let followed = "";
  let wanted = "";
  const update = () => {
    // A small vocabulary is drawn whole, as T_V; of a large one the part that the text goes through says more.
    const drawable = !!(ui.position && ui.position.along);
    mark(pairs, "aria-pressed", built.pairs());
    pairs.hidden = !ui.machine || ui.line.model === undefined;
    const columns = drawable && !built.pairs() && alone === null && (along ?? ((model.get("vocabulary") || {}).size || 0) > SMALL);
    text.box.hidden = asMachines.hidden = !columns;
    asText.hidden = columns || !drawable;
    holder.classList.toggle("along", columns);
    if (columns) return text.update();
    // A token that is clicked is drawn, wherever it was clicked.
    if (wanted !== ui.asked().join()) {
      wanted = ui.asked().join();
      if (!replay) ui.lookAround();
    }
    if (built.number() && ui.position) built.read();
    draw();
    asked.offers(boxes.character_fsa.offer);
    offerTokens(ui, graphs.detokenizing_fst, boxes.detokenizing_fst.offer, replay);
    // Until the drawings of another constraint are there, those of the last one say that they are old.
    const newest = (model.get("machine") || {}).key;
    holder.classList.toggle("old", !!newest && (!ui.machine || ui.machine.key !== newest));
    const pointed = ui.shown();
    const asking = pointed && pointed.byte === null;
    const sets = lit(ui, graphs);
    built.light(sets);
    for (const [name, title] of MACHINES) {
      const { box, table } = boxes[name];
      say(box.querySelector("h4"), machineTitle(ui, title));
      box.classList.toggle("taught", name === "token_dfa" && !!built.number() && !built.pairs());
      const graph = graphs[name];
      if (!graph) continue;
      light(graph, sets[name], title);
      // Amber is where we are; the way of a token that is only looked at is blue, or vermilion where it is masked.
      graph.svg.classList.toggle("asked", !!asking);
      graph.svg.classList.toggle("masked", !!asking && !pointed.walk.allowed);
      if (table.hidden) continue;
      if (table.querySelectorAll("tr[data-row]").length !== graph.arcs.size) tabulate(table, graph);
      for (const [id, arc] of graph.arcs) {
        const go = sets[name].go.has(id) || sets[name].open.has(id);
        markRow(table, id, { go, past: sets[name].pastArcs.has(id), here: arc.source === sets[name].now });
      }
    }
    // A view that the user has scrolled stays where it is until the next move.
    const key = [drawn, sets.token_dfa.now, sets.character_fsa.now, sets.token_dfa.next, sets.detokenizing_fst.now, sizes.factor(), room()].join("|");
    if (key === followed || !ui.position) return;
    followed = key;
    const leads = (name) => (graphs[name] ? [...graphs[name].arcs.values()].filter((arc) => arc.source === sets[name].now).map((arc) => arc.target) : []);
    const follows = [["character_fsa", sets.character_fsa.now, leads("character_fsa")], ["detokenizing_fst", sets.detokenizing_fst.now, []]];
    if (built.pairs()) follows.push(["token_dfa", sets.token_dfa.now, []]);
    else if (!built.number()) follows.push(["token_dfa", sets.token_dfa.now, sets.token_dfa.next ? [sets.token_dfa.next] : leads("token_dfa")]);
    scroll.to(follows);
  };
  const off = ui.on("after", update);
  update();
  return () => {
    for (const one of [wide, ...Object.values(high)]) one.end();
    off();
  };
}
