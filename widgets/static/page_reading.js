// The readers of the values that the kernel sends: the classes of the tokens, their texts, the line of tokens and its
// moves, and the figures around the position.

// The vocabularies by fingerprint; all explorers of a page share them.
const shared = (globalThis[Symbol.for("explorer.vocabularies")] ??= new Map());

// The milliseconds without a step after which the figures around a position are asked for, and those after
// which they are asked for at the latest.
const AROUND_AFTER = 150;
const AROUND_LATEST = 500;

/** Read the classes of the tokens into `ui.machine`; returns the function that reads them. */
function machineReader(ui, model) {
  const use = async (packet) => {
    // A machine without token classes: each token is one.
    const raw = packet.token_class ? await ui.during(unpack(packet.token_class)) : null;
    ui.machine = { ...packet, classOf: !raw ? Uint32Array.from({ length: packet.num_classes }, (_, i) => i) : packet.bits === 32 ? new Uint32Array(raw) : new Uint16Array(raw) };
    ui.changed();
  };
  const read = async () => {
    const packet = model.get("machine") || {};
    ui.walks.clear();
    ui.reasons.clear();
    ui.inside = null;
    if (!packet.key || !ui.wants.includes("machine")) ui.machine = null;
    else if (packet.token_class !== undefined) use(packet);
    else if (!ui.machine || ui.machine.key !== packet.key) {
      const answer = await ui.ask("machine", ui.wants.includes("around") ? {} : { figures: false });
      if (answer.ok && (model.get("machine") || {}).key === answer.machine.key) use(answer.machine);
    }
    ui.changed();
  };
  return read;
}

/** Read the texts of the tokens into `ui.vocabulary`, once per page for each vocabulary. */
function vocabularyReader(ui, model) {
  const read = async () => {
    const name = (model.get("vocabulary") || {}).fingerprint;
    if (!name || !ui.wants.includes("words")) return;
    if (!shared.has(name)) {
      const asked = ui.ask("words").then(async (answer) => {
        if (!answer.ok) return null;
        const inner = JSON.parse(new TextDecoder().decode(await ui.during(unpack(answer.words.data))));
        return { ...answer.words, ...inner };
      });
      shared.set(name, asked);
      asked.then((found) => found || shared.delete(name));
    }
    const found = await shared.get(name);
    if ((model.get("vocabulary") || {}).fingerprint === name) ui.vocabulary = found;
    ui.changed();
  };
  return read;
}

/** Bring a line, and the history of the charts, to where the kernel says that it has moved: a `Moved` of
 * `widgets/figures/told.py`. Both are changed in place: a second view, and a notebook that is saved, have them too. */
function moveLine(line, history, moved) {
  const { strip } = line;
  const { kept, phases } = moved;
  const next = { ...strip, finished: moved.finished, rejected: moved.rejected };
  if (kept < strip.tokens.length || moved.tokens.length) next.tokens = strip.tokens.slice(0, kept).concat(moved.tokens);
  if (phases) next.phases = { ...phases, alive: ((strip.phases || {}).alive || []).slice(0, kept).concat(phases.alive) };
  for (const [name, values] of Object.entries(moved.history || {})) history[name] = (history[name] || []).slice(0, kept).concat(values);
  Object.assign(line, { strip: next, index: moved.index, length: moved.length, generation: moved.generation });
}

/** Read the line into `ui.line`. The function that is returned says whether it is there; if it had to be asked
 * for, `again` is called when it has come. */
function lineReader(ui, model, again) {
  return () => {
    const line = model.get("line") || {};
    const history = model.get("history") || {};
    const moved = model.get("moved") || {};
    ui.line = line;
    if (!(moved.generation > line.generation)) return true;
    if (moved.after === line.generation) {
      moveLine(line, history, moved);
      return true;
    }
    // A move was missed. Without a kernel there is only what was sent.
    ui.ask("line").then((answer) => {
      if (answer.ok) {
        Object.assign(line, answer.line);
        Object.assign(history, answer.history);
      } else if (answer.gone) line.generation = moved.generation;
      else return;
      again();
    });
    return false;
  };
}

/** Read the figures around the position into `ui.around`: `read` at once, `later` when the steps have calmed. */
function aroundReader(ui, model) {
  /** T_V around the present position, and large machines; the figures follow the numbers. */
  ui.around = null;
  ui.also = []; // Tokens that the user added to T_V.
  ui.show = (token, on) => {
    ui.also = on ? [...ui.also, token] : ui.also.filter((one) => one !== token);
    if (!on && ui.selected === token) ui.selected = null;
    read();
    ui.changed();
  };
  /** The tokens that T_V shows because a person wants to see them: those added, and the one clicked. */
  ui.asked = () => (ui.selected === null || ui.also.includes(ui.selected) || !ui.isText(ui.selected) ? ui.also : [...ui.also, ui.selected]);
  const read = async () => {
    if (!ui.wants.includes("around") || !ui.position || !(model.get("machine") || {}).key) return;
    const also = ui.asked();
    const key = pathKey(ui, ui.position.k) + "|" + also.join(",");
    if (ui.around && ui.around.path === key) return;
    ui.around = { ...ui.around, path: key };
    const answer = await ui.ask("around", { k: ui.position.k, also });
    if (answer.stale && ui.around.path === key) {
      ui.around.path = "";
      return later();
    }
    if (answer.packed) answer.around = JSON.parse(new TextDecoder().decode(await ui.during(unpack(answer.packed))));
    if (answer.ok && answer.around && ui.around.path === key) {
      // The same figure stays the same object, so that it is not drawn again.
      const found = answer.around.key === ui.around.key ? ui.around : answer.around;
      ui.around = { ...found, path: key };
    }
    ui.changed();
  };
  const later = eased(ui, AROUND_AFTER, AROUND_LATEST, read);
  ui.lookAround = later;
  return { read, later };
}
