// Show on a drawing what `lit` names: only classes change, and nothing moves.

/** Light the nodes and arcs of a drawing, and say in words where we are. */
function light(graph, set, title) {
  // Of hundreds of nodes and arcs a few change; the others are not touched.
  for (const [id, node] of graph.nodes) {
    const state = [id === set.now ? "now" : set.past.has(id) ? "past" : "", id === set.next ? "next" : "", id === set.ko ? "ko" : ""].join(" ");
    if (state === node.state) continue;
    node.state = state;
    for (const one of ["past", "now", "next", "ko"]) node.g.classList.toggle(one, state.split(" ").includes(one));
  }
  let changed = false;
  for (const [id, arc] of graph.arcs) {
    const go = set.go.has(id) || set.open.has(id);
    const past = !go && set.pastArcs.has(id);
    const words = set.words.get(id) || [];
    const ko = set.koArcs.has(id);
    const state = (go ? "go" : past ? "past" : "g") + (set.open.has(id) ? " open" : "") + (ko ? " ko" : "") + words.join(" ");
    if (state !== arc.state) {
      arc.state = state;
      changed = true;
      arc.g.classList.toggle("go", go);
      arc.g.classList.toggle("open", set.open.has(id));
      arc.g.classList.toggle("ko", ko);
      arc.g.classList.toggle("past", past);
      arc.text.classList.toggle("lit", go || past);
      arc.text.classList.toggle("ko", ko);
      relabel(arc, go || past ? words : []);
      arc.line.setAttribute("marker-end", `url(#${graph.id}-${ko ? "ko" : go ? "go" : past ? "past" : "g"})`);
    }
  }
  if (changed) makeRoom(graph);
  crossAt(graph, set);
  const at = graph.figure.nodes.find((node) => node.id === set.now);
  const where = at ? (at.kind === "done" ? "the end" : at.title || at.label) : "the root";
  mark(graph.svg, "aria-label", `${title}, at ${where}`);
}

/** Put ✗ where a masked token fails: on the arc that it cannot go, else beside the state where it stops. */
function crossAt(graph, { koArcs, ko }) {
  const arc = [...koArcs].map((id) => graph.arcs.get(id)).find(Boolean);
  const node = ko && graph.layout.nodes[ko];
  const line = arc && arc.line;
  const at = line ? line.getPointAtLength(line.getTotalLength() / 2) : node && { x: node.x + node.r, y: node.y - node.r };
  if (!at) return graph.cross.remove();
  for (const name of ["x", "y"]) mark(graph.cross, name, at[name] + (name === "y" ? 5 : 0));
  if (!graph.cross.parentNode) graph.svg.append(graph.cross);
}
