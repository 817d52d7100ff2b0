// The texts of several ways of constraining under each other, token by token; a click opens that step in an
// explorer below. The rows are one stop of the tab key; arrows go from box to box.

/** A box: the token, below it its bits, and signs for how it came about. */
function schemeBox(token, row, k) {
  const signs = ["parted", "bridge", "fixed"].filter((name) => token[name]);
  if (token.missed) signs.push("intervention");
  const perplexity = 2 ** token.bits;
  const said = `token ${k + 1}, id ${token.id}: ${token.bits.toFixed(1)} bits, perplexity ${perplexity < 1000 ? perplexity.toFixed(2) : count(Math.round(perplexity))}` +
    signs.map((name) => ", " + (name === "parted" ? "the first token that differs from the model alone" : MEANINGS[name][1])).join("");
  const bits = token.bits;
  return h("button.lmx-tok.lmx-box" + signs.map((name) => "." + name).join(""), {
    tabindex: -1, "data-row": row, "data-k": k, "data-token": token.id, title: said, "aria-label": `${token.text} ${said}; open this step`,
    "data-surprisal": bits < 0.01 ? 0 : bits < 0.7 ? 1 : bits < 3 ? 2 : bits < 7 ? 3 : 4,
  }, h("span", {}, token.eos ? h("span.special", {}, token.text) : readable(token.text)), h("small", {}, bits.toFixed(1), signs.map((name) => h("sup", {}, MEANINGS[name][0]))));
}

