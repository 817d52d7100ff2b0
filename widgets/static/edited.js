// My edit, before and after: the tokens that a change of the constraint gained and lost at the present place.
//
// Both masks are those that the page was sent for the same tokens; the line goes with the next step.

const CHANGES = 6; // The most tokens that are named.

/** The line about the last change of the constraint; `update` looks whether there was one. */
function editedMask(ui) {
  const el = h("p.lmx-edited", { role: "status", hidden: true });
  let seen = null; // Of the present constraint: {machine, asked, rows}, its masks by the tokens before them.
  let place = null; // The tokens and the position to which the line belongs.
  const asked = () => {
    const { kind, prompt } = ui.model.get("editor") || {};
    return [kind, prompt, (ui.model.get("vocabulary") || {}).fingerprint].join("\n");
  };
  const reader = ({ classOf }, row) => {
    const bits = bytesOf(row);
    return (id) => bit(bits, classOf[id]);
  };
  const boxes = (ids, p) => {
    const rank = new Map(p.top.map(({ id }, i) => [id, i]));
    const order = (id) => rank.get(id) ?? p.top.length + ui.text(id).length;
    const shown = ids.sort((one, other) => order(one) - order(other)).slice(0, CHANGES);
    return [shown.map((id) => [" ", ui.token(id)]), ids.length > shown.length ? ` and ${count(ids.length - shown.length)} more` : ""];
  };
  const compare = (before, p) => {
    const [was, is] = [reader(seen.machine, before), reader(ui.machine, p.row)];
    const [gained, lost] = [[], []];
    for (let id = 0; id < ui.machine.classOf.length; id++) if (was(id) !== is(id)) (is(id) ? gained : lost).push(id);
    put(el, "Your edit ", gained.length ? ["allows", boxes(gained, p)] : null, gained.length && lost.length ? "; it " : null, lost.length ? ["masks", boxes(lost, p)] : null,
      gained.length || lost.length ? "." : "changes nothing at this place.");
  };
  const update = () => {
    const { machine, position: p } = ui;
    if (!p || !machine || !ui.vocabulary || machine.key !== (ui.model.get("machine") || {}).key) return;
    if (seen && seen.machine === machine && seen.position === p) return;
    const path = ui.tokens().slice(0, p.k).map(({ id }) => id).join();
    if (seen && seen.machine !== machine) {
      const before = seen.asked === asked() ? seen.rows.get(path) : undefined;
      if (before !== undefined) compare(before, p);
      place = before === undefined ? null : path;
      seen = null;
    }
    seen ??= { machine, asked: asked(), rows: new Recent(ANSWERS_KEPT) };
    seen.position = p;
    seen.rows.set(path, p.row);
    el.hidden = place !== path;
  };
  return { el, update };
}
