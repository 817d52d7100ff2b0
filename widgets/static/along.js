// The three machines along the text: a column is a character of it. Read downwards it holds a state of the FSA, a
// state of the FST, which is unrolled, and their pair; where a token ends, the pair is a state of the token DFA.
//
// The kernel sends the columns with each position (`figures/panels/along.py`), so this is drawn with the numbers.

const NARROWEST = 58; // The least width of a column.
const LETTER = 7.3; // The width of a letter of a label.
const RING = 13;
const FIRST = 46; // The place of the first column.
const ROWS = { fsa: 3, fst: 5, pairs: 3 }; // The rows of each machine, whether they are needed or not: so that a step moves nothing.
const APART = { fsa: 30, fst: 26, pairs: 27 }; // The distance between them.
const SMALLEST = 0.64; // On a projector, which enlarges all, it is drawn so small that all of it is in view;
const LARGEST = 1.8; // in a high window it is drawn so much larger,
const WIDTH = 400; // if so much of it is in view.
const LANES = [["fsa", "Character FSA", "reads characters"], ["fst", "Detokenizing FST", "each token writes its characters"], ["pairs", "Token DFA = FSA ∘ FST", "their pair; where a token ends, its state"]];
const SAID = 34; // The most letters of a reason.

/** The name of a machine: with a stack it is not finite. */
const machineTitle = (ui, title) => (ui.position && ui.position.stack ? title.replace(/FSA|DFA/g, "PDA") : title);

/** The pair that a walk leads to; null if its token is masked. */
const pairOf = (lit) => {
  const { target } = formOf(lit, "characters");
  return target ? (target === "done" ? "end" : target.slice(1)) : null;
};
/** The label of a state of the FST after some letters of a token. */
const prefixOf = (letters) => (letters.length > 3 ? "…" : "") + letters.slice(letters.length > 3 ? -2 : 0).join("");

/** The letters of a token that is looked at, up to the one where it fails: the states that each leads to. */
function lettersOf({ bytes, failed_at: failed, lit, allowed }) {
  const { steps } = formOf(lit, "characters");
  const pair = pairOf(lit);
  const pieces = characters(bytes).map(({ nodes, at, size }) => ({ text: nodes.map((one) => one.textContent ?? one).join(""), end: at + size }));
  if (!pieces.length) return { letters: [{ text: "ε", fails: !allowed, fsa: "", fst: "end" }], pair };
  const all = pieces.map(({ text, end }, i) => ({
    text,
    fails: failed !== null && failed < end,
    fsa: (steps[end - 1]?.[1].find((name) => name[0] === "c") || "").slice(1),
    fst: end === bytes.length ? "r" : prefixOf(pieces.slice(0, i + 1).map((one) => one.text)),
  }));
  const stop = all.findIndex((one) => one.fails);
  return { letters: stop < 0 ? all : all.slice(0, stop + 1), pair };
}

/** The columns up to the present place; in slow motion those of the letters of a token that are written. */
function columnsOf(ui) {
  const sent = ui.position.along;
  const columns = sent.text.map((text, i) => ({ text, reads: sent.reads[i], writes: sent.writes[i] }));
  const states = sent.fsa.map((fsa, i) => ({ fsa, fst: sent.fst[i], pair: sent.pairs[i] }));
  const tokens = sent.tokens.map(([from, to, text, others]) => ({ from, to, text, others }));
  const inside = ui.inside;
  if (!inside) return { columns, states, tokens };
  const { walk, byte } = inside;
  const { steps } = formOf(walk.lit, "characters");
  const begin = states.length - 1;
  for (let i = 0; i < byte; i++) {
    const last = i === walk.labels.length - 1;
    const node = steps[i][1].find((name) => name[0] === "c");
    columns.push({ text: walk.labels[i], reads: walk.labels[i], writes: `${last ? walk.text : "ε"} : ${walk.labels[i]}` });
    states.push({ fsa: node ? node.slice(1) : "", fst: last ? "r" : prefixOf(walk.labels.slice(0, i + 1)), pair: last ? pairOf(walk.lit) : null });
  }
  if (byte >= walk.labels.length) tokens.push({ from: begin, to: begin + byte, text: walk.text, others: 0 });
  return { columns, states, tokens };
}

