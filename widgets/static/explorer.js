// The whole explorer: the editor → the token strip → the machines with the next tokens and the reason beside them
// → drawers. Each part is the view that also stands alone; they share one page state.

const LEAST_HEIGHT = 700; // A lower window has no room for the mask below the machines.

/** The drawers: parts that are not always needed. */
const DRAWERS = [
  { name: "mask", title: "Mask", render: renderMask, open: (model) => innerHeight >= LEAST_HEIGHT && ((model.get("vocabulary") || {}).size || Infinity) <= SMALL_MASK, headline: ({ position: p, vocabulary }) => (!p || p.finished || !vocabulary ? "" : `${count(p.allowed)} of ${count(vocabulary.size)} allowed`) },
  { name: "reasons", title: "Why the rest is masked", render: renderReasons, headline: ({ position: p, vocabulary }) => (!p || p.finished || !vocabulary ? "" : `${count((p.width || vocabulary.size) - p.allowed)} tokens`) },
  { name: "time", title: "Over time", render: renderOverTime, headline: () => "" },
  { name: "traps", title: "Traps", render: renderTraps, headline: ({ traps, lookedForTraps }) => (!lookedForTraps ? "" : traps.length ? count(traps.length) : "none") },
  { name: "engines", title: "Other engines", render: renderEngines, headline: () => "" },
];

export function renderExplorer({ model, el }) {
  const root = h("div.lmx-root.lmx-whole", { tabindex: 0 });
  el.append(root);
  island(root, "Constrained decoding explorer");
  const ui = pageState(model);
  // What is said of the whole: the counts and times of the machines, how they were composed, the stages, the model.
  ui.info = h("div.tools.lmx-info", {}, h("p"));
  ui.foot = h("div.lmx-foot"); // Below the machines: how they are walked through, and how they are drawn.
  const about = h("span.chip.about");
  const around = frame(model, root, ui);
  const exporting = (picture) => async () => {
    const answer = await ui.ask("export", { picture }, { doing: "exporting" });
    if (!answer.ok) return;
    save(answer.name, answer.text);
    ui.remark(`${answer.name} is written to your downloads.`);
  };
  const more = h("button.quiet", { "aria-expanded": "false", title: "temperature, filters", onclick: () => {
    sampler.hidden = !sampler.hidden;
    more.setAttribute("aria-expanded", !sampler.hidden);
  } }, "Sampler");
  const exported = h("button.quiet", { title: "one file that replays this without a kernel", onclick: exporting(false) }, "Export…");
  const animated = h("button.quiet", { title: "one SVG file that shows this run, again and again", onclick: exporting(true) }, "Animated picture…");
  const place = (name) => h("div." + name);
  const [editor, sampler, stepper, strip, pipeline, machines, stack, distribution] =
    ["editor", "sampler", "stepper", "strip", "pipeline", "machines", "stack", "distribution"].map((name) => place("lmx-part-" + name));
  sampler.hidden = true;
  const asked = drawers(model, ui, DRAWERS);
  root.append(
    h("div.lmx-top", {}, h("b", {}, "Explorer"), about, editor, quietMenu("What this is", ui.info, "i", "states, times, stages, the model"), around.size, exported,
      quietMenu("Explorer", h("div.tools", {}, more, lineButtons(model, ui), animated, around.keys), "⋯", "sampler, lines, a picture, keys")),
    around.listed, around.note, around.tasks, around.failure, sampler,
    h("div.lmx-bar", {}, stepper, strip),
    pipeline, h("div.lmx-parts", {}, h("div.lmx-left", {}, h("div.lmx-beside", {}, machines, stack), ui.foot), h("div.lmx-numbers", {}, distribution)), asked.el, around.live);
  const moving = motion(model, root, ui);
  root.append(moving.air);
  const parts = [
    [renderEditor, editor], [renderPipeline, pipeline], [renderSampler, sampler], [renderStepper, stepper], [renderStrip, strip],
    [renderMachines, machines], [renderStack, stack], [renderDistribution, distribution],
  ];
  const undo = parts.map(([render, where]) => render({ model, el: where, ui }));
  moving.ready();

  const update = () => {
    for (const one of [about, ui.info.firstChild]) say(one, model.get("about") || "");
    more.disabled = ui.gone || !!model.get("replay");
    for (const one of [exported, animated]) {
      one.hidden = !!model.get("replay");
      one.disabled = ui.gone;
    }
  };
  listen(root, ui, around);
  const off = ui.on("change", update);
  update();
  return () => {
    off();
    undo.forEach((one) => one && one());
    asked.end();
    moving.end();
    around.end();
  };
}
