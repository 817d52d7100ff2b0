// The conversation of a page with its kernel: questions with numbers, and the answers that come back.
//
// `model` is the renderer's argument. `MESSAGES` is the kernel's own table of the messages that a page may send.

const PATIENCE = 300; // Milliseconds of waiting before the page says what it waits for.

/** Messages to the kernel and its answers: `ui.tell`, `ui.ask`, `ui.stop` and the work under way. A request has a
 * number; the view that asked drops the answer to an old one. `listeners` are called with each question. */
function conversation(ui, model, listeners) {
  const waiting = new Map();
  // Each page counts from a random number, so that it does not take an answer to another page for its own.
  let number = Math.floor(Math.random() * 2 ** 32) * 2 ** 16;
  /** Whether a step is under way. A compile moves the session too, but only when it is done. */
  ui.moving = () => [...waiting.values()].some((entry) => entry.moves && !entry.tells);
  /** Whether everything that follows a change has arrived. Work that takes long and says so does not count. */
  ui.still = () => !ui.due.size && [...waiting.values()].every((entry) => entry.tells);
  // Work that takes long, by number: {doing, words, since}. `frame` shows it with a button that cancels it.
  ui.tasks = new Map();
  let told = null; // The generation that the last answer named: a press may follow it before the line arrives.
  /** A message as `MESSAGES` has it: the kernel's own table, which `bundle` puts before this. */
  const message = (type, content) => {
    const { fields } = MESSAGES[type] || {};
    const wrong = fields ? Object.keys(content).find((name) => !fields.includes(name)) : type;
    if (wrong) throw new Error(`The page may not send ${type} with ${wrong}.`);
    const sight = ui.sight();
    const seen = fields.includes("seen") && sight !== undefined ? { seen: sight } : {};
    return { type, ...seen, ...content };
  };
  /** The generation of the place that the page shows; undefined before it shows one. */
  ui.sight = () => {
    const shown = ui.line.generation;
    return shown === undefined ? undefined : Math.max(shown, told ?? shown);
  };
  /** Send a message; returns false if there is no kernel to receive it. */
  const send = (content) => {
    try {
      model.send(content);
      return true;
    } catch {
      ui.lost(); // The comm was closed, or the kernel has ended.
      return false;
    }
  };
  /** Tell the kernel something that needs no answer. */
  ui.tell = (type, content = {}) => ui.gone || send(message(type, content));
  /** Ask the kernel. `doing` names work that may take long; it is shown and can be cancelled. `shown` says that
   * the view that asks shows the wait itself. A `stale` answer belongs to a position that was left: a press that was
   * to move the session says so; a question is asked again if the page still shows the same position. */
  ui.ask = (type, content = {}, { doing = "", shown = false } = {}) =>
    new Promise((resolve) => {
      if (ui.gone) return resolve({ ok: false, gone: true });
      const asked = message(type, content);
      const re = ++number;
      // The user does not wait for questions that the page asks by itself.
      const timer = MESSAGES[type].unasked && !doing ? 0 : setTimeout(() => {
        if (doing) ui.tasks.set(re, { doing, words: "", since: performance.now() });
        else {
          ui.busy++;
          waiting.get(re).counted = true;
        }
        ui.changed();
      }, PATIENCE);
      const entry = { resolve, timer, doing, counted: false, moves: MESSAGES[type].moves, tells: !!doing || shown, again: null };
      if (!entry.moves && "seen" in asked) {
        const here = () => ui.position && pathKey(ui, ui.position.k);
        const path = here();
        entry.again = () => path === here() && asked.seen !== ui.sight() && send({ ...asked, seen: (asked.seen = ui.sight()), re });
      }
      waiting.set(re, entry);
      for (const callback of listeners) callback();
      send({ ...asked, re });
    });
  const settle = (re, content) => {
    const entry = waiting.get(re);
    if (!entry) return;
    if (content.generation !== undefined) told = Math.max(told ?? 0, content.generation);
    if (content.stale && entry.again && entry.again()) return;
    waiting.delete(re);
    ui.tasks.delete(re);
    clearTimeout(entry.timer);
    if (entry.counted) ui.busy--;
    if (content.stale && entry.moves) ui.remark(LEFT);
    entry.resolve(content);
    ui.changed();
  };
  // The kernel has accepted the question and goes on: it is not busy, and the answer comes later.
  const later = (re) => {
    const entry = waiting.get(re);
    if (!entry || entry.doing) return;
    clearTimeout(entry.timer);
    if (entry.counted) ui.busy--;
    entry.counted = false;
    ui.changed();
  };
  const counted = (re, words) => {
    if (!ui.tasks.has(re)) return;
    ui.tasks.get(re).words = words;
    ui.changed();
  };
  /** Cancel work that takes long. An answer that still arrives is dropped. */
  ui.stop = (re) => {
    ui.tell("stop", { of: re });
    settle(re, { ok: false, cancelled: true });
  };
  model.on("msg:custom", (content) => {
    if (!content || !content.re) return;
    if (content.later) later(content.re);
    else if (content.progress !== undefined) counted(content.re, content.progress);
    else settle(content.re, content);
  });
  ui.lost = () => {
    ui.gone = true;
    for (const re of [...waiting.keys()]) settle(re, { ok: false, gone: true });
    ui.changed();
  };
  // ipywidgets says so when the kernel restarts or its comm closes.
  model.on("comm_live_update", () => {
    if (model.comm_live === false || model.comm_live === undefined) ui.lost();
  });
  model.on("comm:close", ui.lost);
}