/** The tokens ahead, one row each: allowed ones, then masked ones. Those that fail at the same letter share a row. */
function rowsAhead(ui) {
  const { ahead } = ui.position.along;
  const reasons = new Map((ui.position.top || []).map(({ id, reason }) => [id, reason]));
  const rows = [];
  for (const one of ahead) {
    const allowed = one.pair !== null;
    const length = allowed || one.fails === null ? one.text.length : one.fails + 1;
    const key = allowed ? "" : one.text.slice(0, length).join(" ") + (one.fails === null ? one.id : "");
    const same = key && rows.find((row) => row.key === key);
    if (same) same.ids.push(one.id);
    else rows.push({ ...one, name: short(ui.text(one.id) || one.text.join(""), 10), key, allowed, length: Math.min(length, one.text.length), ids: [one.id], reason: reasons.get(one.id) || "" });
  }
  return [...rows.filter(({ allowed }) => allowed), ...rows.filter(({ allowed }) => !allowed)];
}

/** Elements of a drawing that stay as long as they say the same: `take` moves one that is there already, or makes one;
 * `end` removes what was not taken again. To lay a text out anew costs more than to move it. */
function lasting(layer) {
  let [before, now] = [new Map(), new Map()];
  return {
    take(key, x, y, make) {
      const one = before.get(key)?.pop() || layer.appendChild(make());
      mark(one, "transform", `translate(${x},${y})`);
      now.set(key, [...(now.get(key) || []), one]);
      return one;
    },
    end() {
      for (const rest of before.values()) for (const one of rest) one.remove();
      [before, now] = [now, new Map()];
    },
  };
}

