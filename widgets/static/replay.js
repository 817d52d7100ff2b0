// A model without a kernel: it answers the views from what was written into the page.
//
// A renderer cannot tell it from a notebook's widget. It walks along the line of the record; with a table of the machine
// (`table_kernel.js`) also along tokens that a reader takes beside it, until the start is pressed. It cannot answer what was
// never worked out (another constraint), and says so.

function replay(data, kernel) {
  const listeners = new Map();
  const record = data.traits.line;
  const trait = { ...data.traits, replay: true, steps: !!kernel };
  const emit = (event, ...args) => (listeners.get(event) || []).forEach((callback) => callback(...args));
  const set = (name, value) => {
    trait[name] = value;
    emit("change:" + name, value);
  };
  let own = null; // What the reader has taken: after `from` tokens of the record, the whole line and its positions from there on.
  const line = () => (own ? own.tokens : record.strip.tokens);
  const last = () => (own ? line().length : data.positions.length - 1);
  const beside = (k) => !!own && k > own.from;
  const ids = (k = here()) => line().slice(0, k).map(({ id }) => id);
  const at = (k) => {
    if (beside(k)) return { ...own.positions[k - own.from - 1], taken: line()[k] || null };
    const packet = data.positions[k];
    const other = own && k === own.from ? { taken: line()[k], rank: null } : {};
    return { ...packet, ...other, row: packet.row < 0 ? "" : data.rows[packet.row] };
  };
  const move = (k) => {
    if (!k) own = null;
    const { phases, rejected, ...strip } = record.strip;
    const end = last();
    trait.line = {
      ...record, index: k, length: end, model: record.model && !beside(k),
      strip: own ? { ...strip, tokens: own.tokens, finished: at(end).finished } : record.strip,
    };
    trait.history = own ? own.history : data.traits.history;
    set("position", at(k));
  };
  const here = () => trait.position.k;
  const missing = { ok: false, quiet: true, error: { message: "This page replays one run; for more, run the notebook." } };
  const stored = (table, k, token) => (beside(k) ? undefined : (data[table][k] || {})[token]);
  /** Take a token that the record does not have here. */
  const leave = (token) => {
    const k = here();
    if (!kernel || trait.position.finished || !kernel.allows(ids(), token)) return null;
    const from = beside(k) ? own.from : k;
    const position = kernel.position([...ids(), token]);
    const taken = { id: token, text: kernel.nameOf(token), surprisal: null, by: "user", ...(position.finished ? { eos: true } : {}) };
    const before = beside(k) ? own.positions.slice(0, k - from) : [];
    own = { from, tokens: [...line().slice(0, k), taken], positions: [...before, position], history: {} };
    for (const [name, values] of Object.entries(data.traits.history)) {
      own.history[name] = [...values.slice(0, from + 1), ...own.positions.map((one) => (name in one ? one[name] : null))];
    }
    return move(k + 1), {};
  };
  const take = (token) => {
    const k = here();
    if (own && k === own.from && record.strip.tokens[k]?.id === token) own = null;
    return line()[k]?.id === token && k < last() ? (move(k + 1), {}) : leave(token);
  };
  const walk = (k, token) => {
    const found = stored("walks", k, token) || (kernel && kernel.walk(ids(k), token));
    return found && { walk: found };
  };
  /** The figures around a place that was not visited: T_V where the record was left, with what is masked here. */
  const around = (k) => {
    const { key, machines, layouts } = data.around[own.from];
    const { detokenizing_fst: fst, ...near } = machines;
    const edges = fst.edges.map(({ refused, ...edge }) => ({ ...edge, masked: (edge.tokens || []).filter((id) => !kernel.allows(ids(k), id)) }));
    const unseen = Object.keys(near).map((name) => [name, { caption: "The record does not come here: see it along the text." }]);
    return { key: [key, ...ids(k)].join("|"), machines: { ...Object.fromEntries(unseen), detokenizing_fst: { ...fst, edges } }, layouts: { detokenizing_fst: layouts.detokenizing_fst } };
  };
  const answers = {
    machine: () => ({ machine: data.machine }),
    play: () => ({}),
    words: () => ({ words: data.words }),
    around: ({ k }) => ({ around: beside(k) ? around(k) : data.around[k] }),
    walk: ({ k, token }) => walk(k, token),
    reasons: ({ k }) => !beside(k) && data.summaries[k] && { reasons: data.summaries[k] },
    stage_machine: ({ stage }) => data.stages[stage] && { stage: { ...data.stages[stage], neighbours: ((data.pairs || [])[here()] || {})[stage] } },
    allowed: ({ k }) => (beside(k) ? kernel.listed(ids(k)) : data.allowed[k]),
    traps: () => ({ traps: data.traps.filter(({ position }) => !own || position === null || position < own.from) }),
    why: ({ k, token }) => {
      const explanation = stored("reasons", k, token) || (kernel && kernel.why(ids(k), token));
      return explanation && { explanation };
    },
    peek: ({ token = line()[here()]?.id }) => {
      const found = token === undefined ? null : walk(here(), token);
      return found && found.walk.allowed ? found : null;
    },
    step: () => (here() < last() ? (move(here() + 1), {}) : null),
    take: ({ token }) => take(token),
    jump: ({ k }) => (k >= 0 && k <= last() ? (move(k), {}) : null),
    run: ({ tokens }) => {
      const to = Math.min(last(), here() + tokens);
      move(to);
      return { stopped: to === last() };
    },
    search: ({ query, k }) => {
      if (beside(k)) return kernel.found(ids(k), query);
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
