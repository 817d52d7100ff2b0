// Walking through decoding: buttons, keys, slow motion inside a token, and play.
//
// Each press has its turn (`turns.js`), and play takes its turns like a person: it asks for the next step after
// the last was answered, so nothing piles up in the kernel. In slow motion a press of Step reads one byte; the token is taken after its last byte.

const SPEEDS = [["½×", 0.5], ["1×", 1], ["2×", 2], ["4×", 4], ["full speed", 0]];
const RUN_CHUNK = 16;
const RUN_LIMIT = 1024;

export function renderStepper({ model, el, ui = pageState(model), alone: single = false }) {
  island(el, "Steps");
  let playing = false;
  Object.defineProperty(ui, "playing", { get: () => playing, configurable: true });
  let timer = 0;

  const length = () => ui.tokens().length;
  const k = () => (ui.position ? ui.position.k : 0);
  const ended = () => !!ui.position && ui.position.finished;

  /** Whether this is the end of a run from elsewhere or of a record, where no model can choose a next token. */
  const modelless = () => (ui.line.model === false || !!model.get("replay")) && k() >= length();
  const atEnd = () => (model.get("steps") ? " · your step" : model.get("replay") || ui.tokens().some(({ by }) => by !== "user") ? " · end of the run" : " · your step");

  const announce = () => {
    const p = ui.position;
    if (!p) return;
    const last = ui.tokens()[p.k - 1];
    ui.announce(p.finished
      ? `Finished after ${p.k} tokens.`
      : `Position ${p.k}${last ? ", after " + ui.text(last.id) : ""}: ${p.allowed} allowed, feasible mass ${mass(p.z)}.${p.stack ? " Stack: " + stackCaption(p.stack) + "." : ""}`);
  };
  const settle = async () => {
    ui.inside = null;
    ui.hover = ui.selected = null;
    return ui.ask("step");
  };
  const step = () => ui.turn(async () => {
    if (ended()) return { ok: false };
    if (ui.gone) return ui.jump(k() + 1);
    if (modelless()) return { ok: false };
    if (!ui.slow) return settle();
    if (!ui.inside) {
      const answer = await ui.ask("peek");
      if (!answer.ok) return answer;
      if (!answer.walk.bytes.length) return settle(); // EOS writes nothing.
      ui.hover = null;
      ui.inside = { walk: answer.walk, byte: 1 };
      return answer;
    }
    if (ui.inside.byte < ui.inside.walk.bytes.length) {
      ui.inside = { ...ui.inside, byte: ui.inside.byte + 1 };
      return { ok: true };
    }
    return settle();
  });
  const back = () => ui.turn(async () => {
    if (!ui.inside) return k() > 0 && ui.jump(k() - 1);
    ui.inside = ui.inside.byte > 1 ? { ...ui.inside, byte: ui.inside.byte - 1 } : null;
  });
  // The kernel is told, so that it puts off work that would slow play down.
  const started = (on) => {
    playing = on;
    ui.tell("play", { on });
  };
  const pause = () => {
    if (playing) started(false);
    clearTimeout(timer);
    announce();
    ui.changed();
  };
  const play = () => {
    if (playing) return pause();
    started(true);
    const speed = () => Number(speeds.value);
    const turn = async () => {
      const answer = await step();
      if (!answer.ok || ended() || !playing) return playing && pause();
      const rest = speed() ? (ui.slow ? 450 : 800) / speed() : 0;
      timer = setTimeout(turn, rest);
    };
    turn();
    ui.changed();
  };
  let ending = false; // A second press of To the end has the same effect.
  const toEnd = async () => {
    if (ending) return;
    ending = true;
    ui.inside = ui.hover = ui.selected = null;
    started(true);
    ui.changed();
    try {
      for (let done = 0; done < RUN_LIMIT && playing; done += RUN_CHUNK) {
        const answer = await ui.turn(() => ui.ask("run", { tokens: RUN_CHUNK }));
        if (answer.said) ui.remark(answer.said);
        if (!answer.ok || answer.stopped || ended()) break;
      }
    } finally {
      ending = false;
    }
    pause();
  };
  const press = (action) => () => action().then(announce);
  ui.steps = { step: press(step), back: press(back), play, start: press(() => ui.go(0)), end: toEnd };

  const button = (label, title, action, more = "") =>
    h("button" + more, { title, "aria-label": title, onclick: (event) => event.currentTarget.getAttribute("aria-disabled") !== "true" && action() }, label);
  const first = button("|◀", "to the start (Home)", ui.steps.start);
  const prev = button("◀", "back (←)", ui.steps.back);
  const next = button("Step ▶", "step (→)", ui.steps.step, ".p.step");
  const run = button("Play", "play or pause (space)", play, ".play");
  const end = button("▶▶", "to the end (End)", toEnd);
  const speeds = h("select", { title: "speed", "aria-label": "speed" }, SPEEDS.map(([name, value]) =>
    h("option", { value, selected: value === 1 }, name)));
  const slow = h("input", { type: "checkbox", "aria-label": "slow motion", onchange: () => {
    ui.slow = slow.checked;
    ui.inside = null;
    ui.changed();
  } });
  const where = h("span.chip.where");
  // In the explorer only what is pressed most stands beside the text.
  const rest = [run, speeds, h("label.ck", { title: "step inside a token, byte by byte" }, slow, ui.foot ? " slow" : " slow motion"), where];
  el.append(h("div.lmx-stepper", {}, first, prev, next, end, ui.foot ? null : rest, single && lineButtons(model, ui)));
  if (ui.foot) ui.foot.append(...rest);

  const update = () => {
    const off = ui.gone;
    const stuck = !ui.position || ended() || off || modelless();
    disable(first, k() === 0);
    disable(prev, k() === 0 && !ui.inside);
    disable(next, (stuck && !(off && k() < length())) || playing);
    for (const one of [run, end]) disable(one, stuck && !playing);
    say(run, playing ? "Pause" : "Play");
    slow.disabled = off;
    slow.checked = ui.slow;
    const byte = ui.inside ? ` · byte ${ui.inside.byte} of ${ui.inside.walk.bytes.length}` : "";
    const ahead = length() > k() ? ` of ${length()}` : "";
    say(where, `position ${k()}${ahead}${byte}${ended() ? " · finished" : modelless() ? atEnd() : ""}`);
  };
  const off = ui.on("change", update);
  update();
  return () => {
    pause();
    off();
  };
}

/** The buttons for lines: one keeps this line and goes on beside it, the other starts again. */
function lineButtons(model, ui) {
  const button = (type, label, title) => h("button", { title, disabled: !!model.get("replay"), onclick: () => {
    ui.turn(() => {
      ui.inside = null;
      return ui.ask(type);
    });
  } }, label);
  const made = [
    button("fork", "Fork", "keep this line and go on beside it"),
    button("reset", "Reset", "start again and forget all lines"),
  ];
  ui.on("change", () => made.forEach((one) => (one.disabled = ui.gone || !!model.get("replay"))));
  return made;
}
