// The kernel of a page that has none: the table of the token DFA, which steps along tokens that the record does not have.
//
// Its packets are those of the kernel (`figures/packets.py`), so the views cannot tell them from each other. It knows no model, no
// search and no layout.

const LISTED = 12; // Allowed tokens of a list,
const NEAREST = 6; // and masked ones.
const LOOKED = 1000; // Those among which they are looked for.
const LINE = 16; // Columns of the text,
const FORESEEN = 3; // characters and tokens ahead, states in a column,
const FORESEEN_LETTERS = 6; // letters of a token ahead.
const LIT = 256; // Tokens and bytes whose arcs are lit.
const REASON = 36; // Letters of a reason.

const hexOf = (bytes) => bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("");
const byteLabel = (byte) => (byte === 32 ? "␣" : byte > 32 && byte < 127 ? String.fromCharCode(byte) : hexByte(byte));
const letterLabel = (piece) => (piece.length === 1 ? byteLabel(piece[0]) : characterLabel(piece));
/** As `readable` in `explorer/alphabet.py`, of one character. */
function characterLabel(piece) {
  const letter = new TextDecoder().decode(new Uint8Array(piece));
  const code = letter.codePointAt(0);
  if (!/[\p{C}\p{Z}]/u.test(letter)) return letter === "␣" ? "\\␣" : letter;
  return { " ": "␣", "\n": "\\n", "\r": "\\r", "\t": "\\t" }[letter] || "\\" + (code < 256 ? "x" + hexOf([code]) : "u" + code.toString(16).padStart(4, "0"));
}

/** The bytes of a readable text: the inverse of `readable` in `explorer/alphabet.py`. */
function bytesOfText(text) {
  const raw = text.replace(ESCAPE, (found, escaped) => {
    if (!escaped) return " ";
    const sign = { n: "\n", r: "\r", t: "\t" }[escaped];
    return sign ?? (escaped.length > 1 ? String.fromCodePoint(parseInt(escaped.slice(1), 16)) : escaped);
  });
  return [...new TextEncoder().encode(raw)];
}

