// A model without a kernel: it answers the views from what was written into the page.
//
// A renderer cannot tell it from a notebook's widget. It walks along one line. It cannot answer what was never
// worked out (another token, another constraint), and says so.

function replay(data) {
  const listeners = new Map();
  const trait = { ...data.traits, replay: true };
  const emit = (event, ...args) => (listeners.get(event) || []).forEach((callback) => callback(...args));
  const set = (name, value) => {
    trait[name] = value;
    emit("change:" + name, value);
  };
  const last = data.positions.length - 1;
  const at = (k) => {
    const packet = data.positions[k];
    return { ...packet, row: packet.row < 0 ? "" : data.rows[packet.row] };
  };
  const move = (k) => {
    trait.line = { ...trait.line, index: k };
    set("position", at(k));
  };
  const here = () => trait.position.k;
  const missing = { ok: false, quiet: true, error: { message: "This page replays one run; for more, run the notebook." } };
  const stored = (table, k, token) => (data[table][k] || {})[token];
  const answers = {
    machine: () => ({ machine: data.machine }),
    play: () => ({}),
    words: () => ({ words: data.words }),
    around: ({ k }) => data.around[k] && { around: data.around[k] },
    walk: ({ k, token }) => stored("walks", k, token) && { walk: stored("walks", k, token) },
    reasons: ({ k }) => data.summaries[k] && { reasons: data.summaries[k] },
    stage_machine: ({ stage }) => data.stages[stage] && { stage: { ...data.stages[stage], neighbours: ((data.pairs || [])[here()] || {})[stage] } },
    allowed: ({ k }) => (data.allowed || [])[k],
    traps: () => ({ traps: data.traps }),
    why: ({ k, token }) => stored("reasons", k, token) && { explanation: stored("reasons", k, token) },
    peek: ({ token }) => {
      const taken = trait.line.strip.tokens[here()];
      if (!taken || (token !== undefined && token !== taken.id)) return null;
      return { walk: stored("walks", here(), taken.id) };
    },
    step: () => (here() < last ? (move(here() + 1), {}) : null),
    take: ({ token }) => {
      const taken = trait.line.strip.tokens[here()];
      return taken && taken.id === token ? (move(here() + 1), {}) : null;
    },
    jump: ({ k }) => (k >= 0 && k <= last ? (move(k), {}) : null),
    run: ({ tokens }) => {
      const to = Math.min(last, here() + tokens);
      move(to);
      return { stopped: to === last };
    },
    search: ({ query, k }) => {
      const text = query.replaceAll(" ", "␣");
      const same = (entry) => entry.text === text || "#" + entry.id === query;
      const found = at(k).top.filter((entry) => same(entry) || entry.text.includes(text));
      return { rows: found.sort((one, other) => same(other) - same(one)), count: found.length };
    },
  };
  trait.position = at(trait.line.index || 0);
  return {
    get: (name) => trait[name],
    set,
    on: (event, callback) => listeners.set(event, [...(listeners.get(event) || []), callback]),
    send: (message) => {
      const answer = answers[message.type] ? answers[message.type](message) : null;
      setTimeout(() => emit("msg:custom", { re: message.re, ...(answer ? { ok: true, ...answer } : missing) }), 0);
    },
  };
}
