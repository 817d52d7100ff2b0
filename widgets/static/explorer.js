// The whole: what we ask → where we are → the machines with the numbers beside them → the reason →
// the mask. Each part is the view that also stands alone; they share one page state.

export function renderExplorer({ model, el }) {
  const root = h("div.lmx-root", { tabindex: 0 });
  el.append(root);
  island(root, "Constrained decoding explorer");
  const ui = pageState(model);
  const about = h("span.chip");
  const note = h("div.lmx-note", { role: "status", hidden: true });
  const failure = h("div.lmx-error", { role: "alert", hidden: true });
  const live = h("div.lmx-live", { "aria-live": "polite" });
  const act = (type, content) => async () => {
    const answer = await ui.ask(type, content);
    if (type === "export" && answer.ok) save(answer.name, answer.html);
  };
  const more = h("button", { "aria-expanded": "false", title: "temperature, filters", onclick: () => {
    sampler.hidden = !sampler.hidden;
    more.setAttribute("aria-expanded", !sampler.hidden);
  } }, "Sampler");
  const fork = h("button", { title: "keep this line and go on beside it", onclick: act("fork") }, "Fork");
  const reset = h("button", { title: "start again; what was is forgotten", onclick: () => {
    ui.inside = null;
    act("reset")();
  } }, "Reset");
  const exported = h("button", { title: "one file that replays this without a kernel", onclick: act("export") }, "Export…");
  const place = (name) => h("div." + name);
  const [editor, sampler, stepper, strip, machines, distribution, mask, time] =
    ["editor", "sampler", "stepper", "strip", "machines", "distribution", "mask", "time"].map((name) => place("lmx-part-" + name));
  sampler.hidden = true;
  root.append(
    h("div.lmx-top", {}, h("b", {}, "Explorer"), about, h("div.sp"), more, fork, reset, exported),
    note, failure, editor, sampler,
    h("div.lmx-bar", {}, stepper, strip),
    h("div.lmx-two", {}, machines, distribution),
    h("div.lmx-low", {}, mask, time), live);
  const parts = [
    [renderEditor, editor], [renderSampler, sampler], [renderStepper, stepper], [renderStrip, strip],
    [renderMachines, machines], [renderDistribution, distribution], [renderMask, mask], [renderOverTime, time],
  ];
  const undo = parts.map(([render, where]) => render({ model, el: where, ui }));

  ui.on("live", (text) => (live.textContent = text));
  let error = null;
  model.on("msg:custom", (content) => {
    if (!content || content.ok !== false || content.quiet) return;
    error = content.error || null;
    ui.changed();
  });
  const update = () => {
    put(about, model.get("about") || "");
    note.hidden = !ui.gone && !ui.busy;
    put(note, ui.gone ? "kernel restarted: run the cell. The steps already sent can still be read." : ui.busy ? "kernel busy…" : "");
    root.classList.toggle("gone", ui.gone);
    for (const button of [fork, reset, more]) button.disabled = ui.gone || !!model.get("replay");
    exported.hidden = !!model.get("replay");
    exported.disabled = ui.gone;
    failure.hidden = !error;
    if (error) {
      put(failure, h("div.row", {}, h("b", {}, error.title || "Something went wrong"), h("div.sp"), h("button.quiet", { onclick: () => {
        error = null;
        ui.changed();
      } }, "close")), h("p", {}, error.message || ""), error.remedy ? h("p", {}, error.remedy) : null,
        error.details ? h("details", {}, h("summary", {}, "details"), h("pre", {}, error.details)) : null);
    }
  };
  const KEYS = {
    ArrowRight: () => ui.steps.step(),
    ArrowLeft: () => ui.steps.back(),
    Home: () => ui.steps.start(),
    End: () => ui.steps.end(),
    " ": () => ui.steps.play(),
    Escape: () => {
      ui.selected = ui.inside = null;
      ui.changed();
    },
  };
  root.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTextField(event.target)) return;
    const pressed = event.key === " " && event.target.closest("button, [role=button], input, summary");
    const graph = event.target.closest(".lmx-graph") && /^[+\-0]$/.test(event.key);
    if (pressed || graph) return;
    if (KEYS[event.key]) KEYS[event.key]();
    else if (/^[1-9]$/.test(event.key)) ui.takeNth(Number(event.key));
    else return;
    event.preventDefault();
  });
  const off = ui.on("change", update);
  update();
  return () => {
    off();
    undo.forEach((one) => one && one());
  };
}

/** Offer a text as a file. */
function save(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: "text/html" }));
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
