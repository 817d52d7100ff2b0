// The state that the views of one widget share: the position, the questions to the kernel and their answers,
// and the token in view.
//
// A renderer takes {model, el}: `model` has get(name), set(name, value), on(event, callback) and
// send(message), and nothing else is asked of it. A notebook's widget is such a model, and so is
// the plain object of the stand-alone page; both run this very code.

// Vocabularies by fingerprint: one per page, however many explorers.
const shared = (globalThis[Symbol.for("explorer.vocabularies")] ??= new Map());

// The token in view, by the name of a cursor. Widgets on one cursor show the same token.
const looks = (globalThis[Symbol.for("explorer.looks")] ??= new Map());

/** A map that forgets what was put in first, once it holds more than `most`. */
class Recent extends Map {
  constructor(most) {
    super();
    this.most = most;
  }
  set(key, value) {
    if (!this.has(key) && this.size >= this.most) this.delete(this.keys().next().value);
    return super.set(key, value);
  }
}

// How much of what was sent is kept: positions of a few kilobytes, walks and reasons of one.
const POSITIONS_KEPT = 2000;
const ANSWERS_KEPT = 400;
const PATHS_NAMED = 20000;

// Figures around a position are asked for after so many milliseconds without a step, and at the
// latest after so many.
const AROUND_AFTER = 150;
const AROUND_LATEST = 500;

const PATIENCE = 300; // Milliseconds of waiting before the page says what it waits for.

/** A packet after a change, as `widgets/figures/changes.py` writes it; parts that did not change
 * stay the same objects. */
function patched(before, change) {
  if ("=" in change) return change["="];
  if ("<" in change) return before.slice(0, change["<"]).concat(change[">"]);
  if ("@" in change) {
    const made = before.slice();
    for (const [place, inner] of Object.entries(change["@"])) made[place] = patched(made[place], inner);
    return made;
  }
  if (!("~" in change) && !("-" in change)) return before;
  const made = { ...before };
  for (const key of change["-"] || []) delete made[key];
  for (const [key, inner] of Object.entries(change["~"] || {})) made[key] = patched(made[key], inner);
  return made;
}

/** What one says to the kernel and what comes back: `ui.tell`, `ui.ask`, `ui.stop` and the work under way. A request
 * has a number; an answer to an old one is dropped by whoever asked. `listeners` are called with each question. */
