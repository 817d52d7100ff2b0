// The pipeline of the constraint: pattern → stages of the text → tokens → stages of the tokens.
//
// A click on a stage shows what it does, and its machine where it has one; of a stage of the tokens, the pairs of
// neighbours at the present place: which of them it refuses, and what the tokenizer would write instead. The box beside its name switches it
// on and off: the constraint is compiled again, and mask and probabilities follow.

export function renderPipeline({ model, el, ui = pageState(model) }) {
  island(el, "Pipeline of the constraint");
  const replay = !!model.get("replay");
  const bar = h("ol.lmx-pipeline", { "aria-label": "pipeline" });
  const add = h("select", { "aria-label": "add a stage", title: "put another stage around the constraint" });
  const failure = h("p.no", { role: "alert", hidden: true });
  const panel = h("div.lmx-stage", { hidden: true });
  const composed = composedBy(ui, replay);
  el.append(h("div.lmx-pipes", {}, bar, ui.info ? null : [add, composed.line]), failure, panel);
  if (ui.info) ui.info.append(composed.line, add); // In the explorer a line of its own has only what is there.
  let open = -1;
  let drawn = "";
  let waiting = false;
  let seen = ""; // the place whose pairs are shown
  const path = () => (ui.position ? pathKey(ui, ui.position.k) : "");
  const given = () => (model.get("editor") || {}).pipeline || { stages: [], offered: [] };

  const told = (answer) => {
    const error = answer.ok || answer.cancelled || answer.gone ? null : answer.error || {};
    failure.hidden = !error;
    if (error) put(failure, error.message || "not possible", " ", error.remedy || "");
  };
  const change = async (type, content) => {
    waiting = true;
    update();
    const answer = await ui.ask(type, content, { shown: true });
    waiting = false;
    told(answer);
    drawn = "";
    update();
  };
  const show = async (number) => {
    open = open === number ? -1 : number;
    drawn = "";
    update();
    if (open < 0) return;
    await draw();
  };
  const draw = async () => {
    const [number, key] = [open, path()];
    seen = key;
    const answer = await ui.ask("stage_machine", { stage: number });
    if (open !== number || seen !== key) return;
    told(answer);
    if (!answer.ok) return;
    const { title, about, call, on, figure, layout, drawn: why, neighbours } = answer.stage;
    const relation = neighbours ? pairsOf(title, neighbours) : !on && !figure ? h("p.dim", {}, "It is switched off, so it refuses nothing here.") : h("p.dim", {}, why);
    put(panel, h("h4", {}, title), h("code", {}, call), h("p", {}, about),
      figure ? h("div.lmx-graph", { tabindex: 0, "aria-label": "the machine of the stage " + title }, machineOf(figure, layout)) : relation);
  };
  /** The pairs of the last token and each next one, as rows of boxes. */
  const pairsOf = (title, { last, pairs, refused, allowed }) => {
    const boxed = (words) => h("span.tok", {}, words);
    const row = ({ token, share, refused: no, instead }) => h("tr" + (no ? ".no" : ".ok"), {},
      h("td", {}, last ? boxed(last) : h("span.dim", {}, "start")),
      h("td", {}, h("span.dim", { "aria-hidden": "true" }, no ? "✗" : "→")),
      h("td", {}, h("span.tok" + (no ? ".struck" : ""), {}, token)),
      h("td.num", {}, share === null ? "" : share < 0.005 ? "<0.01 %" : share.toFixed(share < 10 ? 2 : 0) + " %"),
      h("td", {}, no ? (instead.length ? ["refused: the tokenizer writes ", instead.map(boxed)] : "refused: no text goes on so") : "as the tokenizer writes it"));
    const words = count(refused) + " of " + count(refused + allowed) + " tokens that fit the text are refused here" + (pairs.length < refused + allowed ? "; the likeliest:" : ":");
    return h("div.lmx-pairs", { tabindex: 0, role: "group", "aria-label": "pairs at the present place of the stage " + title }, h("p", {}, words),
      h("table", {}, h("thead", {}, h("tr", {}, ["last", "", "next", "model", "the stage"].map((name) => h("th", { scope: "col" }, name)))), h("tbody", {}, pairs.map(row))));
  };
  const machineOf = (figure, layout) => {
    const { svg } = drawMachine(figure, layout, "characters");
    svg.setAttribute("width", layout.width);
    return svg;
  };
  add.addEventListener("change", () => {
    const kind = add.value;
    add.value = "";
    if (kind) change("add_stage", { stage: kind });
  });

  const box = ({ title, about, on }, number) => {
    const toggle = h("input", { type: "checkbox", "aria-label": "stage " + title, title: on ? "switch it off" : "switch it on", disabled: waiting || replay || ui.gone,
      onchange: () => change("switch_stage", { stage: number, on: toggle.checked }) });
    toggle.checked = on;
    const name = h("button.quiet", { title: about, "aria-expanded": open === number, onclick: () => show(number) }, title);
    return h("li.stage" + (on ? "" : ".off"), {}, toggle, name);
  };
  const update = () => {
    const { pattern, tokens, stages, offered } = given();
    const key = JSON.stringify([pattern, tokens, stages, offered, waiting, ui.gone, open]);
    if (key === drawn) return;
    drawn = key;
    el.hidden = !pattern || (!stages.length && (!!ui.info || replay || !offered.length));
    if (open >= stages.length) open = -1;
    panel.hidden = open < 0;
    const of = (level) => stages.map((stage, number) => (stage.level === level ? box(stage, number) : null));
    put(bar, h("li", {}, pattern), of("text"), h("li", { title: "the vocabulary: the detokenizing FST" }, count(tokens || 0) + " tokens"), of("tokens"), h("li", {}, "mask"));
    add.hidden = replay || !offered.length;
    add.disabled = waiting || ui.gone;
    put(add, h("option", { value: "" }, waiting ? "compiling…" : "+ stage"), offered.map((stage) => h("option", { value: stage.kind, title: stage.about }, stage.title)));
  };
  /** A step changes what a stage of the tokens refuses, and an edit the machine. */
  const follow = () => {
    composed.read();
    const stage = open < 0 ? null : given().stages[open];
    if (stage && stage.level === "tokens" && !waiting && !ui.gone && path() !== seen) draw();
  };
  model.on("change:editor", update);
  const off = [ui.on("change", update), ui.on("after", follow)];
  update();
  return () => {
    composed.end();
    off.forEach((end) => end());
  };
}
