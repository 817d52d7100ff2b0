// Tokens that a person wants to see in the detokenizing FST: typed, or clicked and kept.

/** A field that adds a token to the drawing. */
function addToken(ui, title) {
  const add = h("input.lmx-add", { type: "search", placeholder: "add a token", title: "draw a token: its text, its id as #2024, or its bytes as 0x66", "aria-label": title + ": add a token", onchange: async () => {
    const answer = add.value && (await ui.ask("search", { query: add.value, k: ui.position.k }));
    const found = answer && answer.ok && answer.rows.find((row) => ui.isText(row.id));
    if (answer && !found) ui.remark(answer.stale ? LEFT : `Not done: there is no token “${add.value}” to draw.`);
    if (found && !ui.also.includes(found.id)) ui.show(found.id, true);
    add.value = "";
  } });
  return add;
}

/** The buttons under the header: they keep the token in view, or take a kept token out again. */
function offerTokens(ui, graph, offer, replay) {
  const token = ui.selected;
  const shown = new Set(graph ? graph.figure.edges.flatMap((edge) => (edge.target === "t" ? edge.tokens || [] : [])) : []);
  const can = !replay && graph && !graph.figure.complete;
  const more = can && token !== null && ui.isText(token) && shown.has(token) && !ui.also.includes(token);
  offer.hidden = !can || !(more || ui.also.length);
  if (offer.hidden) return;
  put(offer, ui.also.map((id) => h("span", {}, ui.token(id), h("button.quiet", { title: "take it out of the drawing", "aria-label": `take ${ui.text(id)} out`, onclick: () => ui.show(id, false) }, "×"))),
    more ? h("button.quiet", { "data-show": token, onclick: () => ui.show(token, true) }, "keep ", ui.token(token), " here") : null);
}
