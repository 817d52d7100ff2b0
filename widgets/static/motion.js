// A step as a motion: the token slides from the list into the text and splits into its letters, each letter runs along the arcs
// of the machines, and the pair lights. Then the mask of the new place: the masked tokens are struck, and their mass flows to the allowed
// ones. A masked token that is clicked runs to the letter where it fails, and back.
//
// The page shows the new place at once. This moves over it: letters that lie above it, and the opacity of what is drawn already.
// So it delays nothing, and the next press ends it. It is for the toy and the first three steps, and off where the system asks for
// less motion.

const SLIDE = 450; // Milliseconds: of a token into the text,
const RUN = 380; // of a letter along an arc,
const RUNS = 2600; // of all letters at most,
const LAST = 450; // of the token along the arc of the token DFA.
const STRIKE = 350; // Of the lines through what is masked,
const FLOW = 700; // of the mass to the allowed tokens.
const LEAST = 1; // The pixels of a piece of mass that is shown.
const FIRST_STEPS = 3;
const POINTS = 12; // The places of an arc through which a letter goes.

/** Follow the steps of a page. Call it before its parts are drawn: it looks where the token stands in the list. `ready` is called when
 * they are: what it moves then is theirs. */
function motion(model, root, ui) {
  const air = h("div.lmx-air", { "aria-hidden": "true" });
  const less = matchMedia("(prefers-reduced-motion: reduce)");
  let running = [];
  let shown = ""; // The path of the position that is shown,
  let k = 0; // and how many tokens it has.
  let selected = null;
  let made = 0;
  let step = null; // The step that is to be shown: {token, from}.

  const stop = () => {
    for (const one of running) one.cancel();
    running = [];
    air.replaceChildren();
    root.removeAttribute("data-motion");
  };
  const animate = (el, frames, options) => {
    const one = el.animate(frames, { easing: "ease-in-out", ...options });
    running.push(one);
    return one;
  };
  /** A place on the screen, as one of `air`. */
  const placed = () => {
    const [box, by] = [air.getBoundingClientRect(), zoomOf(root)];
    return (x, y) => `translate(${(x - box.left) / by}px, ${(y - box.top) / by}px) translate(-50%, -50%)`;
  };
  const middle = (box) => [box.left + box.width / 2, box.top + box.height / 2];
  /** Something that goes through places from one time to another, and is gone then. */
  const fly = (kind, text, frames, delay, duration) => {
    const el = air.appendChild(h("span." + kind, {}, text));
    animate(el, [{ opacity: 0, ...frames[0] }, ...frames.map((frame, i) => ({ ...frame, opacity: 1, offset: 0.05 + (0.9 * i) / Math.max(1, frames.length - 1) })), { opacity: 0, ...frames[frames.length - 1] }], { delay, duration, fill: "backwards", easing: "linear" })
      .finished.then(() => el.remove(), () => el.remove());
    el.style.opacity = 0;
    return el;
  };
  /** The places of an arc, if its end is in view. */
  const along = (path, to) => {
    const view = path.closest(".lmx-graph").getBoundingClientRect();
    const [length, matrix] = [path.getTotalLength(), path.getScreenCTM()];
    const all = Array.from({ length: POINTS + 1 }, (_, i) => {
      const { x, y } = path.getPointAtLength((length * i) / POINTS);
      return [matrix.a * x + matrix.c * y + matrix.e, matrix.b * x + matrix.d * y + matrix.f];
    });
    const [x, y] = all[POINTS];
    return x > view.left && x < view.right && y > view.top && y < view.bottom ? all.map(([x, y]) => ({ transform: to(x, y) })) : null;
  };
  const appear = (el, delay) => animate(el, [{ opacity: 0.08 }, { opacity: 1 }], { delay, duration: 160, fill: "backwards" });
  const pulse = (el, delay) => {
    for (const ring of el.querySelectorAll("circle, rect")) animate(ring, [{ transform: "scale(1)" }, { transform: "scale(1.35)" }, { transform: "scale(1)" }], { delay, duration: 320 });
  };
  const arrive = ({ lit, rings }, at) => {
    for (const el of lit) appear(el, at);
    for (const el of rings) pulse(el, at);
  };

  /** The letters of a token one after the other, then the pair; from a box in which it stands. */
  const run = (trail, box, begin, text) => {
    const to = placed();
    const [start, y] = box ? [box.left, box.top + box.height / 2] : [0, 0];
    const wide = box ? box.width / trail.letters.length : 0;
    const each = Math.min(RUN, RUNS / trail.letters.length);
    let at = begin;
    trail.letters.forEach((letter, i) => {
      for (const path of letter.paths) {
        const way = along(path, to);
        if (!way) continue;
        const first = box ? [{ transform: to(start + (i + 0.5) * wide, y) }] : [];
        const half = way.slice(0, POINTS / 2 + 1); // To the ✗, and back.
        fly("lmx-letter" + (letter.fails ? ".no" : ""), letter.text, [...first, ...(letter.fails ? [...half, ...[...half].reverse()] : way)], at, each * (letter.fails ? 2 : 1.25));
      }
      at += each;
      arrive(letter, at);
    });
    if (trail.pair) {
      const way = trail.pair.path && along(trail.pair.path, to);
      if (way) fly("lmx-tok.lmx-flies", text, way, at, LAST);
      arrive(trail.pair, (at += LAST));
    }
    return at;
  };
  /** The mass of masked tokens flows to the allowed ones of the list: their bars grow from the model's to the constrained. */
  const flow = (begin) => {
    const rows = [...root.querySelectorAll(".lmx-part-distribution .lmx-row[data-token]")].map((row) => {
      const [before, after] = ["b", "u"].map((bar) => row.querySelector(`.pair ${bar}`));
      const [model, constrained] = [before, after].map((bar) => bar.getBoundingClientRect());
      return { after, model, constrained, masked: row.classList.contains("masked"), gain: constrained.width - model.width };
    });
    const struck = rows.filter(({ masked, model }) => masked && model.width > LEAST);
    const grown = rows.filter(({ masked, gain }) => !masked && gain > LEAST);
    if (!struck.length || !grown.length) return begin;
    const [to, by] = [placed(), zoomOf(root)];
    const gained = grown.reduce((sum, { gain }) => sum + gain, 0);
    for (const { after, model, constrained } of grown) animate(after, [{ transform: `scaleX(${model.width / constrained.width})` }, { transform: "none" }], { delay: begin + STRIKE, duration: FLOW, fill: "backwards" });
    for (const { model } of struck) {
      const through = { transform: to(...middle(model)) };
      fly("lmx-strike", "", [{ transform: through.transform + " scaleX(0)" }, through, through, through], begin, STRIKE + FLOW).style.width = model.width / by + "px";
      let x = model.left;
      for (const { gain, model: before, constrained } of grown) {
        const wide = (model.width * gain) / gained;
        if (wide < LEAST) continue;
        const way = [[x, model], [before.right, constrained]].map(([left, bar]) => ({ transform: to(left + wide / 2, bar.top + bar.height / 2) }));
        fly("lmx-mass", "", way, begin + STRIKE, FLOW).style.width = wide / by + "px";
        x += wide;
      }
    }
    return begin + STRIKE + FLOW;
  };
  const until = (end) => {
    root.dataset.motion = "runs";
    animate(air, [{ opacity: 1 }, { opacity: 1 }], { duration: end + 200 }).finished.then(stop, () => {});
  };

  const moves = () => !less.matches && !ui.slow && !ui.playing && !document.hidden && (made < FIRST_STEPS || /^toy/.test(model.get("about") || ""));
  const before = () => {
    const now = ui.position ? pathKey(ui, ui.position.k) : "";
    if (now === shown) return;
    const last = shown && ui.position.k === k + 1 && pathKey(ui, k) === shown ? ui.tokens()[k] : null;
    [shown, k] = [now, ui.position ? ui.position.k : 0];
    stop();
    step = null;
    if (!last || !moves()) return;
    const row = [...root.querySelectorAll(`.lmx-row[data-token="${last.id}"] .name .lmx-tok`)].find((one) => one.getClientRects().length);
    step = { token: last, from: row ? row.getBoundingClientRect() : null };
  };
  const boxOf = () => root.querySelector(`.lmx-part-strip [data-k="${k}"]`);
  const hold = () => step && !step.held && boxOf() && (step.held = animate(boxOf(), [{ opacity: 0 }, { opacity: 0 }], { duration: 1000 }));
  const after = async () => {
    if (step) {
      const { token, from } = step;
      const path = shown;
      step = null;
      made++;
      const trail = await ui.trail(token.id);
      if (path !== shown || !boxOf()) return;
      stop();
      const [box, to] = [boxOf().getBoundingClientRect(), placed()];
      const begin = from ? SLIDE : 0;
      if (from) {
        fly("lmx-tok.lmx-flies", ui.text(token.id), [{ transform: to(...middle(from)) + " scale(.7)" }, { transform: to(...middle(box)) }], 0, SLIDE);
        appear(boxOf(), SLIDE - 60);
      }
      return until(flow(trail ? run(trail, box, begin, ui.text(token.id)) : begin));
    }
    if (selected === ui.selected) return;
    selected = ui.selected;
    const walk = selected !== null && ui.shown()?.walk;
    if (selected !== null && !walk) return (selected = null); // Its path is still to come.
    if (!walk || walk.allowed || less.matches) return;
    const trail = await ui.trail(selected, walk);
    if (!trail || selected !== walk.token) return;
    stop();
    until(run(trail, null, 0, walk.text));
  };
  const ends = [ui.on("change", before)];
  for (const press of ["pointerdown", "keydown"]) root.addEventListener(press, stop, true);
  return {
    air,
    ready: () => ends.push(ui.on("change", hold), ui.on("after", after)),
    end: () => {
      stop();
      for (const end of ends) end();
    },
  };
}
