// The whole explorer: the editor → the token strip → the machines with the next tokens and the reason beside them
// → drawers. Each part is the view that also stands alone; they share one page state.

/** The drawers: parts that are not always needed; the mask is open at first. */
const DRAWERS = [
  { name: "mask", title: "Mask", render: renderMask, open: true, headline: ({ position: p, vocabulary }) => (!p || p.finished || !vocabulary ? "" : `${count(p.allowed)} of ${count(vocabulary.size)} allowed`) },
  { name: "reasons", title: "Why the rest is masked", render: renderReasons, headline: ({ position: p, vocabulary }) => (!p || p.finished || !vocabulary ? "" : `${count((p.width || vocabulary.size) - p.allowed)} tokens`) },
  { name: "time", title: "Over time", render: renderOverTime, headline: () => "" },
  { name: "traps", title: "Traps", render: renderTraps, headline: ({ traps, lookedForTraps }) => (!lookedForTraps ? "" : traps.length ? count(traps.length) : "none") },
  { name: "engines", title: "Other engines", render: renderEngines, headline: () => "" },
];

export function renderExplorer({ model, el }) {
  const root = h("div.lmx-root", { tabindex: 0 });
  el.append(root);
  island(root, "Constrained decoding explorer");
  const ui = pageState(model);
  const about = h("span.chip");
  const around = frame(model, root, ui);
  const exporting = async () => {
    const answer = await ui.ask("export", {}, { doing: "exporting" });
    if (answer.ok) save(answer.name, answer.html);
  };
  const more = h("button", { "aria-expanded": "false", title: "temperature, filters", onclick: () => {
    sampler.hidden = !sampler.hidden;
    more.setAttribute("aria-expanded", !sampler.hidden);
  } }, "Sampler");
  const exported = h("button", { title: "one file that replays this without a kernel", onclick: exporting }, "Export…");
  const place = (name) => h("div." + name);
  const [editor, sampler, stepper, strip, pipeline, machines, stack, distribution] =
    ["editor", "sampler", "stepper", "strip", "pipeline", "machines", "stack", "distribution"].map((name) => place("lmx-part-" + name));
  sampler.hidden = true;
  const asked = drawers(model, ui, DRAWERS);
  root.append(
    h("div.lmx-top", {}, h("b", {}, "Explorer"), about, h("div.sp"), around.size, around.keys, more, lineButtons(model, ui), exported),
    around.listed, around.note, around.tasks, around.failure, editor, sampler,
    h("div.lmx-bar", {}, stepper, strip),
    h("div.lmx-parts", {}, h("div.lmx-left", {}, pipeline, h("div.lmx-beside", {}, machines, stack)), h("div.lmx-numbers", {}, distribution), asked.el), around.live);
  const parts = [
    [renderEditor, editor], [renderPipeline, pipeline], [renderSampler, sampler], [renderStepper, stepper], [renderStrip, strip],
    [renderMachines, machines], [renderStack, stack], [renderDistribution, distribution],
  ];
  const undo = parts.map(([render, where]) => render({ model, el: where, ui }));

  const update = () => {
    say(about, model.get("about") || "");
    more.disabled = ui.gone || !!model.get("replay");
    exported.hidden = !!model.get("replay");
    exported.disabled = ui.gone;
  };
  listen(root, ui, around);
  const off = ui.on("change", update);
  update();
  return () => {
    off();
    undo.forEach((one) => one && one());
    asked.end();
    around.end();
  };
}