export function renderInvasiveness({ model, el }) {
  const root = h("div.lmx-root.lmx-invasive");
  el.append(root);
  island(root, "Invasiveness: what each way of constraining makes of one prompt");
  const ui = pageState(model, ["words"]);
  const around = frame(model, root, ui);
  const about = h("span.chip");
  const prompt = h("textarea", { rows: 1, spellcheck: "false", "aria-label": "prompt" });
  const temperature = h("input", { type: "number", min: 0, max: 4, step: 0.1 });
  const seed = h("input", { type: "number", min: 0, step: 1 });
  const write = async () => {
    const answer = await ui.ask("schemes", { prompt: prompt.value, temperature: Number(temperature.value), seed: Number(seed.value) }, { doing: "writing the rows" });
    if (answer.ok) ui.announce("The rows are written.");
  };
  const button = h("button.p", { onclick: write, title: "write every row anew, with the same random numbers" }, "write");
  const rows = h("div.lmx-schemes", { role: "group", "aria-label": "Schemes; arrows go from token to token, Enter opens a step" });
  const below = h("div.lmx-opened", { hidden: true });
  const shut = h("button.quiet", { onclick: () => ((below.hidden = true), boxAt(...spot)?.focus()) }, "close the explorer");
  const title = h("b");
  root.append(
    h("div.lmx-top", {}, h("b", {}, "Invasiveness"), about, h("div.sp"), around.size, around.keys),
    around.listed, around.note, around.tasks, around.failure,
    h("div.lmx-ask-rows", {}, h("label.lmx-grow", {}, "prompt", prompt), h("label", {}, "temperature ", temperature), h("label", {}, "seed ", seed), button),
    rows, legend(), below, around.live);
  below.append(h("div.lmx-top", {}, title, h("div.sp"), shut));
  const inner = h("div.lmx-inner");
  below.append(inner);

  let spot = [0, 0]; // row and token of the one box that the tab key reaches
  const boxAt = (row, k) => rows.querySelector(`.lmx-box[data-row="${row}"][data-k="${k}"]`);
  const given = () => model.get("schemes") || { rows: [] };
  const reach = (row, k) => {
    const old = boxAt(...spot);
    if (old) old.tabIndex = -1;
    spot = [row, k];
    const now = boxAt(row, k);
    if (now) now.tabIndex = 0;
    return now;
  };
  let undo = null;
  const open = async (row, k) => {
    reach(row, k);
    const answer = await ui.ask("open", { row, k });
    if (!answer.ok) return;
    say(title, `${given().rows[row].name}, token ${k + 1}`);
    below.hidden = false;
    if (!undo) {
      ui.want("machine");
      ui.want("around");
      undo = renderExplorer({ model, el: inner, ui });
    }
    ui.announce(`${given().rows[row].name}, token ${k + 1}: opened in the explorer below.`);
  };
  rows.addEventListener("click", (event) => {
    const box = event.target.closest(".lmx-box");
    if (box) open(Number(box.dataset.row), Number(box.dataset.k));
  });
  rows.dataset.keys = "ArrowLeft ArrowRight ArrowUp ArrowDown Home End";
  rows.addEventListener("keydown", (event) => {
    if (!usesKey(event)) return;
    const by = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    const all = given().rows;
    let [row, k] = spot;
    if (event.key === "Home") k = 0;
    else if (event.key === "End") k = Infinity;
    else if (by) {
      [row, k] = [row + by[0], k + by[1]];
      while (all[row] && !all[row].tokens.length) row += by[0]; // A scheme that failed has no box.
      if (!all[row]) row = spot[0];
    }
    else return;
    event.preventDefault();
    event.stopPropagation();
    row = Math.max(0, Math.min(all.length - 1, row));
    k = Math.max(0, Math.min(all[row].tokens.length - 1, k));
    const box = reach(row, k);
    if (box) box.focus();
  });

  let drawn = null;
  const draw = (packet) => {
    drawn = packet;
    prompt.value = packet.prompt;
    prompt.rows = Math.min(4, packet.prompt.split("\n").length);
    temperature.value = packet.temperature;
    seed.value = packet.seed;
    put(rows, packet.rows.map((row, i) => {
      const numbers = row.failed ? [] : [row.note, `perplexity ${row.perplexity < 1000 ? row.perplexity.toFixed(2) : count(Math.round(row.perplexity))}`].filter(Boolean);
      if (i && !row.failed) numbers.push(`${Math.round(100 * row.interventions)} % interventions`);
      if (row.bridges !== null) numbers.push(`${row.bridges} bridge${row.bridges === 1 ? "" : "s"}`);
      return h("section.lmx-scheme", { role: "group", "aria-label": `${row.name}: ${[numbers.join(", "), row.said].filter(Boolean).join("; ")}`, "data-scheme": row.name },
        h("header", {}, h("h4", {}, row.name), h("span", {}, numbers.join(" · ")), h("span.said" + (row.violation === null && !row.failed ? "" : ".no"), {}, row.said)),
        h("div.lmx-boxes", {}, row.tokens.map((token, k) => schemeBox(token, i, k)), row.finished ? null : h("span.dim", {}, "… cut off")));
    }));
    spot = [0, 0];
    reach(0, 0);
  };
  const update = () => {
    const packet = given();
    if (packet.rows && packet !== drawn) draw(packet);
    say(about, model.get("about") || "");
    for (const one of [button, prompt, temperature, seed]) one.disabled = ui.gone;
    // The box of the step that the explorer shows, as long as its line is this row's.
    const [row, k] = [model.get("opened"), ui.position ? ui.position.k : -1];
    const tokens = ui.tokens();
    const shown = row >= 0 && !below.hidden ? given().rows[row] : null;
    const same = shown && shown.tokens.slice(0, k + 1).every((token, i) => tokens[i] && tokens[i].id === token.id);
    for (const old of rows.querySelectorAll("[aria-current]")) old.removeAttribute("aria-current");
    const box = same && boxAt(row, k);
    if (box) box.setAttribute("aria-current", "true");
  };
  const changed = () => ui.changed();
  model.on("change:schemes", changed);
  model.on("change:opened", changed);
  const off = ui.on("change", update);
  update();
  return () => {
    off();
    if (model.off) {
      model.off("change:schemes", changed);
      model.off("change:opened", changed);
    }
    if (undo) undo();
    around.end();
  };
}
