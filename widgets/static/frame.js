// The frame of a view, alone or among others: errors, the state of the kernel, the text that a screen reader
// reads out, and the keys.

/** The keys that `listen` and the views know, as the list shows them. */
const KEYS = [
  ["→", "step"], ["←", "back"], ["Home", "to the start"], ["End", "to the end"], ["space", "play or pause"],
  ["1 … 9", "take the allowed token of that number in the list"],
  ["↓", "into the next tokens, and from one to the other with ↑ ↓"],
  ["Enter", "take the token in focus if it is allowed, else say why not; in the pattern: compile"],
  ["space", "in a lecture: the next machine, then a step; Esc ends it"],
  ["→ ←", "pair by pair: the next pair, the one before; Esc ends it"],
  ["Shift+Enter", "a newline in the pattern"], ["Esc", "close the reason"],
  ["↑ ↓", "in the stack: its rows; each lights its rule in the editor"],
  ["+ − 0", "size of the machine or of the mask in focus"], ["?", "this list"],
  ["any other", "is the notebook's: Ctrl+S saves, Shift+Enter runs the cell"],
];

/** The lines about errors and the kernel, and the line that is read out; `uis` are the page states of the views
 * inside. */
function frame(model, root, ...uis) {
  const note = h("div.lmx-note", { role: "status", hidden: true });
  const failure = h("div.lmx-error", { role: "alert", hidden: true });
  const live = h("div.lmx-live", { "aria-live": "polite" });
  const tasks = h("div.lmx-note.lmx-tasks", { hidden: true });
  let error = null;
  let shown = new Map(); // what is being done, by its object: its words
  const doing = () => {
    const now = uis.flatMap((ui) => [...ui.tasks].map(([re, task]) => ({ ui, re, task })));
    tasks.hidden = !now.length;
    for (const { ui, re, task } of now) {
      if (!shown.has(task)) {
        const words = h("span", { role: "status" });
        const line = h("div.row", {}, words, h("button.stop", { onclick: () => ui.stop(re) }, "cancel"));
        shown.set(task, { words, line });
        tasks.append(line);
      }
      say(shown.get(task).words, `${task.doing}… ${task.words} `);
    }
    const alive = new Set(now.map(({ task }) => task));
    for (const [task, { line }] of shown) {
      if (alive.has(task)) continue;
      line.remove();
      shown.delete(task);
    }
  };
  // Larger, for a projector: text and marks alike, so it is one zoom of the whole.
  const size = h("button.lmx-size", { title: "larger, for a projector", "aria-label": "larger, for a projector", onclick: () => {
    model.set("size", model.get("size") === "projector" ? "normal" : "projector");
    if (model.save_changes && !uis[0].gone) model.save_changes();
  } }, h("span", {}, "A"), h("b", {}, "A"));
  const sized = () => {
    const large = model.get("size") === "projector";
    root.classList.toggle("lmx-large", large);
    size.setAttribute("aria-pressed", large);
    for (const ui of uis) ui.changed();
  };
  const listed = h("table.lmx-keylist", { hidden: true, "aria-label": "keys" }, KEYS.map(([key, does]) => h("tr", {}, h("td", {}, h("kbd", {}, key)), h("td", {}, does))));
  const keys = h("button.lmx-keys", { "aria-expanded": "false", title: "what each key does (?)", onclick: () => {
    listed.hidden = !listed.hidden;
    keys.setAttribute("aria-expanded", !listed.hidden);
  } }, "Keys");
  model.on("change:size", sized);
  sized();
  const update = () => {
    const gone = uis.some((ui) => ui.gone);
    const busy = uis.some((ui) => ui.busy);
    const waiting = busy ? uis[0].waiting() : 0;
    const word = uis.map((ui) => ui.word).find(Boolean) || "";
    doing();
    note.hidden = !gone && !busy && !word;
    say(note, gone ? "kernel restarted: run the cell. The steps already sent can still be read." : busy ? "kernel busy…" + (waiting ? ` ${waiting} more press${waiting > 1 ? "es wait" : " waits"}.` : "") : word);
    root.classList.toggle("gone", gone);
    failure.hidden = !error;
    if (!error) return;
    put(failure, h("div.row", {}, h("b", {}, error.title || "Something went wrong"), h("div.sp"), h("button.quiet", { onclick: () => {
      error = null;
      update();
    } }, "close")), h("p", {}, error.message || ""), error.remedy ? h("p", {}, error.remedy) : null,
      error.details ? h("details", {}, h("summary", {}, "details"), h("pre", {}, error.details)) : null);
  };
  const heard = (content) => {
    if (!content || content.ok !== false || content.quiet) return;
    error = content.error || null;
    update();
  };
  model.on("msg:custom", heard);
  // For programs that wait: the positions at which all parts are drawn and nothing more will change.
  const rest = () => {
    const places = uis.map((ui) => (ui.position ? ui.position.k : "-")).join(" ");
    mark(root, "data-shown", places);
    mark(root, "data-rest", uis.every((ui) => ui.still()) ? places : "");
  };
  const unrest = () => mark(root, "data-rest", "");
  const ends = uis.flatMap((ui) => [ui.on("after", rest), ui.on("asked", unrest), ui.on("change", update), ui.on("live", (text) => say(live, text))]);
  update();
  return {
    note, failure, live, size, tasks, keys, listed,
    end: () => {
      if (model.off) model.off("msg:custom", heard);
      for (const end of [...ends, ...uis.map((ui) => ui.end)]) end();
    },
  };
}

