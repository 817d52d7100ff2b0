// The sampler's settings: temperature, filters, seed. A change keeps the tokens that were chosen.

const DIALS = [
  ["temperature", "temperature", 0, 5, 0.1],
  ["top_k", "top-k", 1, 1000, 1],
  ["top_p", "top-p", 0.01, 1, 0.01],
  ["min_p", "min-p", 0, 1, 0.01],
  ["seed", "seed", 0, Number.MAX_SAFE_INTEGER, 1],
];

export function renderSampler({ model, el, ui = pageState(model) }) {
  island(el, "Sampler");
  const fields = {};
  const note = h("span.no");
  let timer = 0;
  const submit = () => {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      const values = {};
      for (const [key] of DIALS) values[key] = fields[key].value === "" ? null : Number(fields[key].value);
      // A seed that is too large for a number of the page stays as it is.
      if (fields.seed.value === String((model.get("sampler") || {}).seed)) delete values.seed;
      const answer = await ui.turn(() => ui.ask("sampler", values));
      put(note, answer.ok || answer.gone ? "" : (answer.error || {}).message || "not possible");
    }, 300);
  };
  const dial = ([key, name, min, max, step]) => {
    fields[key] = h("input", { type: "number", min, max, step, "aria-label": name, placeholder: "off", oninput: submit });
    return h("label", {}, name + " ", fields[key]);
  };
  const again = h("button", { title: "go on from here with the next seed; from the start, if the text has ended", onclick: async () => {
    let ended = false;
    const answer = await ui.turn(() => {
      ended = !!ui.position && ui.position.finished;
      return ui.ask("again");
    });
    if (answer.ok && ended && ui.steps) ui.steps.end();
  } }, "Sample again");
  el.append(h("div.lmx-sampler", {}, DIALS.map(dial), again, note));
  const load = () => {
    const sampler = model.get("sampler") || {};
    const greedy = !sampler.temperature;
    again.title = greedy ? "at temperature 0 nothing is drawn: every seed gives the same" : "go on from here with the next seed; from the start, if the text has ended";
    for (const [key] of DIALS) {
      if (!fields[key].matches(":focus")) fields[key].value = sampler[key] ?? "";
    }
  };
  model.on("change:sampler", load);
  const off = ui.on("change", () => {
    for (const field of Object.values(fields)) field.disabled = ui.gone;
    again.disabled = ui.gone || !!model.get("replay") || !(model.get("sampler") || {}).temperature || ui.line.model === false;
  });
  load();
  return off;
}
