// Two lines side by side on one prompt. Each column holds the views that also stand alone, with a model of its
// own. The stepper on top has a third model, which drives both lines.

/** One line of the widget as a model: its traits begin with its name, its messages carry it. */
function sideOf(model, side) {
  const own = (trait) => (model.get(`${side}_${trait}`) === undefined ? trait : `${side}_${trait}`);
  const hearing = new Map();
  return {
    side,
    get: (trait) => model.get(own(trait)),
    set: (trait, value) => model.set(own(trait), value),
    on: (event, callback) => {
      const [what, trait] = event.split(":");
      if (what === "change") return model.on(`change:${own(trait)}`, callback);
      if (event !== "msg:custom") return model.on(event, callback);
      hearing.set(callback, (content) => content && (content.side || "") === side && callback(content));
      return model.on(event, hearing.get(callback));
    },
    off: (event, callback) => model.off && model.off(event, hearing.get(callback) || callback),
    send: (message) => model.send({ ...message, side }),
    get comm_live() {
      return model.comm_live;
    },
  };
}

/** Both lines as one model for the stepper; its position is that of the line that is farther. */
function bothOf(model, sides) {
  const bare = sideOf(model, "");
  const each = (trait) => sides.map((side) => side.model.get(trait) || {});
  const made = {
    position: () => {
      const places = each("position");
      return { k: Math.max(...places.map((p) => p.k || 0)), finished: places.every((p) => p.finished) };
    },
    line: () => {
      const [left, right] = sides.map(({ ui }) => ui.tokens());
      const ids = Array.from({ length: Math.max(left.length, right.length) }, (_, i) => [left, right].map((line) => (line[i] ? line[i].id : "")).join("/"));
      const generation = each("line").reduce((sum, line) => sum + (line.generation || 0), 0);
      return { generation, strip: { tokens: ids.map((id) => ({ id })) } };
    },
    machine: () => ({ key: each("machine").map((machine) => machine.key).join("/") }),
  };
  return {
    ...bare,
    get: (trait) => (made[trait] ? made[trait]() : undefined),
    on: (event, callback) => {
      const trait = event.split(":")[1];
      if (!made[trait]) return bare.on(event, callback);
      for (const side of sides) side.model.on(event, callback);
    },
    get comm_live() {
      return model.comm_live;
    },
  };
}

const samplerWords = ({ temperature, top_k, top_p, min_p }) =>
  temperature ? [`temperature ${temperature}`, top_k && `top-k ${top_k}`, top_p && `top-p ${top_p}`, min_p && `min-p ${min_p}`].filter(Boolean).join(", ") : "greedy";