/** The kernel of the table in `data`; null if it has none. */
async function tableKernel({ table, machine, words }) {
  if (!table) return null;
  const [cells, moves, ofTokens, texts] = await Promise.all([table.cells, table.moves, machine.token_class, words.data].map(unpack));
  const { text, hex } = JSON.parse(new TextDecoder().decode(texts));
  const classOf = machine.bits === 32 ? new Uint32Array(ofTokens) : new Uint16Array(ofTokens);
  const [next, reads] = [new Int32Array(cells), new Int32Array(moves)];
  const width = machine.num_classes;
  const letters = Math.max(...table.symbols) + 1;
  const sizes = new Uint32Array(width);
  for (const one of classOf) sizes[one]++;
  const known = [];
  const bytesOf = (id) => (known[id] ??= hex[id] ? hex[id].match(/../g).map((pair) => parseInt(pair, 16)) : bytesOfText(text[id] || ""));
  const nameOf = (id) => text[id] || words.special[id] || "id " + id;
  const ends = new Set(words.eos);

  const NONE = -1; // No state, of either machine.
  const to = (state, id) => (state < 0 || id >= classOf.length ? NONE : next[state * width + classOf[id]]);
  const node = (state) => (state < 0 ? "done" : table.names[state]);
  const charOf = (state) => (state < 0 ? NONE : table.chars[state]);
  const pair = (state) => (state < 0 ? "end" : node(state).slice(1));
  const between = (state) => state >= 0 && !!table.arcs[state];
  const read = (state, byte) => (state < 0 ? NONE : reads[state * letters + table.symbols[byte]]);
  const run = (state, bytes) => {
    const states = [state];
    for (const byte of bytes) states.push(read(states[states.length - 1], byte));
    return states;
  };
  const allowedIn = (state) => (state < 0 ? [] : text.map((_, id) => id).filter((id) => to(state, id) !== NONE));
  const pieces = (bytes) => characters(bytes).map(({ at, size }) => bytes.slice(at, at + size));

  /** A line of tokens: the state before and after each. */
  const stepsOf = (ids) => {
    let state = table.start;
    return ids.map((id) => ({ id, bytes: bytesOf(id), before: state, after: (state = to(state, id)) }));
  };
  const endOf = (steps) => (steps.length ? steps[steps.length - 1].after : table.start);

  /** The states that a character which is begun may lead to. */
  const completed = (state) => (state < 0 ? [] : between(state) ? [state] : once(once([...reads.subarray(state * letters, (state + 1) * letters)]).flatMap(completed)));
  /** The arcs of the character FSA that a run takes, one for each byte. */
  const arcsOf = (states) => states.slice(1).map((after, k) => {
    if (states[k] < 0 || after < 0) return null;
    let [from, until] = [k, k + 1];
    while (from >= 0 && !between(states[from])) from--;
    while (states[until] >= 0 && !between(states[until])) until++;
    const goals = until < states.length ? [states[until]] : completed(after);
    return from < 0 || goals.length > 1 || goals[0] < 0 ? null : `c${states[from]}-c${goals[0]}`;
  });
  const once = (list) => [...new Set(list.filter((one) => one !== null))];

  /** As `lit_path` in `figures/machines/lit.py`. */
  const lit = (steps) => {
    const bytes = steps.flatMap((step) => step.bytes);
    const states = run(table.first, bytes).slice(-LIT - 1);
    const shown = states.filter(between).map((state) => "c" + state);
    const recent = steps.slice(-LIT);
    const line = [node(recent.length ? recent[0].before : table.start), ...recent.map(({ after }) => node(after))];
    const tokens = {};
    const taken = recent.map(({ id }, i) => {
      const arc = `${line[i]}-${line[i + 1]}`;
      tokens[arc] = once([...(tokens[arc] || []), nameOf(id)]);
      return arc;
    });
    const now = [...shown.slice(-1), line[line.length - 1], "t"];
    return { characters: { nodes: once([...shown, ...line]), edges: once([...arcsOf(states), ...taken]), now, tokens } };
  };

  /** As `along_text` in `figures/panels/along.py`, without a model. */
  const along = (steps) => {
    let first = steps.length;
    for (let wide = 0; first && wide < LINE; wide += Math.max(1, steps[first].bytes.length)) first--;
    const state = endOf(steps);
    const out = { left_out: first, text: [], reads: [], writes: [], fsa: [], fst: [], pairs: [], tokens: [] };
    const stand = (char, prefix, at) => {
      out.fsa.push(char < 0 ? "" : String(char));
      out.fst.push(prefix);
      out.pairs.push(at === null ? null : pair(at));
    };
    const begin = first < steps.length ? steps[first].before : state;
    stand(charOf(begin), "r", begin);
    for (const { id, bytes, before, after } of steps.slice(first)) {
      const parts = bytes.length ? pieces(bytes) : [[]];
      const place = out.text.length;
      let char = charOf(before);
      parts.forEach((part, i) => {
        const last = i === parts.length - 1;
        const goal = run(char, part)[part.length];
        const label = part.length ? letterLabel(part) : "ε";
        const arc = part.length && (table.arcs[char] || []).find(([target]) => target === goal);
        out.text.push(part.length ? label : "");
        out.reads.push(arc && between(goal) ? arc[1] : label);
        out.writes.push(`${last ? short(nameOf(id), 10) : "ε"} : ${label}`);
        char = last && after >= 0 ? charOf(after) : goal;
        stand(char, last ? "r" : prefixOf(parts.slice(0, i + 1).map(letterLabel)), last ? after : null);
      });
      out.tokens.push([place, place + parts.length, nameOf(id), after < 0 ? 0 : beside(before, after)]);
    }
    return { ...out, next: state < 0 ? [] : levels(charOf(state)), ahead: state < 0 ? [] : allowedIn(state).slice(0, FORESEEN).map((id) => foreseen(state, id)) };
  };
  /** The number of other tokens to the same node, from all states that are drawn as this one. */
  const beside = (before, after) => {
    const classes = new Set();
    table.names.forEach((name, from) => {
      if (name !== node(before)) return;
      next.subarray(from * width, (from + 1) * width).forEach((target, one) => target >= 0 && node(target) === node(after) && classes.add(one));
    });
    return [...classes].reduce((sum, one) => sum + sizes[one], -1);
  };
  const levels = (char) => {
    const out = [];
    let present = [char];
    while (out.length < FORESEEN) {
      const arcs = present.flatMap((from, i) => (table.arcs[from] || []).map(([target, label]) => [i, target, label]));
      const targets = once(arcs.map(([, target]) => target));
      const shown = targets.slice(0, FORESEEN);
      if (!shown.length) break;
      out.push({
        states: shown.map(String), more: targets.length - shown.length,
        arcs: arcs.filter(([, target]) => shown.includes(target)).map(([i, target, label]) => [i, shown.indexOf(target), label]),
        ends: shown.map((_, i) => i).filter((i) => table.ends[shown[i]]),
      });
      present = shown;
    }
    return out;
  };
  const foreseen = (state, id) => {
    const parts = bytesOf(id).length ? pieces(bytesOf(id)) : [[]];
    const labels = parts.map((part) => (part.length ? letterLabel(part) : "ε"));
    return {
      id, text: labels.slice(0, FORESEEN_LETTERS), fst: labels.slice(0, -1).map((_, i) => prefixOf(labels.slice(0, i + 1))).slice(0, FORESEEN_LETTERS),
      long: parts.length > FORESEEN_LETTERS, fails: null, pair: pair(to(state, id)),
    };
  };

  /** Where a token fails: the offset of the byte, null if none does, and the states up to it. */
  const failing = (state, id) => {
    const states = run(charOf(state), bytesOf(id));
    const at = states.indexOf(NONE, 1);
    return { states, at: at < 0 ? null : at - 1 };
  };
  /** Why a token is masked, in two or three words and in a sentence; null if it is allowed. */
  const refusal = (state, id) => {
    if (to(state, id) !== NONE) return null;
    const whole = (words) => ({ words, sentence: `${words[0].toUpperCase()}${words.slice(1)}.` });
    if (state < 0) return whole("the text has ended");
    if (ends.has(id)) return { words: "not complete", sentence: `The text is not complete: the constraint expects ${table.expects[charOf(state)]}.` };
    if (!text[id]) return whole("special token");
    const { states, at } = failing(state, id);
    if (at === null) return table.filtered ? { words: "another spelling", sentence: "The tokenizer would spell this text with other tokens." } : { words: "cannot finish", sentence: "It is read, but no tokens of this vocabulary can finish the text after it." };
    const piece = characters(bytesOf(id)).find((one) => one.at <= at && at < one.at + one.size);
    const own = bytesOf(id).slice(piece.at, piece.at + piece.size);
    const letter = own.length > 1 || own[0] < 128 ? characterLabel(own) : byteLabel(own[0]);
    const words = table.expects[states[piece.at]].replace(/(^| or )the end$/, "");
    const then = piece.at ? `It starts well: '${pieces(bytesOf(id).slice(0, piece.at)).map(letterLabel).join("")}'. Then the` : "The";
    return {
      words: short(words ? `${at ? letter + ": " : ""}expects ${words}` : "must end here", REASON),
      sentence: words ? `${then} constraint expects ${words}; this token writes ${letter}.` : `${piece.at ? then.slice(0, -3) + "There the" : "The"} text must end.`,
    };
  };
  const reason = (state, id) => refusal(state, id)?.words ?? null;
  const row = (state, id) => ({ id, text: nameOf(id), allowed: to(state, id) !== NONE, reason: reason(state, id), model: null, filtered: null, constrained: null });

  /** The first id of each text. */
  let firsts = null;
  const firstIds = () => (firsts ??= [...new Map(text.map((_, id) => [hexOf(bytesOf(id)), id]).reverse())].filter(([written]) => written).map(([, id]) => id));
  const prints = (id) => !hex[id] && !/\p{C}|(?! )\p{Z}/u.test(new TextDecoder().decode(new Uint8Array(bytesOf(id))));

  return {
    nameOf,
    /** Whether a token may come after a line. */
    allows: (ids, id) => to(endOf(stepsOf(ids)), id) !== NONE,
    /** The position after a line of tokens, without the figures of a model. */
    position: (ids) => {
      const steps = stepsOf(ids);
      const state = endOf(steps);
      const bits = new Uint8Array(Math.ceil(width / 8));
      let allowed = 0;
      for (let one = 0; state >= 0 && one < width; one++) {
        if (next[state * width + one] === NONE) continue;
        bits[one >> 3] |= 128 >> (one & 7);
        allowed += sizes[one];
      }
      return {
        k: ids.length, numbers: false, state, row: btoa(String.fromCharCode(...bits)), allowed, width: classOf.length, z: null, entropy_before: null,
        entropy_after: null, kl: null, top: [], taken: null, rank: null, forced: allowed === 1, finished: state < 0, by: null, intervention: false,
        over_budget: 0, ms: {}, along: along(steps), lit: lit(steps), expects: state < 0 ? "" : table.expects[charOf(state)], spans: [],
      };
    },
    /** As `listed_packet` in `figures/panels/tokens.py`: allowed tokens, and masked ones that fail latest; those that can be read come first. */
    listed: (ids) => {
      const state = endOf(stepsOf(ids));
      const able = allowedIn(state);
      const depths = new Map();
      if (state >= 0) firstIds().forEach((id) => to(state, id) === NONE && depths.set(id, failing(state, id).at ?? Infinity));
      const deeper = (one, other) => (depths.get(one) === depths.get(other) ? 0 : depths.get(other) - depths.get(one));
      const near = [...depths.keys()].sort((one, other) => deeper(one, other) || one - other).slice(0, LOOKED);
      near.sort((one, other) => deeper(one, other) || prints(other) - prints(one));
      return { rows: [...able.slice(0, LISTED), ...near.slice(0, NEAREST)].map((id) => row(state, id)), count: able.length };
    },
    /** Tokens of a text, a part of it, or an id. */
    found: (ids, query) => {
      const wanted = query.replaceAll(" ", "␣");
      const same = (id) => nameOf(id) === wanted || "#" + id === query;
      const all = text.map((_, id) => id).filter((id) => same(id) || nameOf(id).includes(wanted));
      const state = endOf(stepsOf(ids));
      return { rows: [...all.filter(same), ...all.filter((id) => !same(id))].slice(0, LISTED).map((id) => row(state, id)), count: all.length };
    },
    /** As `walk_packet` in `figures/machines/lit.py`. */
    walk: (ids, token) => {
      const state = endOf(stepsOf(ids));
      const bytes = bytesOf(token);
      const { states, at } = failing(state, token);
      const arcs = arcsOf(states);
      const prefix = (end) => "t" + (end < bytes.length ? hexOf(bytes.slice(0, end)) : "");
      let here = charOf(state);
      const steps = bytes.slice(0, at === null ? bytes.length : at + 1).map((_, i) => {
        const reached = states[i + 1];
        if (between(reached)) here = reached;
        const edges = [`${prefix(i)}-${prefix(i + 1)}`, reached < 0 ? null : arcs[i]];
        return [edges.filter((one) => one !== null), reached < 0 ? [prefix(i + 1)] : [prefix(i + 1), "c" + here]];
      });
      if (ends.has(token)) steps.push([["t-tend"], ["tend"]]);
      const target = to(state, token);
      const goal = target === NONE ? null : node(target);
      const lit = { characters: { steps, stopped: at === null || state < 0 ? null : "c" + here, arc: goal && state >= 0 ? `${node(state)}-${goal}` : null, target: state >= 0 ? goal : null } };
      return { token, text: nameOf(token), bytes, labels: bytes.map(byteLabel), failed_at: at, allowed: target !== NONE, lit };
    },
    /** A verdict in one sentence; what needs a search is left out. */
    why: (ids, token) => {
      const state = endOf(stepsOf(ids));
      const refused = refusal(state, token);
      const allowed = !refused;
      const { at } = failing(state, token);
      const sentence = allowed ? "The constraint reads it, and the text can still be finished." : refused.sentence;
      return { token, stage: allowed ? "allowed" : "constraint", allowed, over_budget: false, message: sentence, sentence, notes: [], bytes: bytesOf(token), failed_at: at, spans: [], parts: [], more: {} };
    },
  };
}
