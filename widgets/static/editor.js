// The editor of the prompt and of the constraint, which is compiled while the user types.
//
// Typing is debounced, and only the answer to the last text counts. A compilation that takes longer than SLOW
// shows its time and can be cancelled. An error is shown with a caret under its place. After an error or a
// cancellation the text stays as it was typed, and the machines are those of the last good constraint. The
// parts that the position expects are underlined in the pattern itself. Enter confirms a pattern, and
// Shift+Enter writes a newline; in all other kinds a text has lines. Where newlines and white space at the edge
// of a line are text themselves, in a pattern and in choices, they are shown.

const DEBOUNCE = 350;
const SLOW = 300;
const TALLEST = 200; // Pixels of a field that is written in.
const MARKED = ["regex", "choices"];

export function renderEditor({ model, el, ui = pageState(model), constraintOnly = false }) {
  island(el, "Prompt and constraint");
  const given = () => model.get("editor") || {};
  const { kinds = [], presets: offered = [], examples = {}, models: others = [] } = model.get("offered") || {};
  const prompt = h("textarea", { rows: 1, spellcheck: "false", "aria-label": "prompt" });
  const kind = h("select", { "aria-label": "kind of constraint" });
  const presets = quietMenu("presets", h("div.tools.lmx-presets", {}, offered.map((preset) =>
    h("button", { "data-preset": preset.name, onclick: () => begin(preset) }, s("svg", { viewBox: "0 0 64 32", "aria-hidden": "true" }, s("path", { d: preset.picture })),
      h("span", {}, h("b", {}, preset.title), h("code", {}, short(preset.text.replace(/\s+/g, " "), 34)))))), "presets ▾", "constraints to start from, each with its own prompt");
  const models = h("select", { "aria-label": "model", title: "the model, with its own tokenizer, that is asked" });
  const remark = h("code.remark", { title: "options of the constraint, which an edit keeps" });
  const report = h("span.report");
  const doing = h("span.doing", { role: "status" });
  const folded = !!el.closest(".lmx-top"); // In the bar: one line, which opens while one writes in it.
  const pattern = h("textarea.pattern", { rows: 1, spellcheck: "false", autocomplete: "off", "aria-label": "constraint" });
  const behind = h("div.behind", { "aria-hidden": "true" });
  const error = h("div.lmx-error", { role: "alert", hidden: true });
  const cancel = h("button.stop", { hidden: true, title: "stop compiling; the last good constraint stays", onclick: () => {
    asked++;
    ui.tell("cancel");
    state = null;
    stop("cancelled");
    ui.announce("cancelled");
    pattern.focus();
  } }, "cancel");
  const stood = h("pre");
  const stands = h("details.lmx-stands", { hidden: true }, h("summary", {}, "the JSON Schema that it stands for"), stood);
  const last = h("code");
  const kept = h("p.lmx-kept.dim", { hidden: true }, "shown: ", last, h("span", {}, ", the last constraint that compiled "), h("button.quiet", { title: "put it into the editor again", onclick: () => {
    asked++;
    clearTimeout(timer);
    timer = 0;
    if (clock) ui.tell("cancel");
    [pattern.value, prompt.value] = [loaded.text || "", loaded.prompt || ""];
    kind.value = loaded.kind || "regex";
    state = null;
    stop("");
    pattern.focus();
  } }, "back to it"));
  const left = h("div.lmx-asks", {}, h("label", {}, h("span.word", {}, "Prompt"), h("span", { hidden: constraintOnly }, folded ? "the model: " : " to ", models)), h("div.lmx-slot", {}, prompt));
  const sheet = h("div.lmx-sheet", {}, h("div.lmx-field", {}, behind, pattern), stands, error, kept);
  const right = h("div.lmx-says", {}, h("label", {}, h("span.word", {}, "Constraint: "), kind, " ", remark, " ", report), presets, h("div.lmx-slot", {}, sheet), h("span.lmx-doing", {}, doing, " ", cancel));
  // Where two lines continue one prompt with one model, each side has only a constraint of its own.
  presets.hidden = constraintOnly || !offered.length;
  el.append(h("div.lmx-edit" + (constraintOnly ? ".one" : "") + (folded ? ".folded" : ""), {}, constraintOnly ? null : left, right));
  if (folded) ui.info.append(h("p", {}, models.parentElement), h("p", {}, report), h("p", {}, remark));

  let asked = 0;
  let state = null; // the last answer that was an error
  let timer = 0;
  let clock = 0; // while an answer is awaited
  let ended = ""; // why there is no answer
  let loaded = {}; // what the kernel said last
  const written = {}; // the text of each kind that was left for another
  let before = ""; // the kind that is shown
  const grow = (area) => {
    area.style.height = "auto";
    area.style.height = Math.min(area.scrollHeight + 2, TALLEST) + "px";
  };
  let drawn = {}; // what the fields show
  const stop = (why) => {
    drawn = {};
    clearInterval(clock);
    clock = 0;
    cancel.hidden = true;
    ended = why;
    refresh();
  };
  const submit = async (extra = {}) => {
    clearTimeout(timer);
    timer = 0;
    const mine = ++asked;
    ui.inside = null;
    stop("");
    const since = performance.now();
    clock = setInterval(() => {
      const ms = performance.now() - since;
      if (ms < SLOW) return;
      if (cancel.hidden) ui.announce("compiling");
      cancel.hidden = false;
      say(doing, "compiling… " + (ms / 1000).toFixed(1) + " s");
    }, 100);
    const answer = await ui.ask("edit", { prompt: prompt.value, kind: kind.value, text: pattern.value, ...extra }, { shown: true });
    if (mine !== asked) return; // Newer text was typed meanwhile, or the compilation was cancelled.
    state = answer.ok || answer.cancelled ? null : answer.error || null;
    stop(answer.cancelled ? "cancelled" : "");
    if (answer.ok) loaded = {};
    load();
    reveal();
  };
  /** Scroll a long text to what is wrong in it, or to what the position expects; the underlined copy has the same lines. */
  const reveal = () => {
    for (const [box, marks] of [[pattern, behind], [stood, stood]]) {
      const mark = marks.querySelector(".expect");
      if (!mark) continue;
      const [top, bottom] = [mark.offsetTop, mark.offsetTop + mark.offsetHeight];
      if (top < box.scrollTop || bottom > box.scrollTop + box.clientHeight) box.scrollTop = top - box.clientHeight / 2;
    }
    const mark = folded && !pattern.matches(":focus") && behind.querySelector(".expect");
    if (folded) behind.scrollLeft = mark ? mark.offsetLeft + mark.offsetWidth / 2 - behind.clientWidth / 2 : 0;
  };
  const later = () => {
    clearTimeout(timer);
    timer = setTimeout(() => submit(), DEBOUNCE);
    refresh();
  };
  prompt.addEventListener("input", later);
  pattern.addEventListener("input", later);
  // A text of one notation has no meaning in another: each kind keeps its own, and begins with an example.
  kind.addEventListener("change", () => {
    written[before] = pattern.value;
    pattern.value = written[kind.value] ?? (given().kind === kind.value ? given().text : examples[kind.value] ?? pattern.value);
    submit();
  });
  pattern.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || kind.value !== "regex") return;
    event.preventDefault();
    submit();
  });
  // Where the caret stands, in characters: the open rules around it are lit on the stack.
  const place = () => (ui.caret = pattern.matches(":focus") ? [...pattern.value.slice(0, pattern.selectionStart)].length : null);
  for (const event of ["keyup", "click", "focus", "blur"]) pattern.addEventListener(event, place);
  for (const event of ["focus", "blur"]) pattern.addEventListener(event, () => {
    drawn = {};
    requestAnimationFrame(refresh); // The field has another size then.
  });
  pattern.addEventListener("scroll", () => (behind.scrollTop = pattern.scrollTop));
  models.addEventListener("change", async () => {
    const mine = ++asked;
    ended = "compiling…";
    refresh();
    const answer = await ui.ask("choose_model", { model: models.value }, { shown: true });
    if (mine !== asked) return;
    state = answer.ok || answer.cancelled ? null : answer.error || null;
    stop("");
    if (answer.ok) loaded = {};
    load();
  });
  /** Begin with a preset: its constraint, its prompt and its model. */
  function begin(preset) {
    presets.open = false;
    [kind.value, pattern.value, prompt.value] = [preset.kind, preset.text, preset.prompt];
    submit({ preset: preset.name });
    pattern.scrollTop = 0;
  }

  const refresh = () => {
    before = kind.value;
    const text = pattern.value;
    const spans = state && state.start !== undefined && state.start !== null
      ? [[state.start, Math.max(state.end || 0, state.start + 1)]]
      : given().pattern === text && ui.position ? firstLines(text, ui.rule ? ui.rule.spans : ui.spans ? ui.spans() : ui.position.spans) : [];
    // The text of a Python type has no places that can be expected: those are in its schema.
    const stoodFor = given().pattern === text ? given().behind || "" : "";
    const within = stoodFor && ui.sources ? ui.sources().filter((part) => part.pattern === stoodFor).flatMap((part) => firstLines(stoodFor, part.spans)) : [];
    // A field that grows is measured, which lays out the page, so this is done only if its text changed.
    const next = { text, prompt: prompt.value, width: inner.width, spans: String(spans), within: stoodFor + within, state, said: given().report, ended, cancel: cancel.hidden };
    const moved = next.spans !== drawn.spans || next.within !== drawn.within;
    const grown = ["text", "prompt", "width"].some((name) => next[name] !== drawn[name]);
    if (!grown && ["spans", "within", "state", "said", "ended", "cancel"].every((name) => next[name] === drawn[name])) return;
    drawn = next;
    const shown = underlinedPattern(text + " ", spans);
    if (MARKED.includes(kind.value)) markBlanks(shown, kind.value === "choices");
    shown.classList.toggle("bad", !!state);
    behind.classList.toggle("many", text.includes("\n"));
    sheet.classList.toggle("told", !!state);
    put(behind, shown);
    if (grown) for (const area of [pattern, prompt]) grow(area);
    stands.hidden = !stoodFor;
    if (stoodFor) put(stood, underlinedPattern(stoodFor, within));
    if ((moved || grown) && !pattern.matches(":focus")) reveal();
    error.hidden = !state;
    kept.hidden = !(state || ended) || (text === loaded.text && kind.value === loaded.kind);
    if (!kept.hidden) {
      say(last, loaded.text || "(empty)");
      last.title = loaded.text || "";
    }
    if (state) {
      const caret = state.start === undefined || state.start === null ? null : caretLines(text, state.start, state.end);
      put(error, h("b", {}, state.title || "This cannot be compiled"), caret && h("pre", {}, caret), h((state.message || "").includes("\n") ? "pre" : "p", {}, (state.message || "").trimEnd()), state.remedy ? h("p", {}, state.remedy) : null,
        state.details ? h("details", {}, h("summary", {}, "details"), h("pre", {}, state.details)) : null);
    }
    if (cancel.hidden) say(doing, ended);
    say(report, state || ended ? "" : given().report || "");
  };
  const load = () => {
    const e = given();
    // Text that is being typed or compiled, or that could not be compiled, is not overwritten.
    const open = timer || clock;
    if (!open && !prompt.matches(":focus") && e.prompt !== loaded.prompt) prompt.value = e.prompt || "";
    const other = e.text !== loaded.text || e.kind !== loaded.kind;
    if (!open && !pattern.matches(":focus") && other) pattern.value = e.text || "";
    prompt.disabled = !!e.prompt_fixed;
    prompt.placeholder = e.prompt_fixed || "(empty)";
    const chosen = kind.value;
    put(kind, (kinds.includes(e.kind) ? kinds : [...kinds, e.kind || "regex"]).map((name) => h("option", { value: name, selected: name === e.kind }, name)));
    kind.value = open || !other ? chosen : e.kind || "regex";
    put(models, others.map((name) => h("option", { value: name, selected: name === e.model }, name)));
    if (e.model && !others.includes(e.model)) models.append(h("option", { value: "", selected: true }, e.model));
    models.parentElement.hidden = constraintOnly || others.length < 2;
    if (other) [state, ended] = [null, ""];
    say(remark, e.remark || "");
    loaded = e;
    refresh();
  };
  const update = () => {
    for (const field of [prompt, pattern, kind, models, ...presets.querySelectorAll("button")]) field.disabled = ui.gone || !!model.get("replay") || (field === prompt && !!given().prompt_fixed);
    refresh();
  };
  model.on("change:editor", load);
  const inner = sizeOf(el, () => refresh());
  const off = ui.on("after", update);
  load();
  // The process that compiles is warm by the first edit; it starts after the page is drawn.
  const ready = setTimeout(() => model.get("replay") || ui.tell("ready"), 1000);
  return () => {
    clearTimeout(ready);
    clearInterval(clock);
    inner.end();
    off();
  };
}