export function renderCompare({ model, el }) {
  const root = h("div.lmx-root.lmx-compare", { tabindex: 0 });
  el.append(root);
  island(root, "Two lines side by side");
  let together = false;
  const sides = ["left", "right"].map((name) => {
    const own = sideOf(model, name);
    const { send } = own;
    own.send = (message) => send(message.type === "take" ? { ...message, both: together } : message);
    const ui = pageState(own, ["machine", "words"]);
    return { name, model: own, ui };
  });
  const both = pageState(bothOf(model, sides), []);
  const { jump } = both;
  both.jump = (k) => {
    // Without a kernel each line reads what it was sent; otherwise the kernel moves both.
    if (both.gone) for (const side of sides) side.ui.jump(Math.min(k, side.ui.tokens().length));
    return jump(k);
  };
  for (const { ui } of sides) {
    ui.turns = both.turns;
    ui.go = (k) => both.go(k);
  }
  const announce = both.announce;
  both.announce = () => announce(`Position ${both.position.k}: ` + sides.map(({ name, ui }) =>
    `${name} ${ui.position.finished ? "finished" : `${count(ui.position.allowed)} allowed`}`).join(", ") + ". " + agreement.textContent);

  const about = h("span.chip");
  const agreement = h("span.chip.lmx-agree");
  const tick = h("input", { type: "checkbox", onchange: () => (together = tick.checked) });
  const around = frame(model, root, both, ...sides.map(({ ui }) => ui));
  const stepper = h("div.lmx-part-stepper");
  // Both texts above one another: the tokens that they share stand below each other.
  const lines = sides.map(({ name }) => h("div.lmx-line", { "data-side": name, role: "group", "aria-label": `the text on the ${name}` }, h("code")));
  const columns = sides.map(({ name }) => h("section.lmx-column", { "data-side": name, "aria-label": name }));
  root.append(
    h("div.lmx-top", {}, h("b", {}, "Compare"), about, h("div.sp"), agreement, around.size, around.keys),
    around.listed, around.note, around.tasks, around.failure,
    h("div.lmx-bar", {}, stepper, h("div.sp"), h("label.ck", { title: "a token that is taken on one side is also taken on the other, where it is allowed" }, tick, " take it on both sides")),
    h("div.lmx-lines", {}, lines), h("div.lmx-columns", {}, columns), around.live);
  const undo = [renderStepper({ model: bothOf(model, sides), el: stepper, ui: both })];
  sides.forEach((side, i) => {
    const { ui } = side;
    side.said = h("h4.said");
    const parts = ["editor", "distribution", "mask", "machines", "stack"].map((part) => h("div.lmx-part-" + part));
    const [editor, , , machines] = parts;
    const strip = lines[i].appendChild(h("div.lmx-part-strip"));
    editor.hidden = machines.hidden = true;
    /** A button that shows a part, which is made when it is first wanted. */
    const opens = (part, label, title, render) => {
      const button = h("button.quiet", { title, "aria-expanded": "false", onclick: () => {
        part.hidden = !part.hidden;
        button.setAttribute("aria-expanded", !part.hidden);
        if (part.hidden || part.firstChild) return;
        if (part === machines) ui.want("around");
        undo.push(render({ model: side.model, el: part, ui, constraintOnly: true }));
      } }, label);
      return button;
    };
    // The ways of constraining that the comparison was given, if it was.
    const names = model.get("schemes") || [];
    side.scheme = h("select", { "aria-label": `scheme on the ${side.name}`, hidden: !names.length, onchange: () => ui.ask("scheme", { scheme: side.scheme.value }, { doing: "another scheme" }) },
      h("option", { value: "", disabled: true }, "scheme"), names.map((name) => h("option", { value: name }, name)));
    columns[i].append(h("header", {}, side.said, side.scheme, (side.chip = h("span.chip")), h("div.sp"),
      opens(editor, "edit", "another constraint on this side", renderEditor), opens(machines, "machines", "the machines of this side", renderMachines)),
    ...parts);
    [renderStrip, renderDistribution, renderMask].forEach((render, j) => undo.push(render({ model: side.model, el: [strip, parts[1], parts[2]][j], ui, alone: true })));
    undo.push(renderStack({ model: side.model, el: parts[4], ui }));
    const update = () => {
      const e = side.model.get("editor") || {};
      side.scheme.value = side.model.get("scheme") || "";
      side.scheme.disabled = ui.gone;
      put(side.said, e.pattern ? underlinedPattern(e.pattern, (ui.position && ui.position.spans) || []) : h("span.dim", {}, "no constraint"));
      say(lines[i].firstChild, (names.length && side.model.get("scheme")) || short((e.pattern || "no constraint").replace(/\s+/g, " "), 24));
      put(side.chip, [e.pattern ? e.report : "", samplerWords(side.model.get("sampler") || {})].filter(Boolean).join(" · "));
    };
    undo.push(ui.on("change", update));
    update();
  });

  /** The number of the first token in which the lines differ, from 0; -1 if there is none. */
  const parting = () => {
    const [left, right] = sides.map(({ ui }) => ui.tokens());
    for (let i = 0; i < Math.min(left.length, right.length); i++) if (left[i].id !== right[i].id) return i;
    return -1;
  };
  let parted = null;
  const update = () => {
    put(about, model.get("about") || "");
    tick.disabled = both.gone;
    const now = parting();
    const same = Math.min(...sides.map(({ ui }) => ui.tokens().length));
    const tokens = (n) => `${n} token${n === 1 ? "" : "s"}`;
    put(agreement, now === 0 ? "they part at the first token" : now > 0 ? `the same for ${tokens(now)}, then they part` : same ? `the same for ${tokens(same)}` : "");
    if (now === parted) return;
    parted = now;
    for (const { ui } of sides) {
      ui.parted = now;
      ui.changed();
    }
  };
  listen(root, both, around);
  root.addEventListener("keydown", (event) => {
    if (event.key === "Escape") for (const { ui } of sides) ui.selected = null;
  });
  const off = both.on("change", update);
  update();
  return () => {
    off();
    undo.forEach((one) => one && one());
    around.end();
  };
}