/** Keys for a view that has a stepper or bars; text fields keep theirs. */
function listen(root, ui, around) {
  const steps = (name) => ui.steps && ui.steps[name];
  const keys = {
    ArrowRight: steps("step"),
    ArrowLeft: steps("back"),
    ArrowDown: ui.enterRows,
    Home: steps("start"),
    End: steps("end"),
    " ": steps("play"),
    Escape: () => (ui.selected = ui.inside = null),
  };
  const known = Object.keys(keys).filter((key) => keys[key]).map((key) => (key === " " ? "Space" : key));
  root.dataset.keys = [...known, ...(ui.position ? "123456789" : ""), around ? "?" : ""].join(" ");
  root.addEventListener("keydown", (event) => {
    if (!usesKey(event) || isTextField(event.target)) return;
    const pressed = event.key === " " && event.target.closest("button, [role=button], input, summary");
    const graph = event.target.closest(".lmx-graph") && /^[+\-0]$/.test(event.key);
    if (pressed || graph) return;
    const moves = (event.key.startsWith("Arrow") && keys[event.key]) || /^[1-9]$/.test(event.key);
    // A key that is held down goes on as fast as it is answered.
    if (moves && event.repeat && ui.waiting()) return event.preventDefault();
    const act = ui.lecture?.[event.key] || ui.lesson?.[event.key] || keys[event.key];
    if (act) act();
    else if (/^[1-9]$/.test(event.key)) ui.takeNth(Number(event.key));
    else if (event.key === "?" && around) around.keys.click();
    else return;
    event.preventDefault();
  });
}

/** A view that stands alone in its cell. `wants` is what `pageState` asks for; `keyed` views take
 * keys. */
function standalone(name, render, wants, keyed) {
  return ({ model, el }) => {
    const root = h("div.lmx-root.lmx-alone", { tabindex: keyed ? 0 : null });
    el.append(root);
    island(root);
    const ui = pageState(model, wants);
    const around = frame(model, root, ui);
    const body = h("div.lmx-body.lmx-part-" + name);
    root.append(around.note, around.tasks, around.failure, body, around.live);
    const undo = render({ model, el: body, ui, alone: true });
    if (keyed) listen(root, ui);
    return () => {
      if (undo) undo();
      around.end();
    };
  };
}
