// An editor for the arcs of the detokenizing transducer: what a token writes, or that it is missing. The model
// knows ids alone, so masks, machines and probabilities follow.

/** The form, and the button that opens it. */
function arcEditor(ui, title) {
  let token = null;
  const said = h("span.dim", { role: "status" });
  const which = h("input", { type: "search", placeholder: "token", "aria-label": "token whose arc is edited", title: "its text, its id as #2024, or its bytes as 0x66", onchange: () => look() });
  const writes = h("input", { type: "text", placeholder: "writes", "aria-label": "what the token writes", onkeydown: (event) => event.key === "Enter" && send({ writes: writes.value }) });
  const send = async (change) => {
    if (token === null) return;
    say(said, "compiling…");
    const answer = await ui.ask("rewrite", { token, ...change }, { shown: true });
    const error = answer.ok || answer.cancelled ? null : answer.error || {};
    say(said, error ? error.message || "not possible" : "");
    if (answer.ok && change.writes === undefined) writes.value = change.missing ? "" : ui.text(token);
  };
  const look = async () => {
    token = null;
    const answer = which.value && (await ui.ask("search", { query: which.value, k: ui.position.k }));
    const row = answer && answer.ok && answer.rows[0];
    say(said, answer && !row ? `there is no token “${which.value}”` : "");
    if (!row) return;
    token = row.id;
    writes.value = ui.text(token).replaceAll("␣", " ");
    say(said, `id ${token}`);
  };
  const does = (words, about, change) => h("button.quiet", { title: about, onclick: () => send(change()) }, words);
  const form = h("div.lmx-arcs", { hidden: true, role: "group", "aria-label": "edit an arc" }, "token ", which, " writes ", writes,
    does("apply", "compile with this arc", () => ({ writes: writes.value })),
    does("leave it out", "compile without this arc", () => ({ missing: true })),
    does("as usual", "the arc that the tokenizer has", () => ({})), said);
  const open = h("button.quiet", { title: "edit an arc: what a token writes", "aria-label": title + ": edit an arc", "aria-expanded": "false", onclick: () => {
    form.hidden = !form.hidden;
    open.setAttribute("aria-expanded", !form.hidden);
    if (form.hidden) return;
    if (ui.selected !== null && ui.isText(ui.selected)) {
      which.value = String(ui.selected);
      look();
    }
    which.focus();
  } }, "edit");
  return { open, form };
}
