// Why a token is allowed or masked: the panel beside the bars.
//
// It opens with the verdict. Answers that need a search are asked for once the verdict is shown, one at a time.

/** The panel. `closed` is called after it was closed by its cross or by Escape. */
function whyPanel(ui, closed) {
  const el = h("section.lmx-why", { "aria-live": "polite", "aria-label": "why", "data-keys": "Escape", onkeydown: (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    close();
  } });
  const close = () => {
    const inside = el.contains(document.activeElement);
    ui.selected = null;
    ui.changed();
    if (inside) closed();
  };
  const details = new Map(); // path and token → the searched parts of the answer
  let asking = false;
  const keyOf = (token) => pathKey(ui, ui.position.k) + "|" + token;

  const search = async (token, told) => {
    const key = keyOf(token);
    if (asking || ui.gone || details.has(key)) return;
    if (details.size > 200) details.clear();
    if (told.more) return details.set(key, told.more), ui.changed();
    asking = true;
    const answer = await ui.ask("more", { token, k: ui.position.k });
    asking = false;
    if (!answer.stale) details.set(key, (answer.ok && answer.more) || {});
    ui.changed();
  };

  /** Look at a token; a second call does not close the panel. */
  ui.look = (id) => {
    ui.selected = id;
    ui.changed();
  };
  /** The spans that the constraint's editor underlines: those that the reason in view expects, else the
   * position's. */
  ui.spans = () => {
    const told = ui.selected !== null && !ui.position.finished ? ui.reasons.get(keyOf(ui.selected)) : null;
    return told ? told.spans || [] : ui.position.spans || [];
  };
  /** The texts that the reason in view speaks of, with their spans. */
  ui.sources = () => (ui.selected !== null && !ui.position.finished && ui.reasons.get(keyOf(ui.selected))?.parts) || [];
  const chip = (id) => h("button.lmx-ask", { title: "why?", onclick: () => ui.look(id) }, ui.token(id));
  const live = () => !ui.gone && !ui.model.get("replay");
  const follow = async (tokens, token) => {
    const seen = ui.sight(); // The tokens were shown at this place.
    const answer = await ui.turn(() => ui.ask("follow", { tokens, seen }));
    if (answer.ok) ui.look(token);
  };
  const goTo = async (k, token) => {
    const answer = await ui.go(k);
    if (answer && answer.ok !== false) ui.look(token);
  };
  const relax = (token) => ui.ask("relax", { token, k: ui.position.k }, { shown: true });
  const use = (kind, text) => {
    const e = ui.model.get("editor") || {};
    return ui.ask("edit", { kind, text, prompt: e.prompt || "" }, { shown: true });
  };

  const boxes = (told) => {
    const out = [];
    for (const [i, piece] of characters(told.bytes || []).entries()) {
      const ends = piece.at + piece.size;
      const at = told.failed_at;
      const fails = at !== null && at !== undefined && at < ends;
      const rest = fails && at < piece.at;
      const hex = (told.bytes || []).slice(piece.at, ends).map(hexByte).join("");
      const said = rest ? "not read" : fails ? "fails here" : "is read";
      out.push(h("span." + (rest ? "rest" : fails ? "ko" : "ok"), { "data-box": i, title: `${hex}: ${said}` }, piece.nodes));
    }
    return out.length ? h("div.boxes", { role: "img", "aria-label": "the token's characters, up to the one that fails" }, out) : null;
  };
  const expected = (told) => (told.parts || []).map((part) => {
    const { pattern, spans, line } = sourceLine(part.pattern, part.spans);
    const where = [part.label, line ? "line " + line : ""].filter(Boolean).join(", ");
    return h("p.dim.source", {}, part.role === "excludes" ? "Excluded by " : told.allowed ? "What comes next: " : "Expected by ", where ? h("span.where", {}, where + ": ") : null, underlinedPattern(pattern, spans));
  });

  const found = (token, told, more) => {
    const out = [];
    const able = live();
    const act = (label, title, onclick) => h("button.lmx-act", { title, onclick, disabled: !able }, label);
    if (more.cause) {
      out.push(h("p.cause", {}, more.cause.sentence ? h("b", {}, more.cause.sentence, " ") : null, more.cause.remedy, " ", act(more.cause.label, "compile the constraint with this change; the text stays", () => relax(token))));
    }
    if (more.nearest && more.nearest.length) {
      // Tokens that look the same, or like the one that is asked about, are told apart by their ids.
      const texts = [token, ...more.nearest].map((id) => ui.text(id));
      const same = (id) => texts.filter((text) => text === ui.text(id)).length > 1;
      out.push(h("p.dim.nearest", {}, "Nearest allowed: ", more.nearest.map((id) => [chip(id), same(id) ? h("small", { title: "its id: another token here looks the same" }, id + " ") : null])));
    }
    if (more.after && more.after.length && !told.allowed) {
      out.push(h("p.after", {}, act(["take ", more.after.slice(0, 8).map((id) => ui.token(id)), more.after.length > 8 ? ` and ${more.after.length - 8} more` : "", " first"],
        "go on beside this line, and take them there", () => follow(more.after, token)), " → then ", ui.token(token), " is allowed"));
    } else if (more.nowhere) out.push(h("p.dim", {}, "Whatever is taken first, ", ui.token(token), " stays masked under this constraint."));
    if (more.earlier) {
      out.push(h("p.earlier", {}, `Allowed at position ${more.earlier.position}, where `, ...(more.earlier.chosen === token ? ["it was taken "] : [ui.token(more.earlier.chosen), " was taken instead "]),
        h("button.lmx-act", { title: "jump to that position", onclick: () => goTo(more.earlier.position, token) }, "→ go there")));
    }
    if (more.completion) {
      const c = more.completion;
      out.push(h("p.dim", {}, "Shortest complete text through it: ", h("code", {}, c.text)));
      if (c.forced) out.push(h("p.dim", {}, "After it the text must go on with ", h("code", {}, c.forced)));
    }
    for (const sentence of more.stopped || []) out.push(h("p.dim.stopped", {}, sentence));
    return out;
  };

  let wide = false; // Whether the longer answer is open.
  let shown = "";
  const update = () => {
    const p = ui.position;
    el.hidden = !p || p.finished || ui.selected === null;
    if (el.hidden) {
      shown = "";
      return el;
    }
    const token = ui.selected;
    const told = ui.why(token);
    const key = keyOf(token);
    const known = details.get(key);
    if (told && told.stage) search(token, told);
    // The panel is drawn again only if something changed, so that focus and selection stay.
    const state = [key, !!told, !!known, live(), !!ui.vocabulary].join("|");
    if (state === shown) return el;
    const focused = el.contains(document.activeElement);
    shown = state;
    const cross = h("button.quiet.close", { title: "close (Esc)", "aria-label": "close", onclick: close }, "✕");
    el.classList.toggle("waiting", !ui.gone && !known && (!told || !!told.stage));
    if (!told && ui.gone) return put(el, h("h4", {}, "Why is ", ui.token(token), "?", h("div.sp"), cross), h("p.said", {}, "The kernel is gone, and this was not asked before. Run the cell again to ask."));
    if (!told) return put(el, h("h4", {}, "Why is ", ui.token(token), "…", h("div.sp"), cross));
    const here = p.k === (ui.line.index ?? p.k);
    const take = told.allowed && here ? h("button.p.take", { disabled: !ui.takes(), title: "take this token", onclick: () => ui.take(token) }, "take it") : null;
    // The reason comes first; what shows where it is from follows on demand, and where the source is shown, not at all.
    const [, sentence, from] = (told.sentence || told.message || "").match(/^(.*?)((?: (?:Expected|On the stack)\b.*)?)$/s);
    const [source, ...sources] = expected(told);
    const rest = [source ? "" : from.trim(), told.stack ? told.stack.sentence : ""].filter(Boolean).map((text) => h("p.said" + (told.stack && text === told.stack.sentence ? ".onstack" : ""), {}, text));
    const longer = [...sources, ...rest];
    put(el, h("h4", {}, "Why is ", ui.token(token), told.allowed ? " allowed?" : " masked?", h("div.sp"), take, cross),
      h("p.said", {}, sentence), boxes(told), source, known ? found(token, told, known) : null,
      longer.length ? h("details.longer", { open: wide, ontoggle: (event) => (wide = event.currentTarget.open) }, h("summary.dim", {}, "where this is from"), longer) : null,
      (told.notes || []).map((note) => h("p.dim", {}, note)));
    if (focused) el.querySelector(".close").focus({ preventScroll: true });
    return el;
  };
  return { el, update };
}