/** Make newlines, and white space at the edge of a line, visible: each in an element of its own, which
 * takes as much room as the character. In `choices` a newline is not a character of the text. */
function markBlanks(shown, choices) {
  const walker = document.createTreeWalker(shown, NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walker.nextNode()) texts.push(walker.currentNode);
  const whole = texts.map((node) => node.data).join("").slice(0, -1); // The last blank is the field's own.
  const marked = new Map();
  for (const found of whole.matchAll(/^[ \t]+|[ \t]+$|\n/gm)) {
    if (found[0] === "\n" && choices) continue;
    for (let i = 0; i < found[0].length; i++) marked.set(found.index + i, found[0][i]);
  }
  let at = 0;
  for (const node of texts) {
    const out = [];
    let plain = "";
    for (const letter of node.data.split("")) {
      const sign = marked.get(at++);
      if (!sign) {
        plain += letter;
        continue;
      }
      out.push(plain, h("span." + (sign === "\n" ? "newline" : "space"), {}, letter));
      plain = "";
    }
    node.replaceWith(...out, plain);
  }
}

/** The line that holds a spot, and carets under it. */
function caretLines(text, start, end) {
  const chars = [...text];
  let from = Math.min(start, chars.length);
  while (from > 0 && chars[from - 1] !== "\n") from--;
  let to = start;
  while (to < chars.length && chars[to] !== "\n") to++;
  const line = chars.slice(from, to).map((c) => (/\p{C}/u.test(c) ? "·" : c)).join("");
  const marks = Math.max(1, Math.min(end ?? start + 1, to) - start);
  return line + "\n" + " ".repeat(start - from) + "^".repeat(marks);
}
