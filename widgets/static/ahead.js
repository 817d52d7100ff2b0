// A look ahead: below the bars of each likely allowed token a thin bar shows how much of the model's probability stays allowed
// after it. It is asked for when the page has come to rest; if a look takes long, a press asks for it.
//
// The room of the bars is there from the beginning, so that nothing moves when the answer comes.

function lookAhead(ui, el) {
  const path = () => (ui.position && !ui.position.finished && ui.line.model !== false && !ui.model.get("replay") ? pathKey(ui, ui.position.k) : "");
  let known = null; // {key, ahead: {id: {mass, lost, said}}, seconds}
  const here = () => (known && known.key === path() ? known : null);
  const take = (answer, key) => {
    known = { key, ...answer };
    for (const bar of el.querySelectorAll("[data-ahead]")) show(bar);
    for (const button of el.querySelectorAll(".lmx-look")) offer(button);
  };
  const off = atRest(ui, "ahead", path, take, 400);
  const show = (bar) => {
    const entry = ((here() || {}).ahead || {})[bar.dataset.ahead];
    bar.classList.toggle("on", !!entry && entry.mass !== null);
    bar.classList.toggle("lost", !!entry && entry.lost);
    bar.firstChild.style.width = `${100 * ((entry && entry.mass) || 0)}%`;
    if (entry) bar.closest(".pair")?.setAttribute("title", entry.said);
    return bar;
  };
  /** The tooltip of a row's bars. */
  const said = (entry) => (((here() || {}).ahead || {})[entry.id] || {}).said;
  /** The thin bar of a row, below its two others; none if there is no look ahead. */
  const bar = (entry) => (entry.allowed && path() ? show(h("i.ahead", { "data-ahead": entry.id }, h("s"))) : null);
  const offer = (button) => {
    const slow = here() && !here().ahead;
    button.hidden = !slow;
    if (slow) say(button, `look ahead, ${here().seconds} s`);
    return button;
  };
  /** What asks for it where it takes long, to stand above the bars. */
  const button = () => offer(h("button.quiet.lmx-look", { title: meaning("ahead"), hidden: true, onclick: async (event) => {
    const key = path();
    event.currentTarget.disabled = true;
    const answer = await ui.ask("ahead", { k: ui.position.k, asked: true });
    if (answer.ok && key === path()) take(answer, key);
  } }));
  return { bar, button, said, off };
}
