// Where a token DFA has more arcs than are drawn, those of the path and of the present state are added.

/** Adds them to the drawing in `graphs` after each move, where they are `wanted()`. */
function missingArcs(ui, graphs, wanted, update) {
  let present = ""; // Where the added arcs belong.
  /** The name of the arcs of the present state and the path that a cut drawing lacks; empty if no arc can be
   * missing. */
  const lacking = () => {
    const graph = graphs.token_dfa;
    const near = ui.around && ui.around.machines && ui.around.machines.token_dfa;
    if (!graph || !wanted() || graph.figure.complete || (near && graph.figure === near)) return "";
    return pathKey(ui, ui.position.k) + "|" + graph.form;
  };
  let awaited = "";
  const complete = () => {
    const key = lacking();
    if (!key || key === present || key === awaited) return;
    awaited = key;
    completing();
  };
  const completing = eased(ui, AROUND_AFTER, AROUND_LATEST, async () => {
    awaited = "";
    const key = lacking();
    if (!key || key === present || ui.gone) return;
    const graph = graphs.token_dfa;
    present = key;
    const answer = await ui.ask("present", { k: ui.position.k, form: graph.form });
    if (answer.stale && present === key) present = "";
    if (present !== key || graphs.token_dfa !== graph || !answer.ok || !answer.present) return;
    const { edges: found, places, top, bottom } = answer.present;
    const named = new Set(found.map((edge) => edge.id));
    graph.drop([...graph.arcs.keys()].filter((id) => !graph.own.has(id) && !named.has(id)));
    graph.add(found, places);
    graph.frame(top, bottom);
    update();
  });
  return { complete, forget: () => (present = ""), end: completing.end };
}
