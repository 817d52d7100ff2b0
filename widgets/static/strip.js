// The tokens of prompt and output, each in its box; forks as rows of their own.
//
// A click on the n-th output token goes to position n, after it. Surprisal has a hue of its own, so
// that it is never read as "masked"; marks say why a token is there: forced, chosen by hand, or
// where the model's own first choice was masked.

export function renderStrip({ model, el, ui = pageState(model) }) {
  island(el, "Tokens");
  const row = h("div.lmx-strip", { role: "list", "aria-label": "tokens" });
  const forks = h("div.lmx-forks");
  el.append(row, forks);

  const MARKS = {
    forced: ["=", "forced: the only token allowed"],
    user: ["✓", "chosen by hand"],
    intervention: ["≠", "the model's first choice was masked"],
  };
  const marks = (token) => {
    const out = [];
    if (token.forced) out.push("forced");
    if (token.by === "user") out.push("user");
    if (token.intervention) out.push("intervention");
    return out;
  };
  const depth = (x) => (x === null || x === undefined ? 0 : x < 0.7 ? 1 : x < 3 ? 2 : x < 7 ? 3 : 4);

  const update = () => {
    const strip = ui.line.strip || { prompt: [], tokens: [] };
    const k = ui.position ? ui.position.k : 0;
    const boxes = [];
    const prompt = strip.prompt || [];
    if (prompt.length > 12) boxes.push(h("span.dim", { title: "earlier prompt tokens" }, `… ${prompt.length - 12} more `));
    for (const token of prompt.slice(-12)) boxes.push(h("span.lmx-tok.prompt", { role: "listitem", title: "prompt" }, readable(token.text)));
    if (prompt.length) boxes.push(h("span.lmx-edge", { title: "the output begins", "aria-hidden": "true" }));
    strip.tokens.forEach((token, i) => {
      const notes = marks(token);
      const surprise = token.surprisal === null || token.surprisal === undefined ? "" : `, surprisal ${token.surprisal.toFixed(1)} bits`;
      const said = `token ${i + 1}: id ${token.id}${surprise}` + notes.map((n) => ", " + MARKS[n][1]).join("");
      boxes.push(h("button.lmx-tok" + (i >= k ? ".ahead" : "") + (i === k - 1 ? ".last" : ""), {
        role: "listitem", "data-k": i + 1, "data-token": token.id, title: said, "aria-label": `${token.text} ${said}`, class: null,
        "data-surprisal": depth(token.surprisal),
        onclick: () => ui.go(i + 1),
        onmouseenter: () => i === k && ui.point(token.id),
        onmouseleave: () => ui.point(null),
      }, token.eos ? h("span.special", {}, ui.text(token.id) || "EOS") : readable(token.text), notes.map((n) => h("sup", {}, MARKS[n][0]))));
    });
    if (ui.inside) {
      const walk = ui.inside.walk;
      const ahead = boxes.length && strip.tokens.length > k && strip.tokens[k].id === walk.token;
      const here = h("span.lmx-tok.here", { role: "listitem", "data-inside": ui.inside.byte },
        characters(walk.bytes).map((piece) => piece.at + piece.size <= ui.inside.byte ? piece.nodes : h("span.dim", {}, piece.nodes)));
      const at = boxes.length - strip.tokens.length + k;
      if (ahead) boxes.splice(at, 1, here);
      else boxes.splice(at, 0, here);
    }
    put(row, boxes.length ? boxes : h("span.dim", {}, "no tokens yet"));
    put(forks, (strip.forks || []).map((fork, i) => h("button.lmx-fork" + (fork.current ? ".current" : ""), {
      title: fork.current ? "this line" : "go to this line", onclick: () => ui.ask("switch", { fork: i }),
    }, h("span.dim", {}, fork.name + " "), (fork.tokens || []).slice(-24).map((t) => h("span.lmx-tok", {}, t.eos ? t.text || "EOS" : readable(t.text))))));
  };
  ui.go = ui.go || ((k) => ui.ask("jump", { k }));
  const off = ui.on("change", update);
  update();
  return off;
}
