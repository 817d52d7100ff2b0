// Other engines at this state: for each token that is shown, the engines that allow it. Alone, it is off until it is switched on.
//
// The tokens are those of the distribution and the selected one. A cell that differs from ours is hatched and
// says so to a screen reader; a click tells why. The kernel works it out on a thread of its own, once the page
// has come to rest, so no step waits for it; the old rows stay, dimmed, until the new ones have arrived.

const MOST_COMPARED = 12;

function renderEngines({ el, ui, alone = false }) {
  const part = h("section.lmx-engines", { "aria-label": "other engines" });
  const button = h("button.quiet", { hidden: !alone, "aria-pressed": "false", title: "ask outlines-core, xgrammar and llguidance for their masks here", onclick: () => {
    on = !on;
    button.setAttribute("aria-pressed", on);
    why = null;
    ui.changed();
  } }, "Other engines");
  const said = h("span.dim", { role: "status" });
  const table = h("div.lmx-engine-table");
  const reason = h("div.lmx-engine-why", { "aria-live": "polite" });
  part.append(h("header", {}, button, alone ? null : h("h4", {}, "Other engines"), said), table, reason);
  el.append(part);
  let on = !alone;
  let now = null; // {key, rows, tokens}, or {key, error}
  let asked = ""; // the key that was asked for last
  let timer = 0;
  let why = null; // {engine, token}
  let drawn = "";

  const tokens = () => {
    const first = (ui.position.top || []).map((entry) => entry.id);
    const more = ui.selected === null || ui.selected === undefined ? [] : [ui.selected];
    return [...new Set([...first, ...more])].slice(0, MOST_COMPARED);
  };
  const keyNow = () => (ui.position && ui.machine ? ui.machine.key + "|" + pathKey(ui, ui.position.k) + "|" + tokens().join() : "");
  const ask = async (key) => {
    if (!on || key !== keyNow()) return;
    if (ui.moving() || ui.playing) return look();
    asked = key;
    const answer = await ui.ask("engines", { k: ui.position.k, tokens: tokens() });
    if (asked === key && (answer.stale || answer.cancelled)) asked = "";
    if (key !== keyNow() || answer.stale || answer.cancelled) return ui.changed();
    now = answer.ok ? { key, rows: answer.rows, tokens: answer.tokens } : { key, error: (answer.error && answer.error.message) || "It could not be worked out." };
    ui.changed();
  };
  const look = () => {
    clearTimeout(timer);
    const key = keyNow();
    timer = setTimeout(() => ask(key), 250);
  };
  const cell = (row, index, token) => {
    const one = row.cells[index];
    const ours = now.rows[0].cells[index].on;
    const words = `${row.name} ${one.on ? "allows" : "masks"} ${ui.text(token)}` + (one.why ? `, explorer ${ours ? "allows" : "masks"} it: ${one.why.class}` : "");
    const sign = one.on ? "✓" : "✗";
    if (!one.why) return h("span.lmx-engine-cell" + (one.on ? ".on" : ""), { role: "cell", "aria-label": words, title: words }, sign);
    const open = why && why.engine === row.name && why.token === token;
    return h("button.lmx-engine-cell.differs" + (one.on ? ".on" : ""), {
      "aria-label": words, title: words, "aria-expanded": String(!!open), "data-engine": row.name, "data-token": token,
      onclick: () => {
        why = open ? null : { engine: row.name, token };
        ui.changed();
      },
    }, sign);
  };
  const draw = () => {
    const focused = table.contains(document.activeElement) ? document.activeElement : null;
    const place = focused && [focused.getAttribute("data-engine"), focused.getAttribute("data-token")];
    const head = h("tr", {}, h("th", {}), now.tokens.map((token) => h("th", { scope: "col", title: ui.text(token) }, readable(ui.text(token)))));
    const wide = { colspan: now.tokens.length + 1 };
    const rows = now.rows.flatMap((row) => [
      h("tr", { "data-row": row.name }, h("th", { scope: "row", title: `${row.name} ${row.version}` }, row.name, row.allowed === null ? "" : h("i", {}, " " + count(row.allowed))),
        row.allowed === null ? "" : now.tokens.map((token, i) => h("td", {}, cell(row, i, token)))),
      row.said ? h("tr", {}, h("td" + (row.allowed === null ? ".refused" : ".said"), wide, h("span", {}, row.said))) : "",
    ]);
    put(table, h("table", {}, head, rows));
    if (place) table.querySelector(`[data-engine="${place[0]}"][data-token="${place[1]}"]`)?.focus({ preventScroll: true });
    const row = why && now.rows.find((one) => one.name === why.engine);
    const at = row ? now.tokens.indexOf(why.token) : -1;
    const found = at >= 0 && row.cells[at] && row.cells[at].why;
    put(reason, found ? [h("b", {}, found.class), ` ${found.sentence}`, found.evidence.map((line) => h("div.dim", {}, line))] : null);
  };
  const update = () => {
    const closed = ui.gone || !!ui.model.get("replay");
    button.disabled = closed;
    part.hidden = !(ui.model.get("machine") || {}).key;
    table.hidden = reason.hidden = !on || !now;
    if (!on || closed || part.hidden) return say(said, "");
    const key = keyNow();
    if (ui.position.finished) {
      table.hidden = reason.hidden = true;
      return say(said, "the text has ended");
    }
    if (key && key !== asked && !(now && now.key === key)) look();
    const fresh = now && now.key === key;
    table.classList.toggle("old", !fresh);
    say(said, fresh ? now.error || "" : "asking…");
    if (!now || now.error) return (table.hidden = reason.hidden = true);
    const state = now.key + JSON.stringify(why) + !!ui.vocabulary;
    if (state === drawn) return;
    drawn = state;
    draw();
  };
  const off = ui.on("after", update);
  update();
  return () => {
    clearTimeout(timer);
    off();
  };
}
