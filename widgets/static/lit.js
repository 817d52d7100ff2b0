// The nodes and arcs of the three machines that are lit. The kernel names them (`machines/lit.py` and
// `machines/walk.py`): those of the path with each position, those of a token byte by byte. This file adds the
// bytes that are shown to the path.

/** The machine of a node or an arc, told by the first letter of its name. */
const machineOf = (name) => ({ c: "character_fsa", t: "detokenizing_fst" })[name[0]] || "token_dfa";

/** The nodes and arcs of the three machines that are past, in progress, or where a byte fails. */
function lit(ui, graphs) {
  const sets = {};
  for (const [name] of MACHINES) {
    sets[name] = { words: new Map(), past: new Set(), pastArcs: new Set(), go: new Set(), open: new Set(), koArcs: new Set(), now: null, next: null, ko: null };
  }
  const form = graphs.character_fsa?.form === "bytes" ? "bytes" : "characters";
  const of = (name) => sets[machineOf(name)];
  const path = formOf(ui.position?.lit, form);
  if (!path) return sets;
  for (const node of path.nodes) of(node).past.add(node);
  for (const arc of path.edges) of(arc).pastArcs.add(arc);
  for (const node of path.now) of(node).now = node;
  for (const [arc, words] of Object.entries(path.tokens)) of(arc).words.set(arc, words);
  const shown = ui.shown();
  const walk = shown && formOf(shown.walk.lit, form);
  if (!walk) return sets;
  const { failed_at: failed, text } = shown.walk;
  const whole = shown.byte === null || shown.byte >= walk.steps.length;
  const steps = whole ? walk.steps : walk.steps.slice(0, shown.byte);
  steps.forEach(([arcs, nodes], i) => {
    for (const arc of arcs) {
      of(arc).go.add(arc);
      if (i === failed) of(arc).koArcs.add(arc);
      if (arc[0] === "t") of(arc).words.set(arc, [text]);
    }
    for (const node of nodes) {
      if (shown.byte !== null) {
        of(node).past.add(of(node).now);
        of(node).now = node;
      } else if (node[0] === "c" && failed === null) of(node).next = node;
    }
  });
  if (failed !== null && failed !== undefined && steps.length > failed) {
    sets.character_fsa.ko = walk.stopped;
    sets.token_dfa.ko = "q" + walk.stopped.slice(1); // A ghost, where the state is drawn.
  }
  if (walk.arc) {
    (whole ? sets.token_dfa.go : sets.token_dfa.open).add(walk.arc);
    sets.token_dfa.words.set(walk.arc, [text]);
    if (shown.byte === null) sets.token_dfa.next = walk.target;
    else if (whole) {
      sets.token_dfa.past.add(sets.token_dfa.now);
      sets.token_dfa.now = walk.target;
    }
  }
  return sets;
}

/** The kernel sends the names for the drawing by bytes only where they differ. */
const formOf = (packet, form) => packet && (packet[form] || packet.characters);
