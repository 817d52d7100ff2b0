// Traps: their marks in the token strip, and a panel that explains each; and all of them in a list.
//
// They are looked for when the page has come to rest, never with a step, and once for all views.

const MOST_TRAPS = 24; // Written out; the engine has grouped them.

/** Traps that ask for the same, the first one in full: what, evidence, remedy. */
function trapText(ui, [trap, ...again], place = () => null) {
  return h("div.lmx-trap", {}, h("b", {}, trap.title), " ", place(trap), h("p", {}, trap.message),
    again.length ? h("p", {}, "The same at ", again.map(place)) : null,
    h("p.dim", {}, trap.facts.map((fact, i) => [i ? " · " : "", fact.label + " ", fact.tokens ? fact.tokens.map((id) => ui.token(id)) : h("code", {}, fact.text)])),
    h("p", {}, h("b", {}, "Remedy: "), trap.remedy));
}

/** Ask for something when the page has come to rest: not while playing, and a moment after the last
 * change of `path`. An answer is kept only if the page is still at the same place. */
function atRest(ui, type, path, take, wait = 250) {
  let done = "";
  let pending = "";
  let timer = 0;
  const ask = async (key) => {
    pending = "";
    ui.due.delete(ask);
    if (key !== path() || ui.playing) return ui.changed();
    if (ui.moving()) return look();
    done = key;
    const answer = await ui.ask(type, { k: ui.position.k });
    if (answer.stale && done === key) done = "";
    if (!answer.ok || key !== path()) return;
    take(answer, key);
    ui.changed();
  };
  const look = () => {
    const key = path();
    if (!ui.position || ui.gone || ui.playing || !(ui.model.get("machine") || {}).key || key === done || key === pending) return;
    clearTimeout(timer);
    pending = key;
    ui.due.add(ask);
    // A page without a kernel has the answer at hand.
    timer = setTimeout(() => ask(key), ui.model.get("replay") ? 0 : wait);
  };
  const off = ui.on("change", look);
  look();
  return () => {
    clearTimeout(timer);
    ui.due.delete(ask);
    off();
  };
}

/** Keep `ui.traps` to the line that is shown; the first view that asks does it for all. */
function watchTraps(ui) {
  if (ui.traps) return () => {};
  ui.traps = [];
  ui.lookedForTraps = false;
  const line = () => (ui.position ? pathKey(ui, ui.tokens().length) : "");
  return atRest(ui, "traps", line, (answer) => {
    ui.traps = answer.traps || [];
    ui.lookedForTraps = true;
  }, 400);
}

/** All traps of the constraint and of the run that is shown, each in full. */
function renderTraps({ el, ui }) {
  const list = h("div.lmx-traps");
  el.append(h("header", {}, h("h4", {}, "Traps"), h("span.dim", {}, "where the constraint may lead a model astray")), list);
  const offTraps = watchTraps(ui);
  let drawn = "";
  const update = () => {
    const traps = ui.traps || [];
    // They are drawn again only if they changed, so that they keep the focus and a click in progress.
    const key = JSON.stringify(traps) + ui.lookedForTraps + !!ui.vocabulary;
    if (key === drawn) return;
    drawn = key;
    const place = (trap) => (trap.position === null ? null : h("button.quiet", { onclick: () => ui.go(trap.position) }, `position ${trap.position}`));
    const alike = new Map();
    for (const trap of traps) alike.set(trap.title + trap.remedy, [...(alike.get(trap.title + trap.remedy) || []), trap]);
    put(list, traps.length ? [...alike.values()].slice(0, MOST_TRAPS).map((some) => trapText(ui, some, place)) : ui.lookedForTraps ? h("p.dim", {}, "None was found, neither in the constraint nor in this run.") : null);
  };
  const off = ui.on("after", update);
  update();
  return () => {
    off();
    offTraps();
  };
}

/** Marks and a panel for the traps of a run. `mark` puts the marks into a row of tokens. */
function trapMarks(ui) {
  const off = watchTraps(ui);
  let open = null;
  let origin = null;
  let entered = false;
  let drawn = "";
  const panel = h("section.lmx-trap-panel", { hidden: true, "aria-label": "traps", "data-keys": "Escape", onkeydown: (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    close();
  } });
  const close = () => {
    open = null;
    panel.hidden = true;
    ui.changed();
    // The marks are drawn anew; the one that opened it is found again by its position.
    const place = origin && origin.getAttribute("data-trap");
    requestAnimationFrame(() => requestAnimationFrame(() => panel.parentElement?.querySelector(`[data-trap="${place}"]`)?.focus({ preventScroll: true })));
  };
  const mark = (row) => {
    const places = new Map();
    for (const trap of ui.traps || []) {
      if (trap.position !== null) places.set(trap.position, [...(places.get(trap.position) || []), trap]);
    }
    for (const [k, traps] of places) {
      const said = traps.map((trap) => trap.title).join(", ");
      const sign = h("button.lmx-trapmark", {
        "data-trap": k, title: said, "aria-label": `warning at position ${k}: ${said}`, "aria-expanded": open === k,
        onclick: () => {
          open = open === k ? null : k;
          entered = open !== null;
          ui.changed();
        },
      }, "⚠", traps.length > 1 ? h("sup", {}, traps.length) : null);
      const before = row.querySelector(`[data-k="${k + 1}"]`);
      if (before) before.before(sign);
      else row.append(sign);
      if (open === k) origin = sign;
    }
    const shown = open !== null && places.get(open);
    panel.hidden = !shown;
    // The panel is drawn again only where its content is another.
    const key = shown ? open + JSON.stringify(shown) + !!ui.vocabulary : "";
    if (key === drawn) return;
    drawn = key;
    if (!shown) return;
    // Drawn again (the vocabulary has come, a trap was added), it keeps the focus, so that Escape goes on closing it.
    const held = entered || panel.matches(":focus-within");
    put(panel, h("div.row", {}, h("b", {}, `⚠ At position ${open}`), h("div.sp"), h("button.quiet", { "aria-label": "close", title: "close (Esc)", onclick: close }, "✕")),
      shown.map((trap) => trapText(ui, [trap])));
    if (held) panel.querySelector("button").focus({ preventScroll: true });
    entered = false;
  };
  return { panel, mark, off, open: () => open };
}
