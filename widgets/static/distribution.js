// The model's distribution before and after the mask: figures, bars, search, and the reason.
//
// Rows stay at their place by the model's own probability; before the first allowed token stand at most `MOST_BEFORE` masked
// ones. A masked token is underlined and hatched and carries its reason in two or three words. A click on any token explains it, below
// its row. An allowed token is taken by its button, by Enter or by its number. Where there is no model, the rows have no
// numbers: allowed tokens, and then the masked ones that fail latest.

const MOST_BEFORE = 3;
const MOST_HIGH = 12; // The rows for which there is room on a telephone, whether there are so many or not: a step moves nothing.

export function renderDistribution({ model, el, ui = pageState(model) }) {
  island(el, "Distribution");
  const facts = h("div.lmx-facts");
  const rows = h("div.lmx-rows", { role: "table", "aria-label": "next-token probabilities, per cent" });
  const search = h("input.lmx-find", { type: "search", placeholder: "find a token…", title: "its text, its id as #2024, or its bytes as 0x66", "aria-label": "find a token by text, bytes or id" });
  const found = h("div.lmx-rows");
  const filtered = h("p.lmx-filter", { role: "status" });
  const panel = whyPanel(ui, () => (rows.querySelector('[tabindex="0"]') || el).focus({ preventScroll: true }));
  const answer = h("div.lmx-answer", { role: "row" }, h("div", { role: "cell" }, panel.el));
  const figures = h("dl");
  const more = h("details.lmx-figures", {}, h("summary", {}, "How much the mask changes"), figures);
  const edited = editedMask(ui);
  el.append(facts, edited.el, filtered, rows, search, found, answer, more, legend());

  // A search is repeated at each new position, as soon as no more steps come.
  let results = null;
  let asked = "";
  let timer = 0;
  const wanted = () => (search.value && ui.position ? pathKey(ui, ui.position.k) + "|" + search.value : "");
  const find = async () => {
    timer = 0;
    if (ui.moving() || ui.playing) return later();
    ui.due.delete(find);
    const key = (asked = wanted());
    const answer = key ? await ui.ask("search", { query: search.value, k: ui.position.k }) : { ok: true };
    if (answer.stale) asked = "";
    if (key !== wanted()) return;
    results = key && answer.ok ? { key, rows: answer.rows, count: answer.count } : null;
    ui.changed();
  };
  const later = () => {
    clearTimeout(timer);
    ui.due.add(find);
    timer = setTimeout(find, 150);
  };
  // Enter explains the first token that was found, also one that is still being looked for.
  search.addEventListener("keydown", async (event) => {
    if (event.key !== "Enter" || !search.value || event.isComposing) return;
    event.preventDefault();
    if (!results || results.key !== wanted()) {
      clearTimeout(timer);
      await find();
    }
    if (results && results.rows.length) ui.look(results.rows[0].id);
  });
  search.addEventListener("input", () => {
    if (search.value) ui.selected = null; // The results take the place of the reason.
    later();
  });

  /** The name of the position if no model orders the tokens; empty if a model does. */
  const modelless = () => (ui.position && !ui.position.finished && ui.line.model === false ? pathKey(ui, ui.position.k) : "");
  let allowed = null; // {key, rows, count}
  const offAllowed = atRest(ui, "allowed", modelless, (answer, key) => (allowed = { key, ...answer }));
  const ahead = lookAhead(ui, el);
  let alike = new Set(); // the texts that several rows have
  const takes = (entry) => entry.allowed && ui.takes() && ui.position.k === (ui.line.index ?? ui.position.k);
  const row = (entry, largest, number) => {
    const masked = !entry.allowed;
    const taken = ui.position.taken && ui.position.taken.id === entry.id;
    const shown = ui.inside ? ui.inside.walk.token : ui.selected ?? ui.hover;
    const width = (p) => `width:${(100 * (p || 0)) / largest}%`;
    const name = masked ? "why is it masked?" : "why is it allowed?" + (takes(entry) ? ` Enter${number ? " or " + number : ""} takes it` : "");
    const take = takes(entry) ? h("button.quiet.take", { tabindex: -1, title: "take it" + (number ? ` (${number})` : " (Enter)"), onclick: (event) => {
      event.stopPropagation();
      event.currentTarget.closest(".lmx-row").focus({ preventScroll: true }); // The button is removed; the keys stay with its row.
      ui.take(entry.id);
    } }, "take") : null;
    return h("div.lmx-row" + (masked ? ".masked" : "") + (shown === entry.id ? ".sel" : "") + (taken ? ".taken" : ""), {
      role: "row", tabindex: -1, "data-token": entry.id, title: name,
      "aria-label": `${ui.text(entry.id)}: model ${percent(entry.model)}, filtered ${percent(entry.filtered)}, constrained ${percent(entry.constrained)} per cent${masked ? ", masked: " + (entry.reason || "") : ""}${taken ? ", taken" : ""}; ${name}`,
      onclick: () => ui.select(entry.id),
      onkeydown: (event) => usesKey(event) && event.key === "Enter" && (takes(entry) ? ui.take(entry.id) : ui.select(entry.id)),
      onfocus: (event) => roving(event.currentTarget),
      onmouseenter: () => !ui.inside && ui.point(entry.id),
      onmouseleave: () => !ui.inside && ui.point(null),
    },
    h("span.name", { role: "cell" }, h("span", {}, ui.token(entry.id), alike.has(ui.text(entry.id)) ? h("small.dim", { title: "its id: another token here looks the same" }, "\u00a0" + entry.id) : null)),
    h("span.pair", { role: "cell", "aria-hidden": "true", title: ahead.said(entry) }, h("b", { style: width(entry.model) }), h("u", { style: width(entry.constrained) }), ahead.bar(entry)),
    h("span.num", { role: "cell" }, percent(entry.model)),
    el.classList.contains("filtered") ? h("span.num", { role: "cell" }, percent(entry.filtered)) : null,
    h("span.num.c", { role: "cell" }, percent(entry.constrained)),
    h("span.why", { role: "cell", title: masked && !taken ? entry.reason : null }, taken ? h("span.took", { title: "rank in the model's own order" }, "taken" + (ui.position.rank ? ", #" + count(ui.position.rank) : "")) : masked ? entry.reason || (ui.position.numbers ? "" : "masked") : take));
  };

  // The rows are one stop of Tab; the arrows go from one to the other.
  const barsShown = () => [...el.querySelectorAll(".lmx-row[data-token]")];
  const roving = (to) => {
    for (const one of barsShown()) one.tabIndex = one === to ? 0 : -1;
  };
  ui.enterRows = () => (barsShown().find((one) => !one.tabIndex) || barsShown()[0])?.focus({ preventScroll: true });
  for (const list of [rows, found]) {
    list.dataset.keys = "ArrowDown ArrowUp Enter";
    list.addEventListener("keydown", (event) => {
      const by = usesKey(event) && { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!by) return;
      const all = barsShown();
      const next = all[all.indexOf(event.target.closest(".lmx-row")) + by];
      if (next) next.focus();
      event.preventDefault();
      event.stopPropagation();
    });
  }

  /** Put the reason below the row of its token, which pushes rows down and covers none; above all rows if its token has none. */
  let placed = "";
  const fit = () => {
    answer.hidden = panel.el.hidden;
    el.classList.toggle("answers", !answer.hidden);
    if (answer.hidden) return (placed = "");
    const row = [...el.querySelectorAll(`.lmx-row[data-token="${ui.selected}"]`)].pop();
    if (row ? row.nextSibling !== answer : rows.firstChild !== answer) {
      const focused = answer.contains(document.activeElement) ? document.activeElement : null;
      row ? row.after(answer) : rows.prepend(answer);
      if (focused) focused.focus({ preventScroll: true });
    }
    const now = [ui.selected, pathKey(ui, ui.position.k), panel.el.childElementCount].join("|");
    if (now === placed) return;
    placed = now;
    // In a list of fixed height the row and its reason come into view.
    requestAnimationFrame(() => {
      const [top, all, low] = [row || answer, el, answer].map((one) => one.getBoundingClientRect());
      const below = low.bottom - all.bottom;
      if (top.top < all.top) el.scrollTop -= all.top - top.top;
      else if (below > 0) el.scrollTop += Math.min(below, top.top - all.top) / zoomOf(el);
    });
  };

  let drawn = []; // what the rows were made of
  /** Draw the rows and figures again if something changed; otherwise only mark the row in view. */
  const update = () => {
    const p = ui.position;
    if (!p) return put(facts, h("p.dim", {}, "no position"));
    const only = ui.filter && ui.filter.pinned && ui.filter.path === pathKey(ui, p.k) ? ui.filter : null;
    const parts = [p, only, ui.vocabulary, results, ui.line.index, ui.gone, allowed];
    if (wanted() !== asked && !timer && !ui.gone) later();
    if (parts.some((part, i) => part !== drawn[i])) draw(p, only);
    else point();
    drawn = parts;
    edited.update();
    panel.update();
    fit();
  };
  const point = () => {
    const shown = String(ui.inside ? ui.inside.walk.token : ui.selected ?? ui.hover);
    for (const one of el.querySelectorAll(".lmx-row[data-token]")) one.classList.toggle("sel", one.getAttribute("data-token") === shown);
  };
  const draw = (p, only) => {
    const size = p.width || (ui.vocabulary && ui.vocabulary.size);
    const known = (value) => value !== null && value !== undefined;
    put(facts, h("b", {}, "Next token"), h("span.allowed", { title: meaning("allowed") }, h("b", {}, p.finished ? "0" : count(p.allowed)), p.finished ? " allowed: the text has ended" : size ? ` of ${count(size)} allowed` : " allowed"),
      known(p.z) && !p.finished ? h("span" + (p.z < 0.01 ? ".z.tiny" : ".z"), { title: meaning("mass") }, "keeps ", h("b", {}, percent(p.z) + " %")) : null,
      p.over_budget ? h("span", {}, count(p.over_budget) + " over the token budget") : null);
    more.hidden = !known(p.kl);
    if (!more.hidden) {
      put(figures, [["feasible mass", mass(p.z), "mass"], ["entropy", `${bits(p.entropy_before)} → ${bits(p.entropy_after)} bits`, "entropy"], ["KL", `${bits(p.kl)} bits`, "kl"]].map(([name, value, about]) =>
        [h("dt", {}, name, " ", h("b", {}, value)), h("dd", {}, meaning(about))]));
    }
    filtered.hidden = !only;
    if (only) {
      put(filtered, h("span", {}, "only: ", h("b", {}, only.reason), only.count > only.rows.length ? `, the likeliest ${only.rows.length} of ${count(only.count)}` : `, ${count(only.count)}`), h("button.quiet", { "aria-label": "show all tokens again", onclick: () => {
        ui.filter = null;
        ui.changed();
      } }, "✕"));
    }
    const listing = !p.finished && allowed && allowed.key === modelless() ? allowed : null;
    el.style.setProperty("--lmx-most", Math.min(size || MOST_HIGH, MOST_HIGH));
    ui.listed = listing ? listing.rows : p.top || [];
    const top = only ? only.rows : inOrder(ui.listed);
    el.classList.toggle("plain", !!listing);
    // After temperature and filters the numbers may be the model's own.
    const differs = top.some((entry) => percent(entry.filtered) !== percent(entry.model));
    el.classList.toggle("filtered", differs);
    const largest = Math.max(1e-9, ...(p.top || []).map((entry) => Math.max(entry.model || 0, entry.constrained || 0)));
    let number = 0;
    const head = h("div.lmx-row.head", { role: "row" }, ["token", "", "model", ...(differs ? ["filtered"] : []), "constr.", ""].map((name) => {
      const what = { model: "model", filtered: "filtered", "constr.": "constrained" }[name];
      return h("span" + (what ? ".num" : "") + (what === "constrained" ? ".c" : ""), { role: "columnheader", title: what ? meaning(what) : "" }, name);
    }));
    // The names get the room that the longest of them asks for, up to a share of the row.
    const wide = (text) => [...text].reduce((sum, letter) => sum + (letter > "\u2e80" ? 14 : 8.5), 13);
    const seen = new Set();
    alike = new Set([...top, ...(results ? results.rows : [])].map((entry) => ui.text(entry.id)).filter((text) => seen.has(text) || !seen.add(text)));
    const listed = [...top, ...(results ? results.rows : [])].map((entry) => wide(ui.text(entry.id)) + (alike.has(ui.text(entry.id)) ? 7 * String(entry.id).length + 7 : 0));
    el.style.setProperty("--lmx-names", Math.ceil(Math.max(0, ...listed)) + "px");
    const focused = rows.contains(document.activeElement) && document.activeElement.getAttribute("data-token");
    head.children[1].append(ahead.button());
    put(rows, p.finished ? h("p.dim", {}, "The text has ended.") : [head, top.map((entry) => row(entry, largest, entry.allowed ? ++number : 0)),
      listing && listing.count > number ? h("p.dim", {}, `the first ${number} of ${count(listing.count)} that are allowed; search finds the others`) : null]);
    if (focused) (rows.querySelector(`[data-token="${focused}"]`) || el.closest("[tabindex]"))?.focus({ preventScroll: true });
    search.hidden = !!p.finished;
    const fresh = results && results.key === wanted();
    put(found, fresh ? (results.rows.length ? results.rows.map((entry) => row(entry, largest, 0)) : h("p.dim", {}, "no such token")) : null,
      fresh && results.count > results.rows.length ? h("p.dim", {}, `the first ${results.rows.length} of ${count(results.count)} that hold it`) : null);
    roving(barsShown().find((one) => one.getAttribute("data-token") === (focused || String(ui.selected))) || barsShown()[0]);
  };
  const off = ui.on("change", update);
  update();
  return () => {
    clearTimeout(timer);
    offAllowed();
    ahead.off();
    off();
  };
}

/** Bars in their order, but the allowed ones after at most `MOST_BEFORE` masked ones, so that they are in view. */
function inOrder(bars) {
  const first = bars.findIndex(({ allowed }) => allowed);
  if (first <= MOST_BEFORE) return bars;
  const [before, after] = [bars.slice(0, MOST_BEFORE), bars.slice(MOST_BEFORE)];
  return [...before, ...after.filter(({ allowed }) => allowed), ...after.filter(({ allowed }) => !allowed)];
}
