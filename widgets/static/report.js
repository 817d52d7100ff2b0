/* The page of a report: figures by plotly, their tables, and the worst runs in frames.
   Everything that a model or a vocabulary wrote is set as text. */

/** The bytes behind base64 of zlib, as JSON. */
async function unpacked(id) {
  const raw = atob(document.getElementById(id).textContent);
  const bytes = Uint8Array.from(raw, (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

/** An element with attributes and children; texts become text nodes. */
function made(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const NUMBER = /^[\d,.–]+( %)?$/;

function tableOf(head, rows, caption) {
  const cell = (text) => made("td", NUMBER.test(text) ? { class: "n" } : {}, made("bdi", {}, text));
  const table = made("table", {},
    made("thead", {}, made("tr", {}, ...head.map((name) => made("th", { scope: "col" }, name)))),
    made("tbody", {}, ...rows.map((row) => made("tr", {}, ...row.map(cell)))));
  return made("div", { class: "wide", tabindex: "0", role: "region", "aria-label": caption }, table);
}

const dark = matchMedia("(prefers-color-scheme: dark)");

function layoutOf(figure) {
  const css = getComputedStyle(document.documentElement);
  const [ink, line] = ["--ink", "--line"].map((name) => css.getPropertyValue(name).trim());
  const labels = figure.data.length ? figure.data[0].labels : [];
  const narrow = innerWidth < 560;
  return {
    height: figure.height + (figure.data.length > 1 ? 30 : 0),
    barmode: "stack",
    margin: { l: narrow ? 120 : 280, r: 16, t: 8, b: 48 },
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: ink, size: 12, family: '"DejaVu Sans", system-ui, sans-serif' },
    showlegend: figure.data.length > 1,
    legend: { orientation: "h", y: 1, yanchor: "bottom", x: 0, xanchor: narrow ? "center" : "left" },
    xaxis: {
      title: { text: figure.axis, font: { size: 12 } }, gridcolor: line, zerolinecolor: line, fixedrange: true,
      tickformat: figure.axis.startsWith("share") ? ".0%" : "", rangemode: "tozero",
    },
    yaxis: {
      autorange: "reversed", fixedrange: true, gridcolor: line, zeroline: false, tickvals: labels.map((_, i) => i),
      ticktext: labels.map((text) => (narrow ? shortLabel(text) : text)), ticks: "",
    },
  };
}

/** A label for a narrow page. It may hold entities, which are not cut in the middle. */
function shortLabel(text) {
  const parts = text.match(/&[#\w]+;|./gu) || [];
  return parts.length > 16 ? parts.slice(0, 15).join("") + "…" : text;
}

function drawFigure(place, figure) {
  const data = figure.data.map(({ labels, ...trace }) => trace);
  Plotly.react(place, data, layoutOf(figure), { displayModeBar: false, responsive: true });
}

function figureOf(figure, heading) {
  const place = made("div", { role: "img", "aria-label": figure.title + ". " + figure.text });
  const drawn = figure.rows.length > 0 && figure.data.length > 0;
  const whole = made("figure", {},
    made(heading, {}, made("bdi", {}, figure.title)),
    made("p", {}, made("bdi", {}, figure.text)));
  if (drawn) {
    const table = tableOf(figure.head, figure.rows, figure.title + ", as a table");
    whole.append(place, made("details", {}, made("summary", {}, "The figure as a table"), table));
  }
  return { whole, draw: () => drawn && drawFigure(place, figure) };
}

function termsOf(run) {
  const terms = [
    ["prompt", run.prompt, "text"], ["text", run.text, "text"], ["constraint", run.constraint],
    ["lost", run.nats + " nats"], ["interventions", run.interventions], ["least feasible mass", run.least],
    ["traps", run.traps], ["run", [run.model, run.sampler, "seed " + run.seed].join(", ")],
  ];
  return made("dl", {}, ...terms.flatMap(([name, value, kind]) => [
    made("dt", {}, name), made("dd", kind ? { class: kind } : {}, made("bdi", {}, value)),
  ]));
}

function runOf(run, k) {
  const card = made("section", { class: "run", "aria-label": "Run " + (k + 1) }, made("h3", {}, String(k + 1)), termsOf(run));
  if (!run.replay) {
    card.append(made("p", { class: "soft" }, "It does not open: " + run.why_not));
    return card;
  }
  const button = made("button", { type: "button", "aria-expanded": "false" }, "Open the replay");
  let frame = null;
  button.addEventListener("click", async () => {
    if (frame) {
      frame.remove();
      frame = null;
    } else {
      frame = made("iframe", { sandbox: "allow-scripts", title: "Replay of run " + (k + 1) });
      frame.srcdoc = await unpacked("run-" + k);
      card.append(frame);
    }
    button.setAttribute("aria-expanded", String(!!frame));
    button.textContent = frame ? "Close the replay" : "Open the replay";
  });
  card.append(button);
  return card;
}

async function showReport() {
  const facts = await unpacked("facts");
  const root = document.getElementById("report");
  root.append(made("p", { class: "soft" }, facts.about));
  const drawn = [];
  const add = (figure, heading) => {
    const one = figureOf(figure, heading);
    root.append(one.whole);
    drawn.push(one.draw);
  };
  const of = (test) => facts.figures.filter(test);
  for (const figure of of((one) => one.name === "conformance")) add(figure, "h2");
  const costs = of((one) => one.name.startsWith("parts-"));
  if (costs.length) {
    root.append(made("h2", {}, "What each part of a constraint costs the model"));
    root.append(made("p", { class: "soft" },
      "At each token the mask takes −ln Z from the model: its log-probability of going on as the constraint allows. "
      + "Summed over the tokens that were written in a part, that is what the part costs."));
    for (const figure of costs) add(figure, "h3");
  }
  for (const figure of of((one) => one.name === "traps")) add(figure, "h2");
  if (facts.errors.length) {
    root.append(made("h2", {}, "Failures"), tableOf(["kind", "message", "rows"], facts.errors, "Failures"));
  }
  if (facts.runs.length) {
    root.append(made("h2", {}, "The runs that the mask took most from"), ...facts.runs.map(runOf));
  }
  const draw = () => drawn.forEach((one) => one());
  draw();
  dark.addEventListener("change", draw);
  let width = innerWidth;
  addEventListener("resize", () => {
    if (width < 560 !== innerWidth < 560) draw();
    width = innerWidth;
  });
  document.documentElement.dataset.drawn = "yes";
}

await showReport();
