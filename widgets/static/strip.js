// The tokens of prompt and output, each in its box; forks as rows of their own.
//
// A click on an output token goes to the position where it was chosen. Surprisal has a hue of its own, so
// that it is never read as "masked"; marks say how a token was chosen: forced, by hand, or after
// the model's own first choice was masked.

export function renderStrip({ model, el, ui = pageState(model) }) {
  island(el, "Tokens");
  const row = h("div.lmx-strip", { role: "list", "aria-label": "tokens" });
  const forks = h("div.lmx-forks");
  const traps = trapMarks(ui);
  const phases = () => (phases.made ??= phaseBands(ui, row));
  const signs = h("p.dim.lmx-signs"); // The signs that are in the line, where there is room for them.
  el.append(row, forks, ui.foot ? "" : signs);
  const inner = sizeOf(row, ui.changed);
  row.addEventListener("scroll", () => row.classList.toggle("more-left", row.scrollLeft > 2));
  (el.closest(".lmx-bar") || el).append(traps.panel);

  scrubs(ui, row, () => boxes.map((one) => one.el));

  const MARKS = ["forced", "user", "intervention", "again", "accepted", "rejected", "bridge", "fixed"];
  const marks = (token) => MARKS.filter((name) => (name === "user" ? token.by === name : name === "rejected" ? token.rejected !== undefined : token[name]));
  const depth = (x) => (x === null || x === undefined ? 0 : x < 0.7 ? 1 : x < 3 ? 2 : x < 7 ? 3 : 4);

  // Boxes are made once. A step adds one and marks another; of a long run nothing else is touched.
  let boxes = []; // of output tokens: {el, token, parted}
  let head = { prompt: null, nodes: [] };
  let beside = null; // the forks that are drawn
  const box = (token, i) => {
    const notes = marks(token);
    const parted = ui.parted === i; // The first token in which two compared lines differ.
    if (parted) notes.push("parted");
    const surprise = token.surprisal === null || token.surprisal === undefined ? "" : `, surprisal ${token.surprisal.toFixed(1)} bits`;
    const said = `token ${i + 1}, chosen at position ${i}: id ${token.id}${surprise}` + notes.map((n) => ", " + MEANINGS[n][1]).join("") + (token.rejected === undefined ? "" : `: ${token.rejected}`);
    const el = h("button.lmx-tok" + (parted ? ".parted" : ""), {
      role: "listitem", "data-k": i + 1, "data-token": token.id, title: said, "aria-label": `${token.text} ${said}`,
      "data-surprisal": depth(token.surprisal),
      onclick: () => ui.go(i),
      onmouseenter: () => ui.position && i === ui.position.k && ui.point(token.id),
      onmouseleave: () => ui.point(null),
    }, token.eos ? h("span.special", {}, ui.text(token.id) || "EOS") : readable(token.text), notes.map((n) => h("sup", {}, MEANINGS[n][0])));
    return { el, token, parted, notes, said: token.eos ? ui.text(token.id) : "", place: "" };
  };
  const same = (one, token, i) =>
    (one.token === token || JSON.stringify(one.token) === JSON.stringify(token)) &&
    one.parted === (ui.parted === i) && (!token.eos || one.said === ui.text(token.id));
  /** Make an element hold these nodes, moving none that is in its place already. */
  const arrange = (el, nodes) => {
    nodes.forEach((node, i) => el.childNodes[i] !== node && el.insertBefore(node, el.childNodes[i] || null));
    while (el.childNodes.length > nodes.length) el.lastChild.remove();
  };
  const leading = (prompt, healed) => {
    const nodes = [];
    const most = ui.foot ? 4 : 12; // Beside Step, the text needs the room.
    if (prompt.length > most) nodes.push(h("span.dim", { title: `${prompt.length - most} earlier tokens of the prompt` }, "…"));
    for (const token of prompt.slice(-most)) nodes.push(h("span.lmx-tok.prompt" + (token.begins ? ".begins" : ""), { role: "listitem", title: token.begins ? MEANINGS.begins[1] : "prompt" }, readable(token.text), token.begins ? h("sup", {}, MEANINGS.begins[0]) : null));
    if (healed) nodes.push(h("span.lmx-tok.prompt.healed", { role: "listitem", title: "taken back from the prompt: the output begins with this text" }, readable(healed), h("sup", {}, "↶")));
    if (prompt.length) nodes.push(h("span.lmx-edge", { title: "the output begins", "aria-hidden": "true" }));
    return nodes;
  };

  let followed = "";
  /** Scroll so that the newest token is at the right, or the position that one went back to in view; only a move scrolls. This
   * waits for the next frame, because places are known only after layout. */
  const follow = (k) => {
    const key = [k, row.childElementCount, boxes.length, inner.width].join("|");
    if (key === followed) return;
    followed = key;
    requestAnimationFrame(() => key === followed && scroll(k));
  };
  const scroll = (k) => {
    const rest = boxes.length - k;
    if (rest <= 0 || !boxes.length) row.scrollLeft = row.scrollWidth;
    else {
      const [box, all, by] = [(boxes[k] || boxes[0]).el.getBoundingClientRect(), row.getBoundingClientRect(), zoomOf(row)];
      const middle = (box.left + box.right - all.left - all.right) / 2 / by;
      if (box.right > all.right || box.left < all.left + 60) row.scrollLeft += middle;
    }
    row.classList.toggle("more-left", row.scrollLeft > 2);
  };

  let ended = { strip: null, nodes: [] };
  /** The token that a run from elsewhere wrote next, and that the constraint does not allow. */
  const finding = (one) => {
    const more = one.unread ? `; ${count(one.unread)} more ids were not read` : "";
    const said = `token ${one.at + 1}: id ${one.id}, not allowed: ${one.reason}${more}`;
    return [
      h("button.lmx-tok.rejected", {
        role: "listitem", "data-rejected": one.id, title: said, "aria-label": `${one.text} ${said}`,
        onclick: async () => {
          await ui.go(one.at);
          ui.select(one.id);
        },
        onmouseenter: () => ui.position && one.at === ui.position.k && ui.point(one.id),
        onmouseleave: () => ui.point(null),
      }, readable(one.text), h("sup", {}, "✗")),
      h("span.dim", {}, ` ${one.reason}${one.unread ? `, +${count(one.unread)}` : ""}`),
    ];
  };

  const next = h("input.lmx-tok.next", { placeholder: "?", title: "the next token; a text that is written here is taken up to its first masked letter", "aria-label": "write what you want",
    onkeydown: async (event) => {
      if (event.key === "Escape") next.closest("[tabindex]").focus({ preventScroll: true });
      if (event.key !== "Enter" || !next.value || event.isComposing) return;
      event.preventDefault();
      const [text, seen] = [next.value, ui.sight()];
      ui.selected = ui.inside = null;
      const answer = await ui.turn(() => ui.ask("write", { text, seen }));
      if (!answer.ok) return;
      next.value = "";
      if (answer.masked !== null) ui.look ? ui.look(answer.masked) : ui.select(answer.masked);
    } });
  const slot = h("span", { role: "listitem" }, next);
  let held = []; // what the row and the marks in it were made of
  const update = () => {
    const strip = ui.line.strip || { prompt: [], tokens: [] };
    const k = ui.position ? ui.position.k : 0;
    if (head.prompt !== strip.prompt || head.healed !== strip.healed) head = { prompt: strip.prompt, healed: strip.healed, nodes: leading(strip.prompt || [], strip.healed) };
    boxes.length = Math.min(boxes.length, strip.tokens.length);
    strip.tokens.forEach((token, i) => {
      if (!boxes[i] || !same(boxes[i], token, i)) boxes[i] = box(token, i);
      boxes[i].token = token;
      const place = i >= k ? "ahead" : i === k - 1 ? "last" : "";
      if (boxes[i].place === place) return;
      boxes[i].place = place;
      boxes[i].el.classList.toggle("ahead", place === "ahead");
      boxes[i].el.classList.toggle("last", place === "last");
    });
    const own = boxes.map((one) => one.el);
    const line = strip.phases || phases.made ? phases().arrange(strip.phases, own, k, update) : own;
    const nodes = [...head.nodes, ...line];
    if (ended.strip !== strip) ended = { strip, nodes: strip.rejected ? finding(strip.rejected) : [] };
    if (ui.inside) {
      const walk = ui.inside.walk;
      const ahead = strip.tokens.length > k && strip.tokens[k].id === walk.token;
      const place = ahead ? nodes.indexOf(own[k]) : nodes.indexOf(own[k - 1]) + 1 || head.nodes.length;
      nodes.splice(place < 0 ? nodes.length : place, ahead && place >= 0 ? 1 : 0, h("span.lmx-tok.here", { role: "listitem", "data-inside": ui.inside.byte },
        characters(walk.bytes).map((piece) => piece.at + piece.size <= ui.inside.byte ? piece.nodes : h("span.dim", {}, piece.nodes))));
    }
    nodes.push(...ended.nodes);
    if (ui.foot && ui.position && !ui.position.finished && !ui.inside && k === own.length && !ended.nodes.length) nodes.push(slot);
    next.disabled = ui.gone || !!model.get("replay");
    const now = [ui.traps, traps.open(), ui.vocabulary, ...nodes];
    if (now.length !== held.length || now.some((one, i) => one !== held[i])) {
      held = now;
      for (const mark of row.querySelectorAll(".lmx-trapmark")) mark.remove();
      arrange(row, nodes.length ? nodes : [h("span.dim", { role: "listitem" }, "no tokens yet")]);
      traps.mark(row);
    }
    follow(k);
    say(signs, [...new Set(boxes.flatMap(({ notes }) => notes))].map((note) => MEANINGS[note].join(" ")).join("; "));
    const lines = strip.forks || [];
    const shown = lines.length ? [lines, strip.tokens] : [];
    if (beside && beside.length === shown.length && beside.every((one, i) => one === shown[i])) return;
    beside = shown;
    put(forks, lines.map((fork, i) => h("button.lmx-fork" + (fork.current ? ".current" : ""), {
      title: fork.current ? "this line" : "go to this line", onclick: () => ui.turn(() => {
        // By its name: a press before this one may have put it in another place.
        const line = (ui.line.strip.forks || []).findIndex((one) => one.name === fork.name);
        return line < 0 ? ui.remark(`Not done: ${fork.name} is no longer kept.`) : ui.ask("switch", { line });
      }),
    }, h("span.dim", {}, fork.name + " "), (fork.current ? strip.tokens : fork.tokens || []).slice(-24).map((t) => h("span.lmx-tok", {}, t.eos ? t.text || "EOS" : readable(t.text))))));
  };
  const off = ui.on("change", update);
  update();
  return () => {
    inner.end();
    off();
    traps.off();
  };
}

const DRAGS = 5; // The pixels from which a press is a drag.

/** Let a pointer that is dragged along the text take the position with it, and with that every machine: it goes to the place
 * between two tokens that is nearest. Places that the pointer has left before they were shown are left out. */
function scrubs(ui, row, boxes) {
  let begin = null;
  let wanted = null;
  let going = false;
  const go = async (k) => {
    wanted = k;
    if (going) return;
    going = true;
    while (ui.position && wanted !== ui.position.k && (await ui.go(wanted)).ok !== false);
    going = false;
  };
  row.addEventListener("pointerdown", (event) => {
    if (event.button === 0 && event.pointerType === "mouse") begin = event.clientX;
  });
  row.addEventListener("pointermove", (event) => {
    if (begin === null || !(event.buttons & 1)) return (begin = null);
    const drags = row.hasPointerCapture(event.pointerId);
    if (!drags && Math.abs(event.clientX - begin) < DRAGS) return;
    if (!drags) row.setPointerCapture(event.pointerId); // So its end is no click on a token.
    pointer.until = 0;
    go(boxes().filter((box) => {
      const { left, right } = box.getBoundingClientRect();
      return event.clientX > (left + right) / 2;
    }).length);
  });
}