/** The drawing along the text. */
function alongText(ui) {
  const scroller = h("div.lmx-graph.lmx-columns-of", { tabindex: 0, role: "group", "aria-label": "the machines along the text" });
  // The names of the lanes stay where they are when the text is scrolled.
  const titles = LANES.map(([name, title, about]) => h("div.lane", { "data-lane": name }, h("b", {}, title), h("span.dim", {}, " " + about)));
  const box = h("section.lmx-along", { "aria-label": "Along the text", title: "each column: a state of the FSA, of the FST, and their pair", hidden: true }, h("div.lanes", {}, scroller, titles));
  let drawn = [];
  const inner = sizeOf(scroller, ui.changed);
  const id = "lmx-a" + ++serial;
  const arrow = (name) => s("marker", { id: `${id}-${name}`, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, markerUnits: "userSpaceOnUse", orient: "auto" }, s("path.m-" + name, { d: "M0,0.6 L8,4 L0,7.4 z" }));
  const here = s("rect.here", { y: 20, width: 48, rx: 8 });
  const back = s("g", {}, here);
  const behind = lasting(back);
  // The path so far, what is ahead, and the path of a token that is looked at: it is drawn over what is ahead, which fades.
  const stage = (name) => {
    const parts = { lines: s("g"), words: s("g.words"), rings: s("g") };
    const kept = Object.fromEntries(Object.entries(parts).map(([part, el]) => [part, lasting(el)]));
    return { ...kept, el: s("g." + name, {}, Object.values(parts)), end: () => Object.values(kept).forEach((one) => one.end()) };
  };
  const [sofar, coming, looked] = ["sofar", "coming", "looked"].map(stage);
  const fan = coming.el.appendChild(s("g"));
  const svg = s("svg", { role: "img" }, s("defs", {}, ["g", "past", "ko"].map(arrow)), back, sofar.el, coming.el, looked.el);
  let on = sofar; // What is drawn now.
  // Each is drawn around its own place, so that it can be moved as it is.
  const word = (x, y, text, kind = "", about = null) => on.words.take(`${kind}|${text}|${about}`, x, y, () => s("g", {}, labelled(kind, 0, 0, text, about ? s("title", {}, about) : null)));
  const line = (x, y, d, kind, about) => on.lines.take(`${kind}|${d}|${about}`, x, y, () => s("g.a" + (kind === "g" ? "" : "." + kind), {}, s("title", {}, about || ""), s("path.line", { d, "marker-end": `url(#${id}-${kind})` })));
  const straight = (from, to, y, kind, about, room = RING) => line(from, y, `M${room},0 L${to - from - room - 1},0`, kind, about);
  const ring = (x, y, label, kind, about) => on.rings.take(`o|${label}|${kind}|${about}`, x, y, () => s("g.n" + kind, { "data-label": label }, s("title", {}, about), s("circle", { r: RING }), s("text", { y: 4 }, label)));
  const stadium = (x, y, label, kind, about) => {
    const half = Math.max(RING, [...label].length * LETTER * 0.5 + 6);
    return on.rings.take(`()|${label}|${kind}|${about}`, x, y, () => s("g.n" + kind, { "data-label": label }, s("title", {}, about), s("rect", { x: -half, y: 1 - RING, width: 2 * half, height: 2 * RING - 2, rx: RING - 1 }), s("text", { y: 4 }, label)));
  };

  const pill = (state, prefix) => (state === "end" ? "end" : `${state},${prefix}`);
  /** An arc of the token DFA over so many columns. */
  const leap = (from, to, far, y, kind, text, about) => {
    const up = far ? 12 + 4 * Math.min(far, 4) : 0;
    const lit = kind === "past" ? ".lit" : kind === "ko" ? ".ko" : "";
    const reach = to - from - 16;
    const most = far < 2 ? Math.max(4, Math.floor((to - from - 2 * RING) / LETTER)) : Infinity;
    word((from + to) / 2, far < 2 ? y - 9 : y - RING - up * 0.75 - 3, short(text, most), lit, about);
    return far < 2 ? line(from, y, `M${RING + 6},0 L${to - from - RING - 8},0`, kind, about) : line(from + 8, y - RING, `M0,0 C24,${-up} ${reach - 24},${-up} ${reach},0`, kind, about);
  };

  let place = null; // Where a token begins: {x, middle}.
  let [taken, asked] = [null, null]; // What a motion follows: the elements of the last token's path, and of the one that is looked at.
  let ghosted = null;
  /** The path of the token that is looked at, in all three machines, up to the letter where it fails. */
  const ghost = () => {
    const shown = ui.inside ? null : ui.shown();
    const walk = shown && shown.walk;
    if (walk === ghosted) return;
    ghosted = walk;
    on = looked;
    svg.classList.toggle("ghosted", !!walk);
    for (const row of fan.children) row.classList.toggle("sel", !!shown && row.dataset.ids.split(" ").includes(String(shown.token)));
    if (walk) {
      const { letters, pair } = lettersOf(walk);
      const { middle } = place;
      let { x } = place;
      const begin = x;
      asked = { letters: [], pair: null };
      letters.forEach(({ text, fails, fsa, fst }, i) => {
        const label = short(`${i === letters.length - 1 ? short(walk.text, 10) : "ε"} : ${text}`, 16);
        const z = x + Math.max(NARROWEST, label.length * LETTER + 2 * RING + 8);
        const kind = fails ? "ko" : "past";
        const lit = fails ? ".ko" : ".lit";
        const one = { text, fails, paths: [], lit: [word((x + z) / 2, 16, text, ".char" + (fails ? ".ko" : ""))], rings: [] };
        for (const [lane, said, state] of [["fsa", text, fsa || "·"], ["fst", label, fst]]) {
          one.paths.push(straight(x, z, middle[lane], kind, said).querySelector("path"));
          word((x + z) / 2, middle[lane] - 7, said, lit);
          if (fails) one.lit.push(word(z - 5, middle[lane] + 5, "✗", ".cross"));
          else one.rings.push(ring(z, middle[lane], state, ".past", state));
        }
        asked.letters.push(one);
        x = z;
      });
      leap(begin, x, letters.length, middle.pairs, pair === null ? "ko" : "past", short(walk.text, 12), walk.text);
      if (pair === null) word(x - 5, middle.pairs + 5, "✗", ".cross");
      else stadium(x, middle.pairs, pill(pair, "r"), ".past", `state ${pair} of the token DFA`);
      const reason = pair === null && (ui.position.top || []).find(({ id }) => id === shown.token)?.reason;
      if (reason) word(x + 12, middle.fsa + 4, short(reason, SAID), ".said.ko");
    }
    looked.end();
  };

  const draw = () => {
    on = sofar;
    const { columns, states, tokens } = columnsOf(ui);
    const last = states.length - 1;
    const inside = !!ui.inside;
    const { next, left_out: leftOut } = ui.position.along;
    const levels = inside ? [] : next;
    const every = inside ? [] : rowsAhead(ui);
    const able = every.filter(({ allowed }) => allowed).slice(0, ROWS.fsa);
    const rows = [...able, ...every.filter(({ allowed }) => !allowed).slice(0, ROWS.fst - able.length)];
    const goals = [...new Map(rows.filter((row) => row.allowed && row.length).map((row) => [row.length + " " + row.pair, row])).values()].slice(0, ROWS.pairs);

    // The columns: as wide as their widest label.
    const wide = columns.map(({ reads, writes }, i) => Math.max(reads.length, short(writes, 16).length, pill(states[i + 1].fsa, states[i + 1].fst).length));
    const future = Math.max(levels.length, ...rows.map(({ length }) => length), 0);
    for (let i = 0; i < future; i++) {
      const labels = (levels[i]?.arcs || []).map(([, , label]) => label);
      for (const row of rows) if (i < row.length) labels.push(writesOf(row, i));
      for (const row of goals) if (i === row.length - 1) labels.push(pill(row.pair, "r") + "  ");
      wide.push(Math.max(i ? 5 : 6, ...labels.map((label) => Math.min([...label].length, 16))));
    }
    const xs = [FIRST];
    for (const letters of wide) xs.push(xs[xs.length - 1] + Math.max(NARROWEST, letters * LETTER + 2 * RING + 8));
    const said = rows.map((row) => (row.allowed ? "allowed" : saidOf(ui, row)));
    const right = Math.max(xs[xs.length - 1] + 34, ...rows.map((row, i) => xs[last + row.length] + 26 + said[i].length * 6.2));

    // The lanes.
    const top = { fsa: 32 };
    const middle = { fsa: top.fsa + 28 + ((ROWS.fsa - 1) * APART.fsa) / 2 };
    top.fst = middle.fsa + ((ROWS.fsa - 1) * APART.fsa) / 2 + 28;
    middle.fst = top.fst + 36;
    top.pairs = middle.fst + ROWS.fst * APART.fst + 15;
    middle.pairs = top.pairs + 56;
    const height = middle.pairs + (ROWS.pairs - 1) * APART.pairs + 16;
    const scale = inner.height ? Math.max(Math.min(inner.height / height, inner.width / WIDTH, LARGEST), SMALLEST) : 1;

    // Behind all: where we are, and where tokens end.
    for (const [name, value] of [["width", right * scale], ["height", height * scale], ["viewBox", `0 0 ${right} ${height}`]]) mark(svg, name, value);
    mark(here, "x", xs[last] - 24);
    mark(here, "height", height - 20);
    for (const end of new Set(tokens.flatMap(({ from, to }) => [from, to]))) if (end !== last) behind.take(height, xs[end], 24, () => s("path.ends", { d: `M0,0 L0,${height - 24}` }));
    word(2, 15, "text", ".soft.begin");
    if (leftOut) word(FIRST + 4, 15, "…", ".soft");
    const between = (i) => (xs[i] + xs[i + 1]) / 2;
    const chars = columns.map(({ text }, i) => word(between(i), 16, text, ".char"));
    for (const title of titles) title.style.top = (top[title.dataset.lane] - 9) * scale + "px";

    // The path so far.
    const at = (i) => (i === last ? ".now" : ".past");
    const rings = states.map(({ fsa, fst, pair }, i) => {
      const own = {};
      own.fsa = ring(xs[i], middle.fsa, fsa, at(i), `state ${fsa} of the character FSA`);
      own.fst = ring(xs[i], middle.fst, fst, at(i), fst === "r" ? "the root of the FST: between two tokens" : `the FST inside of a token, after ${fst}`);
      const both = pair === "end" ? "end" : pill(pair ?? fsa, fst);
      own.pair = stadium(xs[i], middle.pairs, both, pair === null ? ".ghost" + (i === last ? ".now" : "") : at(i), pair === null ? `the pair ${both}: no token ends here, so it is not a state of the token DFA` : `the pair of state ${fsa} and the root: a state of the token DFA`);
      return own;
    });
    const from = tokens.length ? tokens[tokens.length - 1].from : last;
    taken = { letters: [], pair: null };
    columns.forEach(({ text, reads, writes }, i) => {
      const lit = [chars[i]];
      for (const [lane, said] of [["fsa", reads], ["fst", writes]]) lit.push(straight(xs[i], xs[i + 1], middle[lane], "past", said), word(between(i), middle[lane] - 7, short(said, 16), ".lit", said), rings[i + 1][lane]);
      const own = rings[i + 1];
      if (i >= from) taken.letters.push({ text, fails: false, lit, paths: [1, 4].map((at) => lit[at].querySelector("path")), rings: [own.fsa, own.fst] });
    });
    for (const { from, to, text, others } of tokens) taken.arc = leap(xs[from], xs[to], to - from, middle.pairs, "past", short(text, 12) + (others ? ` +${count(others)}` : ""), others ? `${text}, or one of ${count(others)} other tokens that lead to the same state` : text);

    taken.pair = taken.arc ? { path: taken.arc.querySelector("path"), lit: [taken.arc, rings[last].pair], rings: [rings[last].pair] } : null;

    // What the FSA reads next.
    on = coming;
    if (!inside && last + 1 < xs.length) word(between(last), 16, "?", ".ask");
    let placed = [middle.fsa];
    levels.forEach((level, i) => {
      const ys = level.states.map((_, row) => middle.fsa + (row - (level.states.length - 1) / 2) * APART.fsa);
      for (const [from, to, label] of level.arcs) {
        const [x, y, z, w] = [xs[last + i], placed[from], xs[last + i + 1], ys[to]];
        const long = Math.hypot(z - x, w - y);
        const [dx, dy] = [((z - x) / long) * (RING + 1), ((w - y) / long) * (RING + 1)];
        line(x, y, `M${dx},${dy} L${z - x - dx},${w - y - dy}`, "g", label);
        // On the outer side of the arc, where no other one is.
        const [out, parts] = [(y + w) / 2 - middle.fsa, Math.abs(w - middle.fsa) > Math.abs(y - middle.fsa)];
        word((x + z) / 2 + (w === y ? 0 : parts ? -7 : 7), (y + w) / 2 + ((out || w - y) > 0 && w !== y ? 15 : -6), short(label, 16), "", label);
      }
      level.states.forEach((state, row) => ring(xs[last + i + 1], ys[row], state, level.ends.includes(row) ? ".accepts" : "", `state ${state} of the character FSA${level.ends.includes(row) ? ": the text may end here" : ""}`));
      if (level.more) word(xs[last + i + 1], ys[ys.length - 1] + 25, `+${count(level.more)}`, ".soft");
      placed = ys;
    });

    // The tokens ahead, each on a row of its own; they are others at each place.
    const ahead = [];
    rows.forEach((row, r) => {
      const y = middle.fst + r * APART.fst;
      const kind = row.allowed ? "past" : "no";
      const own = [s("g"), s("g"), s("g")];
      let left = RING; // From the middle of a ring to its edge.
      const group = s("g.ahead" + (row.allowed ? "" : ".masked"), { "data-token": row.id }, s("title", {}, row.allowed ? "why is it allowed?" : "why is it masked?"));
      group.append(s("rect.hit", { x: xs[last] + 16, y: y - APART.fst / 2, width: Math.max(10, right - xs[last] - 16), height: APART.fst, rx: 4 }), ...own);
      for (let i = 0; i < row.length; i++) {
        const [x, z] = [xs[last + i], xs[last + i + 1]];
        const fails = !row.allowed && i === row.length - 1;
        const state = i < row.length - 1 ? row.fst[i] || "" : row.long ? "…" : "r";
        const half = Math.max(10, [...state].length * LETTER * 0.5 + 3);
        const end = z - (fails ? 8 : half + 1);
        const bent = i === 0 && r > 0;
        const d = bent ? `M${x + 8},${middle.fst + 10} C${x + 12},${y} ${x + 14},${y} ${Math.min(x + 30, z - 16)},${y} L${end},${y}` : `M${x + left},${y} L${end},${y}`;
        own[0].append(s("g.a" + (fails ? ".no" : row.allowed ? ".past" : ""), {}, s("path.line", { d, "marker-end": `url(#${id}-${fails ? "ko" : row.allowed ? "past" : "g"})` })));
        own[1].append(...labelled(fails ? ".ko" : "", (x + (bent ? 28 : left) + end) / 2, y - (r > 0 ? 7 : 5), short(writesOf(row, i), 16)));
        if (fails) own[1].append(s("text.cross", { x: z, y: y + 4 }, "✗"));
        else own[2].append(s("g.n", {}, s("rect", { x: z - half, y: y - 10, width: 2 * half, height: 20, rx: 10 }), s("text.small", { x: z, y: y + 3.5 }, state)));
        left = half;
      }
      own[1].append(s("text.said" + (row.allowed ? "" : ".ko"), { x: xs[last + row.length] + 17, y: y + 4 }, said[r]));
      group.addEventListener("click", () => ui.select(row.id));
      group.addEventListener("mouseenter", () => ui.point(row.id));
      group.addEventListener("mouseleave", () => ui.point(null));
      group.setAttribute("data-ids", row.ids.join(" "));
      ahead.push(group);
    });
    const rest = inside || !ui.position.width ? 0 : ui.position.width - ui.position.allowed - rows.reduce((sum, { allowed, ids }) => sum + (allowed ? 0 : ids.length), 0);
    const free = ui.position.allowed - rows.filter(({ allowed }) => allowed).length;
    const counted = [free > 0 ? `${count(free)} more allowed` : "", rest > 0 ? `${count(rest)} more masked` : ""].filter(Boolean).join(", ");
    if (!inside && !ui.position.finished && counted) word(Math.max(0, Math.min(xs[last] + 30, right - 7.2 * (counted.length + 4))), middle.fst + Math.max(rows.length, 1) * APART.fst - 4, "and " + counted, ".soft.begin");

    // The pairs that the allowed tokens lead to.
    goals.forEach((row, r) => {
      const y = middle.pairs + r * APART.pairs;
      const same = rows.filter((one) => one.allowed && one.length === row.length && one.pair === row.pair);
      const label = same.map(({ name }) => name).slice(0, 2).join("  ") + (same.length > 2 ? " …" : "");
      const to = last + row.length;
      if (r) {
        const drop = y - middle.pairs;
        line(xs[last], middle.pairs, `M8,12 C14,${drop} 16,${drop} 34,${drop} L${xs[to] - xs[last] - 24},${drop}`, "g", label);
        word((xs[last] + 24 + xs[to]) / 2, y - 5, label);
      } else leap(xs[last], xs[to], row.length, y, "g", label, label);
      stadium(xs[to], y, row.pair === "end" ? "end" : pill(row.pair, "r"), "", row.pair === "end" ? "the text has ended" : `state ${row.pair} of the token DFA`);
    });

    titles.forEach((title, i) => say(title.firstChild, machineTitle(ui, LANES[i][1])));
    const now = states[last];
    mark(svg, "aria-label", `After “${columns.map(({ text }) => text).join("")}”: state ${now.fsa} of the character FSA, ${now.fst === "r" ? "the root" : now.fst} of the detokenizing FST; their pair ${now.pair === null ? "is not a state of the token DFA" : "is a state of the token DFA"}. ${rows.map((row, i) => `${row.name}: ${said[i]}`).join("; ")}`);
    fan.replaceChildren(...ahead);
    for (const layer of [behind, sofar, coming]) layer.end();
    place = { x: xs[last], middle };
    ghosted = undefined;
    if (svg.parentNode !== scroller) put(scroller, svg);
    // The present place is in view, at a third of the width, and a whole column is the first.
    requestAnimationFrame(() => {
      const least = xs[last] - inner.width / scale / 2.5;
      scroller.scrollLeft = least <= 0 ? 0 : (xs.find((x) => x - 24 >= least || x === xs[last]) - 24) * scale;
    });
  };

  /** Draw it again if something changed; false if there is nothing to draw. */
  const update = () => {
    if (!ui.position || !ui.position.along) return false;
    const parts = [ui.position, ui.inside, (ui.model.get("machine") || {}).key, ui.vocabulary, inner.height, inner.width];
    if (!parts.every((part, i) => part === drawn[i]) || !scroller.firstChild) {
      drawn = parts;
      draw();
    }
    ghost();
    return true;
  };
  return { box, update, trail: (walk) => (walk ? asked : taken) };
}

/** The label of an arc of a token ahead: the last one reads the token. */
const writesOf = ({ text, long, name }, i) => `${i === text.length - 1 && !long ? name : "ε"} : ${text[i]}`;

/** Why a row of masked tokens is masked, after their names. */
function saidOf(ui, { ids, text, length, long, reason }) {
  const named = text.length > length || long || ids.length > 1 ? ids.slice(0, 2).map((id) => short(ui.text(id), 10)).join(" ") + (ids.length > 2 ? " …" : "") + ": " : "";
  return short(named + (reason || "masked"), SAID + named.length);
}