function conversation(ui, model, listeners) {
  const waiting = new Map();
  let number = 0;
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
    const shown = ui.line.generation;
    const seen = fields.includes("seen") && shown !== undefined ? { seen: Math.max(shown, told ?? shown) } : {};
    return { type, ...seen, ...content };
  };
  /** Tell the kernel something that needs no answer. */
  ui.tell = (type, content = {}) => ui.gone || model.send(message(type, content));
  /** Ask the kernel. `doing` names work that may take long; it is shown and can be cancelled. `shown` says that
   * the view that asks shows the wait itself. A `stale` answer belongs to a position that was left. */
  ui.ask = (type, content = {}, { doing = "", shown = false } = {}) =>
    new Promise((resolve) => {
      if (ui.gone) return resolve({ ok: false, gone: true });
      const asked = message(type, content);
      const re = ++number;
      // What the page asks by itself is not waited for.
      const timer = MESSAGES[type].unasked && !doing ? 0 : setTimeout(() => {
        if (doing) ui.tasks.set(re, { doing, words: "", since: performance.now() });
        else {
          ui.busy++;
          waiting.get(re).counted = true;
        }
        ui.changed();
      }, PATIENCE);
      waiting.set(re, { resolve, timer, doing, counted: false, moves: MESSAGES[type].moves, tells: !!doing || shown });
      for (const callback of listeners) callback();
      model.send({ ...asked, re });
    });
  const settle = (re, content) => {
    const entry = waiting.get(re);
    if (!entry) return;
    waiting.delete(re);
    ui.tasks.delete(re);
    clearTimeout(entry.timer);
    if (entry.counted) ui.busy--;
    if (content.generation !== undefined) told = Math.max(told ?? 0, content.generation);
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

/** What the views share on one page: decoded packets, the token in view, and slow motion.
 * Listeners of "change" are called once per frame, those of "after" in the next one: the first frame
 * after a step has the tokens and the numbers, and waits for no drawing. `wants` names what the page asks for
 * by itself; a view that stands alone leaves out what it does not show. */
function pageState(model, wants = ["machine", "words", "around"]) {
  const listeners = { change: new Set(), after: new Set(), live: new Set(), asked: new Set() };
  let frame = 0;
  let second = 0;
  const ui = {
    model,
    machine: null, // decoded machine packet
    vocabulary: null, // inflated vocabulary packet
    line: {},
    position: model.get("position") || null,
    seen: new Recent(POSITIONS_KEPT), // positions by path, so that they can be read without a kernel
    walks: new Recent(ANSWERS_KEPT),
    reasons: new Recent(ANSWERS_KEPT),
    gone: false, // whether the kernel is gone
    busy: 0,
    theme: 0, // grows with each change of the colours
    due: new Set(), // questions that the page will ask by itself, and answers that it is reading
  };
  /** The page is not at rest until this work has ended. */
  ui.during = async (work) => {
    ui.due.add(work);
    try {
      return await work;
    } finally {
      ui.due.delete(work);
      ui.changed();
    }
  };
  ui.on = (what, callback) => {
    listeners[what].add(callback);
    return () => listeners[what].delete(callback);
  };
  // hover: token under the pointer; selected: token that was clicked; slow: slow motion;
  // inside: {walk, byte}, inside a token; filter: {path, has(id), …}, a group of masked tokens;
  // rule: {spans}, an open rule that is pointed at; caret: the place in the constraint's editor.
  const name = model.get("place") || "";
  const look = looks.get(name) || { hover: null, selected: null, slow: false, inside: null, filter: null, rule: null, caret: null, viewers: new Set() };
  if (name) looks.set(name, look);
  for (const key of ["hover", "selected", "slow", "inside", "filter", "rule", "caret"]) {
    Object.defineProperty(ui, key, {
      get: () => look[key],
      set: (value) => {
        if (look[key] === value) return;
        look[key] = value;
        for (const viewer of look.viewers) viewer.changed();
      },
    });
  }
  look.viewers.add(ui);
  ui.end = () => {
    look.viewers.delete(ui);
    aroundLater.end();
    if (!look.viewers.size) looks.delete(name);
  };
  /** T_V around the present position, and large machines; the figures follow the numbers. */
  ui.around = null;
  ui.also = []; // Tokens that the user added to T_V.
  ui.show = (token, on) => {
    ui.also = on ? [...ui.also, token] : ui.also.filter((one) => one !== token);
    if (!on && ui.selected === token) ui.selected = null;
    readAround();
    ui.changed();
  };
  /** The tokens that T_V shows because a person wants to see them: those added, and the one clicked. */
  ui.asked = () => (ui.selected === null || ui.also.includes(ui.selected) || !ui.isText(ui.selected) ? ui.also : [...ui.also, ui.selected]);
  const readAround = async () => {
    if (!wants.includes("around") || !ui.position || !(model.get("machine") || {}).key) return;
    const also = ui.asked();
    const key = pathKey(ui, ui.position.k) + "|" + also.join(",");
    if (ui.around && ui.around.path === key) return;
    ui.around = { ...ui.around, path: key };
    const answer = await ui.ask("around", { k: ui.position.k, also });
    if (answer.stale && ui.around.path === key) {
      ui.around.path = "";
      return aroundLater();
    }
    if (answer.packed) answer.around = JSON.parse(new TextDecoder().decode(await ui.during(unpack(answer.packed))));
    if (answer.ok && answer.around && ui.around.path === key) {
      // The same figure stays the same object, so that it is not drawn again.
      const found = answer.around.key === ui.around.key ? ui.around : answer.around;
      ui.around = { ...found, path: key };
    }
    ui.changed();
  };
  const aroundLater = eased(ui, AROUND_AFTER, AROUND_LATEST, readAround);
  ui.lookAround = aroundLater;
  ui.changed = () => {
    if (frame) return;
    frame = requestAnimationFrame(() => {
      frame = 0;
      for (const callback of listeners.change) callback();
      second ||= requestAnimationFrame(() => {
        second = 0;
        for (const callback of listeners.after) callback();
      });
    });
  };
  ui.announce = (text) => listeners.live.forEach((callback) => callback(text));

  conversation(ui, model, listeners.asked);

  const useMachine = async (packet) => {
    // A machine without token classes: each token is one.
    const raw = packet.token_class ? await ui.during(unpack(packet.token_class)) : null;
    ui.machine = { ...packet, classOf: !raw ? Uint32Array.from({ length: packet.num_classes }, (_, i) => i) : packet.bits === 32 ? new Uint32Array(raw) : new Uint16Array(raw) };
    ui.changed();
  };
  const readMachine = async () => {
    const packet = model.get("machine") || {};
    ui.walks.clear();
    ui.reasons.clear();
    ui.inside = null;
    if (!packet.key || !wants.includes("machine")) ui.machine = null;
    else if (packet.token_class !== undefined) useMachine(packet);
    else if (!ui.machine || ui.machine.key !== packet.key) {
      const answer = await ui.ask("machine", wants.includes("around") ? {} : { figures: false });
      if (answer.ok && (model.get("machine") || {}).key === answer.machine.key) useMachine(answer.machine);
    }
    ui.changed();
  };
  /** Ask for one more thing from now on, as in `wants`, because another view is shown. */
  ui.want = (what) => {
    if (wants.includes(what)) return;
    wants = [...wants, what];
    ui.machine = null;
    readMachine();
    readAround();
  };
  const readVocabulary = async () => {
    const name = (model.get("vocabulary") || {}).fingerprint;
    if (!name || !wants.includes("words")) return;
    if (!shared.has(name)) {
      const asked = ui.ask("words").then(async (answer) => {
        if (!answer.ok) return null;
        const inner = JSON.parse(new TextDecoder().decode(await ui.during(unpack(answer.words.data))));
        return { ...answer.words, ...inner };
      });
      shared.set(name, asked);
      asked.then((found) => found || shared.delete(name));
    }
    const found = await shared.get(name);
    if ((model.get("vocabulary") || {}).fingerprint === name) ui.vocabulary = found;
    ui.changed();
  };
  // A line arrives as what changed of the one before. The whole is written into the model in its
  // place, so that a second view, and a notebook that is saved, have it too.
  const readLine = () => {
    const line = model.get("line") || {};
    if (line.change) {
      if (line.on !== ui.line.version) {
        ui.ask("line").then((answer) => {
          const now = model.get("line") || {};
          if (!answer.ok || (now.version !== answer.line.version && now.change)) return;
          if (now.change) whole(now, answer.line);
          readPosition();
        });
        return false;
      }
      whole(line, { ...patched(ui.line, line.change), version: line.version });
    }
    ui.line = line;
    return true;
  };
  const whole = (line, found) => {
    for (const key of Object.keys(line)) delete line[key];
    Object.assign(line, found);
  };
  const readPosition = () => {
    if (!readLine()) return;
    ui.position = model.get("position");
    if (ui.position && ui.position.k === (ui.line.index ?? ui.position.k)) ui.seen.set(pathKey(ui, ui.position.k), ui.position);
    ui.changed();
    // The first figures are asked for at once, and so are those of a page without a kernel: they delay nothing.
    if (!ui.around || model.get("replay")) readAround();
    else aroundLater();
  };
  model.on("change:machine", readMachine);
  model.on("change:vocabulary", readVocabulary);
  model.on("change:position", readPosition);
  model.on("change:line", readPosition);

  /** The readable text of an id. */
  ui.text = (id) => {
    const v = ui.vocabulary;
    if (!v) return "";
    if (v.special && v.special[id]) return v.special[id];
    return v.text[id] || ((v.eos || []).includes(id) ? "EOS" : "id " + id);
  };
  ui.isText = (id) => !!ui.vocabulary && !!ui.vocabulary.text[id] && !(ui.vocabulary.special && ui.vocabulary.special[id]) && !(ui.vocabulary.eos || []).includes(id);
  /** A token in its box. */
  ui.token = (id) =>
    h("span.lmx-tok" + (ui.isText(id) ? "" : ".special"), { "data-token": id, title: "id " + id },
      ui.isText(id) ? readable(ui.text(id)) : ui.text(id));
  ui.tokens = () => (ui.line.strip && ui.line.strip.tokens) || [];
  /** A question about a token at the present position, which is asked once: undefined until the answer has
   * arrived, null if there is no answer, so that frames do not ask again. Another machine forgets it. */
  const asked = (known, type, field) => (token) => {
    const key = pathKey(ui, ui.position.k) + "|" + token;
    if (!known.has(key)) {
      known.set(key, undefined);
      ui.ask(type, { token, k: ui.position.k }).then((answer) => {
        if (answer.stale) known.delete(key);
        else known.set(key, answer.ok ? answer[field] : null);
        ui.changed();
      });
    }
    return known.get(key);
  };
  ui.walk = asked(ui.walks, "walk", "walk"); // Byte by byte.
  ui.why = asked(ui.reasons, "why", "explanation");
  /** The token that the machines show: inside it, under the pointer, or selected. */
  ui.shown = () => {
    if (ui.inside) return { token: ui.inside.walk.token, walk: ui.inside.walk, byte: ui.inside.byte };
    const token = ui.hover ?? ui.selected;
    if (token === null || !ui.position || ui.position.finished) return null;
    const walk = ui.walk(token);
    return walk ? { token, walk, byte: null } : null;
  };
  ui.point = (token) => {
    if (ui.hover === token) return;
    ui.hover = token;
    ui.changed();
  };
  ui.select = (token) => {
    ui.selected = ui.selected === token ? null : token;
    ui.changed();
  };
  ui.go = async (k) => {
    ui.inside = ui.hover = ui.selected = null;
    if (!ui.gone) return ui.ask("jump", { k });
    // Without a kernel, what was sent can still be read.
    for (const viewer of look.viewers) {
      viewer.position = viewer.seen.get(pathKey(viewer, k)) || viewer.position;
      viewer.changed();
    }
    return { ok: ui.position.k === k };
  };
  ui.takeNth = (n) => {
    const entry = ((ui.position && ui.position.top) || []).filter((one) => one.allowed)[n - 1];
    if (entry && !ui.gone) ui.take(entry.id);
  };
  ui.take = async (token) => {
    ui.hover = ui.selected = null;
    if (ui.slow) {
      const answer = await ui.ask("peek", { token });
      if (answer.ok && answer.walk.bytes.length) {
        ui.inside = { walk: answer.walk, byte: 1 };
        ui.changed();
        return answer;
      }
    }
    ui.inside = null;
    return ui.ask("take", { token });
  };

  // Colours that are painted, not styled, must be painted anew when the theme changes.
  const themes = new MutationObserver(() => setTimeout(() => {
    ui.theme++;
    ui.changed();
  }, 300));
  for (const el of [document.body, document.documentElement]) themes.observe(el, { attributes: true, attributeFilter: ["data-jp-theme-light", "class"] });
  readMachine();
  readVocabulary();
  readPosition();
  return ui;
}

/** The name of a position: the tokens that lead to it. Each path is named by a number, so that a
 * name is as short after a thousand tokens as after one. */
function pathKey(ui, k) {
  const head = (ui.model.get("machine") || {}).key || "";
  const tokens = ui.tokens();
  const known = (ui.paths ??= { numbers: new Map(), made: 0, tokens: null, ids: [], names: [] });
  if (known.head !== head || known.tokens !== tokens) {
    if (known.numbers.size > PATHS_NAMED) {
      known.numbers.clear();
      known.head = null;
      for (const kept of [ui.seen, ui.walks, ui.reasons]) kept.clear();
    }
    const number = (path) => {
      if (!known.numbers.has(path)) known.numbers.set(path, ++known.made);
      return known.numbers.get(path);
    };
    let same = 0;
    if (known.head === head) while (same < tokens.length && same < known.ids.length && tokens[same].id === known.ids[same]) same++;
    else known.names = [number(head)];
    known.names.length = same + 1;
    known.ids.length = same;
    for (let i = same; i < tokens.length; i++) {
      known.ids.push(tokens[i].id);
      known.names.push(number(known.names[i] + "," + tokens[i].id));
    }
    known.head = head;
    known.tokens = tokens;
  }
  return known.names[Math.min(k, tokens.length)] + ":";
}
