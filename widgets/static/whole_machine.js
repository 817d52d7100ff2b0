// Drawings that are made on demand: by bytes, or the whole of a large machine.

/** The drawing that was asked for. `forget` is called so that the machines are drawn again. */
function wholeMachine(model, ui, forget, update) {
  const replay = !!model.get("replay");
  let form = "characters";
  let whole = false;
  let drawing = null; // {key, machines, layouts}, or {key, waiting}, or {key, said}.

  /** Another form, or the whole of a large machine: asked of the kernel, which may take a while. */
  const redraw = async () => {
    forget();
    const key = ui.machine && ui.machine.key;
    const wanted = form === "bytes" || whole;
    drawing = wanted ? { key, waiting: true } : null;
    update();
    if (!wanted || !key) return;
    const mine = drawing;
    const answer = await ui.ask("draw", { form }, { doing: "drawing the whole machine" });
    if (drawing !== mine) return;
    drawing = answer.ok ? { key, form, ...answer.drawing } : { key, said: answer.cancelled ? "cancelled" : (answer.error && answer.error.message) || "This cannot be drawn here." };
    forget();
    update();
  };

  let offered = "";
  /** The buttons under the header: a narrower pattern, the whole of a large machine. */
  const offers = (offer) => {
    const states = (ui.machine && ui.machine.states) || {};
    const large = !replay && ui.machine && !states.whole;
    const wide = !replay && ui.machine && ui.machine.narrower;
    offer.hidden = !(wide || large || (drawing && (drawing.said || drawing.waiting)));
    const what = [wide && ui.machine.key, large, states.characters, drawing && drawing.waiting, drawing && drawing.said, !!drawing, form].join("|");
    if (!offer.hidden && what !== offered) {
      offered = what;
      const size = count(states.characters || 0);
      put(offer, wide ? h("span", { "data-narrower": "" }, wide.said + " ", wide.patterns.map((pattern) => h("button.quiet", { title: "put it into the editor and compile it", onclick: () => ui.ask("edit", { kind: "regex", text: pattern, prompt: (model.get("editor") || {}).prompt || "" }, { shown: true }) }, h("code", {}, "use " + (pattern.length > 40 ? pattern.slice(0, 39) + "…" : pattern)))), " ") : null,
        drawing && drawing.waiting ? h("span.dim", {}, "drawing the whole machine…") : null,
        drawing && drawing.said ? h("span", {}, drawing.said) : null,
        large && !drawing ? h("button.quiet", { onclick: () => {
          whole = true;
          redraw();
        } }, `draw the whole machine (${size} states)`) : null,
        large && drawing && !drawing.waiting && form !== "bytes" ? h("button.quiet", { onclick: () => {
          whole = false;
          redraw();
        } }, drawing.said ? "close" : "only what is near") : null);
    }
  };
  /** Drop the drawing of the machine before this one. Returns true if the machines are drawn again. */
  const changed = (machine) => {
    if (!drawing || drawing.key === (machine && machine.key)) return false;
    whole = false;
    if (form === "bytes" && machine) {
      redraw();
      return true;
    }
    drawing = null;
    return false;
  };
  const inBytes = h("button.quiet", { title: "arcs by byte, with every state in the middle of a character", "aria-pressed": "false", onclick: () => {
    form = form === "bytes" ? "characters" : "bytes";
    inBytes.setAttribute("aria-pressed", form === "bytes");
    redraw();
  } }, "bytes");
  return { changed, offers, inBytes, drawing: () => drawing };
}
