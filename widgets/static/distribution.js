// What the model says here and what the mask makes of it: figures, bars, search, and the reason.
//
// Rows stay at their place by the model's own probability. A masked token is struck and hatched and
// carries its reason in two or three words; a click on it asks for the whole reason, a click on an
// allowed one takes it.

export function renderDistribution({ model, el, ui = pageState(model) }) {
  island(el, "Distribution");
  const facts = h("div.lmx-facts");
  const rows = h("div.lmx-rows", { role: "table", "aria-label": "next-token probabilities, per cent" });
  const search = h("input.lmx-find", { type: "search", placeholder: "find a token…", "aria-label": "find a token by text, bytes or id" });
  const found = h("div.lmx-rows");
  const why = h("div.lmx-why", { "aria-live": "polite" });
  el.append(facts, rows, search, found, why);

  let asked = 0;
  let results = null;
  search.addEventListener("input", async () => {
    const mine = ++asked;
    const query = search.value;
    if (!query) {
      results = null;
      return ui.changed();
    }
    await new Promise((done) => setTimeout(done, 150));
    if (mine !== asked) return;
    const answer = await ui.ask("search", { query, k: ui.position.k });
    if (mine === asked && answer.ok) {
      results = { key: pathKey(ui, ui.position.k), rows: answer.rows };
      ui.changed();
    }
  });

  const act = (entry, event) => {
    if (entry.allowed && ui.position.k === (ui.line.index ?? ui.position.k) && !event.shiftKey && !ui.gone) ui.take(entry.id);
    else ui.select(entry.id);
  };
  const row = (entry, largest, number) => {
    const masked = !entry.allowed;
    const taken = ui.position.taken && ui.position.taken.id === entry.id;
    const shown = ui.inside ? ui.inside.walk.token : ui.hover ?? ui.selected;
    const width = (p) => `width:${(100 * (p || 0)) / largest}%`;
    const name = masked ? "ask why it is masked" : "take it" + (number ? ` (key ${number})` : "");
    return h("div.lmx-row" + (masked ? ".masked" : "") + (shown === entry.id ? ".sel" : "") + (taken ? ".taken" : ""), {
      role: "row", tabindex: 0, "data-token": entry.id, title: name,
      "aria-label": `${ui.text(entry.id)}: model ${percent(entry.model)}, filtered ${percent(entry.filtered)}, constrained ${percent(entry.constrained)} per cent${masked ? ", masked: " + (entry.reason || "") : ""}${taken ? ", taken" : ""}; ${name}`,
      onclick: (event) => act(entry, event),
      onkeydown: (event) => event.key === "Enter" && act(entry, event),
      onmouseenter: () => !ui.inside && ui.point(entry.id),
      onmouseleave: () => !ui.inside && ui.point(null),
    },
    h("span.name", { role: "cell" }, ui.token(entry.id)),
    h("span.pair", { role: "cell", "aria-hidden": "true" }, h("b", { style: width(entry.model) }), h("u", { style: width(entry.constrained) })),
    h("span.num", { role: "cell" }, percent(entry.model)),
    h("span.num", { role: "cell" }, percent(entry.filtered)),
    h("span.num.c", { role: "cell" }, percent(entry.constrained)),
    h("span.why", { role: "cell" }, taken ? h("span.took", { title: "rank in the model's own order" }, "taken" + (ui.position.rank ? ", #" + count(ui.position.rank) : "")) : masked ? entry.reason || "masked" : ""));
  };

  const reason = (token) => {
    const told = ui.why(token);
    if (!told) return put(why, h("p.dim", {}, "…"));
    const walk = ui.walk(token);
    const boxes = [];
    if (walk && walk.bytes.length && !told.allowed) {
      // Whole characters where there are any; bytes in hexadecimal elsewhere.
      for (const [i, piece] of characters(walk.bytes).entries()) {
        const ends = piece.at + piece.size;
        const bad = walk.failed_at !== null && walk.failed_at !== undefined && walk.failed_at < ends;
        const rest = bad && walk.failed_at < piece.at;
        boxes.push(h("span." + (rest ? "rest" : bad ? "ko" : "ok"), { "data-box": i }, piece.nodes));
        if (boxes.length > 40) break;
      }
    }
    const title = h("h4", {}, "Why is ", ui.token(token), told.allowed ? " allowed?" : " masked?");
    const hints = told.hints || [];
    put(why, title, h("p.said", {}, told.message || ""), boxes.length ? h("div.boxes", {}, boxes) : null,
      expected(told), hints.slice(0, 4).map((hint) => h("p.dim", {}, hint)),
      told.nearest && told.nearest.length && !told.allowed ? h("p.dim", {}, "nearest: ", told.nearest.map((id) => ui.token(id))) : null);
  };
  const expected = (told) => {
    const span = (told.spans || [])[0];
    const pattern = ui.machine && ui.machine.pattern;
    if (!span || !pattern) return null;
    return h("p.dim", {}, told.allowed ? "Written by " : "Expected by ", underlinedPattern(pattern, told.spans));
  };

  const update = () => {
    const p = ui.position;
    if (!p) return put(facts, h("p.dim", {}, "no position"));
    const size = p.width || (ui.vocabulary && ui.vocabulary.size);
    const fact = (value, label, more = "") => h("div" + more, {}, h("b", {}, value), h("span", {}, label));
    put(facts,
      fact(count(p.allowed), size ? `allowed of ${count(size)}` : "allowed", ".allowed"),
      p.z === null || p.z === undefined ? null : fact(mass(p.z), "feasible mass", p.z < 0.01 ? ".z.tiny" : ".z"),
      p.entropy_before === null || p.entropy_before === undefined ? null : fact(`${bits(p.entropy_before)} → ${bits(p.entropy_after)}`, "entropy, bits"),
      p.kl === null || p.kl === undefined ? null : fact(bits(p.kl), "KL, bits"),
      p.over_budget ? fact(count(p.over_budget), "over the token budget") : null);
    const top = p.top || [];
    const largest = Math.max(1e-9, ...top.map((entry) => Math.max(entry.model || 0, entry.constrained || 0)));
    let number = 0;
    const head = h("div.lmx-row.head", { role: "row" }, ["token", "", "model", "filtered", "constr.", ""].map((name, i) =>
      h("span" + (i > 1 && i < 5 ? ".num" : "") + (i === 4 ? ".c" : ""), { role: "columnheader", title: ["", "", "the model's own probability, %", "after temperature and filters, %", "under the constraint, %", ""][i] }, name)));
    const focused = rows.contains(document.activeElement) && document.activeElement.getAttribute("data-token");
    put(rows, p.finished ? h("p.dim", {}, "The text has ended.") : [head, top.map((entry) => row(entry, largest, entry.allowed ? ++number : 0))]);
    if (focused) rows.querySelector(`[data-token="${focused}"]`)?.focus({ preventScroll: true });
    search.hidden = !!p.finished;
    const fresh = results && results.key === pathKey(ui, p.k);
    put(found, fresh ? (results.rows.length ? results.rows.map((entry) => row(entry, largest, 0)) : h("p.dim", {}, "no such token")) : null);
    why.hidden = p.finished || ui.selected === null;
    if (!why.hidden) reason(ui.selected);
  };
  ui.takeNth = (n) => {
    const entry = ((ui.position && ui.position.top) || []).filter((one) => one.allowed)[n - 1];
    if (entry && !ui.gone) ui.take(entry.id);
  };
  const off = ui.on("change", update);
  update();
  return off;
}

/** A pattern with spans underlined; offsets are in characters, not in UTF-16 units. */
function underlinedPattern(pattern, spans) {
  const chars = [...pattern];
  const marked = new Uint8Array(chars.length + 1);
  for (const [start, end] of spans || []) marked.fill(1, start, end);
  const out = h("code.pattern");
  for (let i = 0; i < chars.length; ) {
    let j = i;
    while (j < chars.length && marked[j] === marked[i]) j++;
    const text = chars.slice(i, j).join("");
    out.append(marked[i] ? h("span.expect", {}, text) : text);
    i = j;
  }
  return out;
}
