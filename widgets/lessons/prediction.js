// A question that waits for a guess. Text is set as text; the drawing is our own, parsed as SVG.

function element(name, words = "", attributes = {}) {
  const made = document.createElement(name);
  if (words) made.textContent = words;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

// Words with code between backticks, as nodes.
function spoken(words) {
  return words.split("`").map((part, k) => (k % 2 ? element("code", part) : part));
}

// One frame of a film, and a slider that chooses it.
function film(frame, { head, each, said }) {
  const picture = frame.firstChild;
  const window = element("div", "", { style: `overflow: hidden; width: max-content; height: ${each}px` });
  const slider = element("input", "", { type: "range", min: 0, max: said.length - 1, value: 0, "aria-label": "frame", "data-lm-suppress-shortcuts": "true" });
  const show = () => {
    picture.style.marginTop = `${-(head + slider.value * each)}px`;
    slider.setAttribute("aria-valuetext", said[slider.value]);
  };
  slider.addEventListener("input", show);
  window.append(picture);
  frame.append(window);
  show();
  const both = element("div", "", { class: "lmx-film" });
  both.append(slider, frame);
  return both;
}

function shownPart(part) {
  if (part.svg) {
    const frame = element("div", "", { class: "lmx-guess-picture", tabindex: "0" });
    const source = "data:image/svg+xml," + encodeURIComponent(part.svg);
    frame.append(element("img", "", { src: source, alt: part.alt }));
    return part.film ? film(frame, part.film) : frame;
  }
  if (part.rows) {
    const table = element("table");
    table.append(element("caption", part.caption));
    const head = table.createTHead().insertRow();
    for (const name of part.head) head.append(element("th", name, { scope: "col" }));
    const body = table.createTBody();
    for (const row of part.rows) {
      const line = body.insertRow();
      for (const cell of row) line.append(element("td", cell));
    }
    const frame = element("div", "", { class: "lmx-guess-picture", tabindex: "0" });
    frame.append(table);
    return frame;
  }
  return element("pre", part.text);
}

function choiceButtons(choices, send) {
  const row = element("div", "", { class: "lmx-guess-row", role: "group", "aria-label": "Your guess" });
  for (const choice of choices) {
    const button = element("button", choice, { type: "button" });
    button.addEventListener("click", () => send(choice));
    button.addEventListener("keydown", (event) => {
      if (event.key === "Enter") { event.preventDefault(); send(choice); }
    });
    row.append(button);
  }
  return row;
}

function field(kind, send) {
  const row = element("form", "", { class: "lmx-guess-row" });
  const words = { number: "a number", text: "a text" }[kind];
  const input = element("input", "", {
    type: "text", placeholder: words, "aria-label": `Your guess, ${words}`, autocomplete: "off",
    spellcheck: "false", inputmode: kind === "number" ? "decimal" : "text",
  });
  row.append(input, element("button", "Guess", { type: "submit" }));
  const given = (event) => {
    event.preventDefault();
    if (input.value.trim()) send(input.value);
  };
  row.addEventListener("submit", given);
  // A notebook takes this key for itself where a form would be submitted by it.
  input.addEventListener("keydown", (event) => { if (event.key === "Enter") given(event); });
  return row;
}

function states(svg, send) {
  const drawing = document.importNode(
    new DOMParser().parseFromString(svg, "image/svg+xml").documentElement, true);
  const names = [...drawing.querySelectorAll("text")];
  for (const circle of drawing.querySelectorAll("circle")) {
    const x = circle.getAttribute("cx"), y = Number(circle.getAttribute("cy"));
    const label = names.find(
      (text) => text.getAttribute("x") === x && Math.abs(Number(text.getAttribute("y")) - y) < 8);
    if (!label || Number(circle.getAttribute("r")) < 12) continue;
    const name = label.textContent;
    for (const [key, value] of Object.entries({
      tabindex: "0", role: "button", "aria-label": `state ${name}`, class: "lmx-guess-state",
    })) circle.setAttribute(key, value);
    circle.addEventListener("click", () => send(name));
    circle.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); send(name); }
    });
  }
  const frame = element("div", "", { class: "lmx-guess-picture" });
  frame.append(drawing, element("p", "Click the state."));
  return frame;
}

function render({ model, el }) {
  el.classList.add("lmx-guess");
  el.setAttribute("data-lm-suppress-shortcuts", "true");
  const send = (guess) => model.send({ guess });
  const kind = model.get("kind");
  const ask =
    kind === "choice" ? choiceButtons(model.get("choices"), send)
    : kind === "state" ? states(model.get("picture"), send)
    : field(kind, send);
  const said = element("p", "", { "aria-live": "polite", class: "lmx-guess-said" });
  const result = element("div");
  el.append(ask, said, result);
  const follow = () => {
    const reply = model.get("reply") ?? {};
    const mark = reply.right === undefined ? "" : reply.right ? "✓ " : "✗ ";
    said.replaceChildren(...spoken(mark + (reply.said ?? "")).filter((part) => part !== ""));
    said.dataset.right = String(reply.right ?? "");
    result.replaceChildren(...(reply.parts ?? []).map(shownPart));
  };
  model.on("change:reply", follow);
  follow();
  return () => model.off("change:reply", follow);
}

export default { render };
