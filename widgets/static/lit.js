// Which nodes and arcs of the three machines are lit, for all of them in one place.

/** Which nodes and arcs of the three machines are past, in progress, or where a byte fails. */
function lit(ui, graphs) {
  const out = {};
  for (const [name] of MACHINES) {
    out[name] = { words: new Map(), past: new Set(), pastArcs: new Set(), go: new Set(), open: new Set(), now: null, next: null, ko: null };
  }
  const p = ui.position;
  if (!p) return out;
  const chars = out.character_fsa, inner = out.detokenizing_fst, tokens = out.token_dfa;
  const between = (name, source, target) => graphs[name]?.between.get(source + ">" + target) || null;
  const node = (name, id) => graphs[name]?.figure.alias?.[id] || id;
  // An arc may carry several tokens; those that are meant are set in bold.
  const words = (set, arc, id) => set.words.set(arc, [...(set.words.get(arc) || []), ui.text(id)]);
  const path = p.path || [];
  const inBytes = graphs.character_fsa?.form === "bytes";
  path.forEach((state) => chars.past.add(node("character_fsa", "c" + state)));
  if (!inBytes) (p.path_arcs || []).forEach((arc) => arc && chars.pastArcs.add(arc));
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
    if (arc) words(tokens, arc.id, (ui.tokens()[i - 1] || {}).id);
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
    if (step.edge_t) {
      inner.go.add(step.edge_t);
      words(inner, step.edge_t, walk.token);
    }
    if (failed) return;
    const edge = inBytes ? `c${step.from}-c${step.to}` : step.edge_c;
    if (edge) chars.go.add(edge);
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
    const edge = inBytes && steps.length ? `q${p.char_state}-q${steps[steps.length - 1].to}` : walk.edge_q;
    (whole || byte === null ? tokens.go : tokens.open).add(edge);
    tokens.words.set(edge, [ui.text(walk.token)]);
    const arc = graphs.token_dfa && graphs.token_dfa.arcs.get(edge);
    if (arc && byte === null) tokens.next = arc.target;
  }
  return out;
}
