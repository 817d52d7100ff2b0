// A line of positions; `answer` answers the oldest message that moves, as the kernel does.
window.make = (render) => {
  const callbacks = new Map();
  const emit = (event, ...all) => (callbacks.get(event) || []).forEach((one) => one(...all));
  const state = { generation: 0, k: 0, tokens: [], closed: false };
  const kernel = { asked: [], state };
  const traits = {
    place: "", machine: {}, vocabulary: {}, editor: {}, size: "normal",
    sampler: { temperature: 1 },
  };
  const show = () => {
    traits.line = { generation: state.generation, index: state.k, length: state.tokens.length,
      strip: { prompt: [], tokens: state.tokens.map((id) => ({ id, text: "t" + id })),
        forks: [{ name: "line 1", current: true, tokens: [] }] } };
    traits.position = { k: state.k, finished: false, allowed: 3, z: 0.5, top: [7, 8].map((id) =>
      ({ id, text: "t" + id, allowed: true, model: 0.5, filtered: 0.5, constrained: 0.5 })) };
    emit("change:line");
    emit("change:position");
  };
  kernel.move = (k, token = 9) => {
    if (k > state.tokens.length) state.tokens = [...state.tokens.slice(0, k - 1), token];
    state.k = k;
    state.generation++;
    show();
  };
  const does = {
    step: () => kernel.move(state.k + 1), take: ({ token }) => kernel.move(state.k + 1, token),
    jump: ({ k }) => kernel.move(k), run: ({ tokens }) => (kernel.move(state.k + tokens),
      { stopped: true }), sampler: () => void state.generation++, fork: () => kernel.move(state.k),
  };
  kernel.answer = () => {
    const at = kernel.asked.findIndex((one) => one.re && does[one.type]);
    if (at < 0) return null;
    const [asked] = kernel.asked.splice(at, 1);
    const { generation } = state;
    const stale = asked.seen !== undefined && asked.seen !== generation;
    const said = stale ? { ok: false, quiet: true, stale } : does[asked.type](asked);
    emit("msg:custom", { re: asked.re, generation: state.generation, ok: true, ...said });
    return asked.type;
  };
  kernel.tell = (content) => emit("msg:custom", content);
  kernel.model = {
    get: (name) => traits[name], set: (name, value) => (traits[name] = value),
    on: (event, callback) => callbacks.set(event, [...(callbacks.get(event) || []), callback]),
    off: () => {},
    send: (content) => {
      if (state.closed) throw new Error("Cannot send");
      kernel.asked.push(content);
    },
  };
  show();
  const el = document.createElement("div");
  document.body.append(el);
  render({ model: kernel.model, el });
  kernel.root = el.firstElementChild;
  return kernel;
};
window.frames2 = () => new Promise((done) =>
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))));
// Answer what is asked until nothing that moves is asked any more; what was answered, in order.
window.answerAll = async (kernel) => {
  const done = [];
  for (let one; await frames2(), (one = kernel.answer()); ) done.push(one);
  return done;
};
window.press = (kernel, name) => kernel.root.querySelector(`button[aria-label^="${name}"]`).click();
window.key = (kernel, key, repeat = false) => kernel.root.dispatchEvent(
  new KeyboardEvent("keydown", { key, repeat, bubbles: true }));
window.note = (kernel) => {
  const note = kernel.root.querySelector(".lmx-note");
  return note.hidden ? "" : note.textContent;
};
