// The construction of the token DFA as a lesson: its stages in the place of the drawing, the steps of
// the algorithms below it.

/** One stage of the construction; 0 is the token DFA itself. `at` is how many arcs of the composition are
 * drawn; null draws all. */
const stageOf = (number, at = null) => ({ number, key: "", figure: null, made: null, at });

/** The state of the composition that is the pair of a state of the FSA and one of the FST; undefined if it is not drawn. */
function pairIn(graph, outer, inner) {
  const [state, prefix] = [outer.slice(1), inner.slice(1)];
  return [...(prefix ? [] : ["q" + state]), `s${state}.${prefix}`].find((name) => graph.nodes.has(name));
}

/** Light one arc of the composition with the two that it is made of, and where the three lead: a state of the FSA, one of
 * the FST, and their pair. Without an arc, the pair with which the composition begins. */
function lightPair(sets, graph, [arc, inner, outer]) {
  const made = arc && graph.arcs.get(arc);
  const pair = made ? made.target : graph.figure.nodes.find((node) => node.start)?.id;
  const [from, to] = inner ? inner.split("-") : [null, "t"];
  const state = (name) => (/^[qs]\d/.test(name || "") ? "c" + parseInt(name.slice(1), 10) : null);
  const lit = [["token_dfa", arc, made && made.source, pair], ["detokenizing_fst", inner, from, to], ["character_fsa", outer, state(made && made.source), state(pair)]];
  for (const [name, go, before, now] of lit) {
    const past = new Set(before && before !== now ? [before] : []);
    Object.assign(sets[name], { go: new Set(go ? [go] : []), open: new Set(), koArcs: new Set(), pastArcs: new Set(), words: new Map(), past, now, next: null, ko: null });
  }
}

/** Let the composition walk with the FSA and the FST: the pairs that a token in view goes through, and in slow motion the one
 * where it is. Stages without such pairs show its arc. */
function lightWalk(ui, set, graph) {
  const shown = ui.shown();
  const path = formOf(ui.position?.lit, "characters");
  if (!shown || !path || shown.walk.failed_at !== null) return;
  const { steps } = formOf(shown.walk.lit, "characters");
  let here = path.now.find((name) => machineOf(name) === "token_dfa");
  const past = new Set(set.past);
  for (const [, nodes] of shown.byte === null ? steps : steps.slice(0, shown.byte)) {
    const outer = nodes.find((name) => name[0] === "c");
    const pair = outer && pairIn(graph, outer, nodes.find((name) => name[0] === "t"));
    if (!pair) continue;
    const arc = graph.between.get(here + ">" + pair);
    if (arc) set.go.add(arc.id);
    past.add(here);
    here = pair;
  }
  if (shown.byte === null) return;
  past.delete(here);
  Object.assign(set, { past, now: here });
}

/** The stages over the tokens that are shown. `box` holds the lesson. While the composition is watched pair by pair, the arrows
 * are its keys (`ui.lesson`): one pair a press. */
function construction(ui, title, graphs, box, update) {
  let stages = stageOf(0);
  const names = ["token DFA", "1 composed, with ε", "2 ε-free", "3 determinized", "4 trimmed"];
  const begin = (number, at) => {
    ui.lesson = null;
    stages = stageOf(number, at);
    built.select.value = number;
    update();
  };
  const built = {
    /** Begin with the composition's first pair, or end the lesson. */
    pairwise: (on) => begin(on ? 1 : 0, on ? 0 : null),
    /** Whether the composition is watched pair by pair. */
    pairs: () => stages.number === 1 && stages.at !== null,
    number: () => stages.number,
    figure: () => (stages.number ? stages.figure : null),
    select: h("select", { title: "how it is made, over the tokens shown above", "aria-label": title + ": construction", onchange: () => {
      built.select.closest("details").open = false; // The menu would cover what it makes.
      begin(Number(built.select.value));
    } }, names.map((label, i) => h("option", { value: i }, label))),
  };

  /** The construction of the token DFA over the tokens that are shown. */
  built.read = async () => {
    const key = pathKey(ui, ui.position.k) + "|" + ui.asked().join(",");
    if (stages.key === key) return;
    stages.key = key;
    const mine = stages;
    const answer = await ui.ask("stages", { k: ui.position.k, also: ui.asked() }, { doing: "working out the construction" });
    if (stages !== mine || mine.key !== key) return;
    if (answer.stale) mine.key = "";
    if (!answer.ok) return answer.stale ? null : begin(0);
    mine.made = mine.figure = answer.stages[mine.number - 1] || null;
    if (mine.at !== null) mine.at = 0;
    update();
  };

  let told = "";
  /** Show the construction as a lesson: the steps of the algorithms with the present one marked, and the
   * composition pair by pair, where the two arcs that make the new one are lit. */
  built.light = (sets) => {
    const made = stages.number ? stages.made : null;
    box.hidden = !made;
    const graph = graphs.token_dfa;
    const sources = made && stages.number === 1 ? made.sources : [];
    const at = sources.length ? stages.at : null;
    const go = (to) => () => {
      if (to !== null) to = Math.max(0, Math.min(sources.length, to));
      stages.at = to;
      update();
    };
    ui.lesson = at === null ? null : { ArrowRight: go(at + 1), ArrowLeft: go(at - 1), Escape: () => begin(0) };
    if (made && graph && graph.figure === made.figure) {
      const order = new Map(sources.map(([arc], i) => [arc, i]));
      const reached = new Set(sources.slice(0, at ?? sources.length).flatMap(([arc]) => [graph.arcs.get(arc).source, graph.arcs.get(arc).target]));
      for (const [id, arc] of graph.arcs) for (const one of [arc.g, arc.text]) one.classList.toggle("later", at !== null && (order.get(id) ?? Infinity) >= at);
      for (const [id, node] of graph.nodes) node.g.classList.toggle("later", at !== null && !reached.has(id) && !graph.figure.nodes.find((one) => one.id === id).start);
      if (at !== null) lightPair(sets, graph, at ? sources[at - 1] : []);
      else lightWalk(ui, sets.token_dfa, graph);
    }
    const what = made ? [stages.key, stages.number, at].join("|") : "";
    if (what === told) return;
    told = what;
    if (!made) return;
    const steps = (list, now) => h("ol", {}, list.map((step, i) => h("li" + (i === now ? ".now" : ""), { "aria-current": i === now ? "step" : null }, step)));
    if (at !== null) {
      return put(box, h("div.row", {}, h("button", { "aria-label": "the pair before", disabled: at === 0, onclick: go(at - 1) }, "◀"), " ",
        h("button.p", { "aria-label": "the next pair", disabled: at === sources.length, onclick: go(at + 1) }, "▶"), h("span.dim", { role: "status" }, ` pair ${at} of ${sources.length} `), h("button.quiet", { onclick: go(null) }, "all of it")),
        h("p.now", {}, made.algorithm[at && made.step]));
    }
    put(box, h("p", {}, made.figure.caption), h("p.dim", {}, "Algorithm 2: the token DFA"), steps(made.algorithm, made.step),
      h("details", {}, h("summary", {}, "Algorithm 1: the detokenizing FST"), steps(made.first, -1)));
    const here = box.querySelector("li.now");
    if (here) requestAnimationFrame(() => (box.scrollTop = here.offsetTop - box.offsetTop - box.clientHeight / 2));
  };
  return built;
}
