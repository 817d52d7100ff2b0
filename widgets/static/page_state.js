// The state that the views of one widget share: the position, the questions to the kernel and their answers,
// and the token in view.
//
// A renderer takes {model, el}: `model` has get(name), set(name, value), on(event, callback) and
// send(message), and nothing else is asked of it. A notebook's widget is such a model, and so is
// the plain object of the stand-alone page; both run this very code.
//
// Beside it: `conversation.js` (what is said to the kernel), `turns.js` (presses, one after the other),
// `page_reading.js` (what is read of what it sends).

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

/** The token in view, shared with all pages on the same cursor, as fields of `ui`. */
function sharedLook(ui) {
  // hover: token under the pointer; selected: token that was clicked; slow: slow motion;
  // inside: {walk, byte}, inside a token; filter: {path, has(id), …}, a group of masked tokens;
  // rule: {spans}, an open rule that is pointed at; caret: the place in the constraint's editor.
  const name = ui.model.get("place") || "";
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
  /** Stop sharing it. */
  const leave = () => {
    look.viewers.delete(ui);
    if (!look.viewers.size) looks.delete(name);
  };
  return { look, leave };
}

/** `ui.changed`, which calls the listeners once per frame, and `ui.during`, work that keeps the page from rest. */
function frames(ui, listeners) {
  let frame = 0;
  let second = 0;
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
  const draw = () => {
    if (pressed()) return (frame = requestAnimationFrame(draw));
    frame = 0;
    for (const callback of listeners.change) callback();
    second ||= requestAnimationFrame(drawRest);
  };
  const drawRest = () => {
    if (ui.position && ui.position.numbers) return (second = 0); // The words call it again.
    if (pressed()) return (second = requestAnimationFrame(drawRest));
    second = 0;
    for (const callback of listeners.after) callback();
  };
  ui.changed = () => {
    frame ||= requestAnimationFrame(draw);
  };
}

/** The texts of tokens: `ui.text`, `ui.isText`, `ui.token`, and `ui.tokens` of the line. */
function tokenTexts(ui) {
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
}

/** `ui.walk` and `ui.why`: questions about a token at the present position, and the answers so far. */
function tokenQuestions(ui) {
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
}

/** What a person does: point at a token, select it, take it, go to a position. */
function pageMoves(ui, look) {
  /** The token that the machines show: inside it, under the pointer, or selected. */
  ui.shown = () => {
    if (ui.inside) return { token: ui.inside.walk.token, walk: ui.inside.walk, byte: ui.inside.byte };
    const token = ui.selected ?? ui.hover; // What was clicked stays lit until something else is clicked.
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
  /** Go to a position now; only inside of a turn. */
  ui.jump = async (k) => {
    ui.inside = ui.hover = ui.selected = null;
    if (!ui.gone) return ui.ask("jump", { k });
    // Without a kernel, what was sent can still be read.
    for (const viewer of look.viewers) {
      viewer.position = viewer.seen.get(pathKey(viewer, k)) || viewer.position;
      viewer.changed();
    }
    return { ok: ui.position.k === k };
  };
  ui.go = (k) => ui.turn(() => ui.jump(k));
  /** Whether a person can take a token here. */
  ui.takes = () => !ui.gone && (!ui.model.get("replay") || !!ui.model.get("steps"));
  ui.takeNth = (n) => {
    const entry = (ui.listed || []).filter((one) => one.allowed)[n - 1];
    if (entry && !ui.gone) ui.take(entry.id);
  };
  ui.take = (token) => {
    ui.hover = ui.selected = null;
    // Of the place where it was seen: a press before it may lead to another one.
    const seen = ui.sight();
    return ui.turn(async () => {
      if (ui.slow) {
        const answer = await ui.ask("peek", { token, seen });
        if (!answer.ok) return answer;
        if (answer.walk.bytes.length) {
          ui.inside = { walk: answer.walk, byte: 1 };
          ui.changed();
          return answer;
        }
        ui.inside = null;
        return ui.ask("take", { token });
      }
      ui.inside = null;
      return ui.ask("take", { token, seen });
    });
  };
}

/** Call back when the theme changes: colours that are painted, not styled, must be painted anew. */
function watchTheme(ui) {
  const themes = new MutationObserver(() => setTimeout(() => {
    ui.theme++;
    ui.changed();
  }, 300));
  for (const el of [document.body, document.documentElement]) themes.observe(el, { attributes: true, attributeFilter: ["data-jp-theme-light", "class"] });
}

/** What the views share on one page: decoded packets, the token in view, and slow motion.
 * Listeners of "change" are called once per frame, those of "after" in the next one: the first frame
 * after a step has the tokens and the numbers, and waits for no drawing. `wants` names what the page asks for
 * by itself; a view that stands alone leaves out what it does not show. */
function pageState(model, wants = ["machine", "words", "around"]) {
  const listeners = { change: new Set(), after: new Set(), live: new Set(), asked: new Set() };
  const ui = {
    model,
    wants,
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
    listed: [], // the tokens that the list shows
    due: new Set(), // questions that the page will ask by itself, and answers that it is reading
  };
  ui.on = (what, callback) => {
    listeners[what].add(callback);
    return () => listeners[what].delete(callback);
  };
  ui.announce = (text) => listeners.live.forEach((callback) => callback(text));
  frames(ui, listeners);
  conversation(ui, model, listeners.asked);
  const { look, leave } = sharedLook(ui);
  takeTurns(ui, look);
  tokenTexts(ui);
  tokenQuestions(ui);
  pageMoves(ui, look);
  watchTheme(ui);

  const around = aroundReader(ui, model);
  const readMachine = machineReader(ui, model);
  const readVocabulary = vocabularyReader(ui, model);
  const readPosition = () => {
    if (!readLine()) return;
    const sent = model.get("position");
    // The numbers come first; until the words follow, those of the position before stay.
    const { spans, stack } = ui.position || {};
    ui.position = sent && sent.numbers ? { spans, stack, ...sent } : sent;
    if (sent && sent.numbers) return ui.changed();
    if (ui.position && ui.position.k === (ui.line.index ?? ui.position.k)) ui.seen.set(pathKey(ui, ui.position.k), ui.position);
    ui.changed();
    // The first figures are asked for at once, and so are those of a page without a kernel: they delay nothing.
    if (!ui.around || model.get("replay")) around.read();
    else around.later();
  };
  const readLine = lineReader(ui, model, readPosition);
  model.on("change:machine", readMachine);
  model.on("change:vocabulary", readVocabulary);
  model.on("change:position", readPosition);
  model.on("change:line", readPosition);
  model.on("change:moved", readPosition);
  /** Ask for one more thing from now on, as in `wants`, because another view is shown. */
  ui.want = (what) => {
    if (ui.wants.includes(what)) return;
    ui.wants = [...ui.wants, what];
    ui.machine = null;
    readMachine();
    around.read();
  };
  ui.end = () => {
    leave();
    around.later.end();
  };
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
