// The drawers of the explorer: a part that is not always needed has one headline, and opens under it on request.
//
// A closed drawer is not rendered, so it costs a step nothing and asks the kernel for nothing.

/** A line of headlines over their parts. Each of `parts` has a title, a headline as a function of the
 * page state, a renderer, and perhaps `open`: whether it is open
 * at first, as a function of the model. */
function drawers(model, ui, parts) {
  const heads = h("div.lmx-heads", { role: "group", "aria-label": "more about this position" });
  const bodies = h("div.lmx-bodies");
  const all = parts.map(({ name, title, headline, render, open }) => {
    const said = h("span");
    const body = h("section.lmx-part-" + name, { "aria-label": title, hidden: true });
    let undo = null; // ends the part, while it is open
    const turn = () => {
      body.hidden = !!undo;
      button.setAttribute("aria-expanded", !undo);
      if (undo) {
        undo();
        undo = null;
        put(body);
      } else undo = render({ model, el: body, ui }) || (() => {});
      bodies.hidden = all.every((one) => one.body.hidden);
      ui.changed();
    };
    const button = h("button.lmx-head", { "aria-expanded": "false", "data-drawer": name, onclick: turn }, h("b", {}, title), " ", said);
    heads.append(button);
    bodies.append(body);
    return { body, open, turn, update: () => say(said, undo ? "" : headline(ui)), end: () => undo && undo() };
  });
  bodies.hidden = true;
  for (const one of all) if (one.open && one.open(model)) one.turn();
  const el = h("div.lmx-drawers", {}, heads, bodies);
  const update = () => {
    el.hidden = !(model.get("machine") || {}).key;
    for (const one of all) one.update();
  };
  const off = ui.on("change", update);
  update();
  return {
    el,
    end: () => {
      off();
      for (const one of all) one.end();
    },
  };
}
