// The vocabulary as a bitmap: what is allowed here. Alone, other engines stand under it.
//
// The order is by token class, where five allowed ids of a hundred thousand stand together and can be seen, or by id.

const SMALL_MASK = 48; // At most so many tokens are written out; then it is open at first.
const MANY = 16384; // With more tokens than this, the first order is by token class.

/** The token classes in the order of the bitmap: EOS, the largest first, the dead last; and sizes. */
function classOrder(machine) {
  if (!machine.byClass) {
    const sizes = new Uint32Array(machine.num_classes);
    const first = new Int32Array(machine.num_classes).fill(-1);
    machine.classOf.forEach((c, id) => {
      if (!sizes[c]++) first[c] = id;
    });
    const rank = (c) => (c === 1 ? 0 : c === 0 ? 2 : 1);
    const order = [...sizes.keys()].sort((a, b) => rank(a) - rank(b) || sizes[b] - sizes[a] || a - b);
    machine.byClass = { sizes, first, order };
  }
  return machine.byClass;
}

/** Which token stands at each place of the bitmap, by class or by id. */
function tokenOrder(machine, mode) {
  const size = machine.classOf.length;
  const ids = Uint32Array.from({ length: size }, (_, i) => i);
  if (mode !== "class") return ids;
  // A count sort: within a class by id.
  const { sizes, order } = classOrder(machine);
  const next = new Uint32Array(machine.num_classes);
  let at = 0;
  for (const c of order) {
    next[c] = at;
    at += sizes[c];
  }
  machine.classOf.forEach((c, id) => (ids[next[c]++] = id));
  return ids;
}

export function renderMask({ model, el, ui = pageState(model), alone = false }) {
  island(el, "Mask");
  const order = h("select", { "aria-label": "order of the mask", onchange: () => {
    chosen = order.value;
    ui.changed();
  } }, h("option", { value: "class" }, "by token class"), h("option", { value: "id" }, "by id"));
  const said = h("span.dim", { title: "a few allowed tokens among many are drawn larger than they are" });
  const cells = h("div.lmx-cells");
  const named = h("div.lmx-named.dim");
  const live = h("div.lmx-live", { "aria-live": "polite" });
  const map = bitmap({
    point: (place, byKey) => {
      pointed = place === null || !places ? null : places[place];
      name();
      if (byKey && pointed !== null) live.textContent = `${ui.text(pointed)}, ${words(pointed)}`;
    },
    pick: (place) => places && ui.select(places[place]),
  });
  let inks = { theme: null, all: [] };
  const colours = () => {
    if (inks.theme !== ui.theme) inks = { theme: el.isConnected ? ui.theme : null, all: ["--lmx-ok", "--lmx-cell", "--lmx-no"].map((name) => inkOf(el, name)) };
    return inks.all;
  };
  const head = h("header", {}, h("h4", {}, "Mask"), said, h("div.sp"), order);
  el.append(head, cells, map.box, named, live);
  const below = alone && renderEngines({ model, el: el.appendChild(h("div.lmx-past")), ui, alone });
  const inner = sizeOf(head, ui.changed); // A pixel is a token: another width is another picture.
  let chosen = null;
  let places = null; // place → id
  let placeOf = null; // id → place
  let keyOfPlaces = "";
  let pointed = null; // the id under the pointer or the cursor

  const arrange = (key, make) => {
    if (key === keyOfPlaces) return;
    keyOfPlaces = key;
    places = make();
    placeOf = new Uint32Array(places.length);
    places.forEach((id, place) => (placeOf[id] = place));
  };
  const chance = (id) => {
    const bar = (ui.position.top || []).find((entry) => entry.id === id);
    return bar && bar.model !== undefined ? bar.model : null;
  };
  const allowedAt = (row, id) => bit(row, ui.machine.classOf[id]);
  const words = (id) => {
    const on = allowedAt(bytesOf(ui.position.row), id);
    const c = ui.machine.classOf[id];
    const like = classOrder(ui.machine).sizes[c];
    const p = chance(id);
    return `id ${id} · ${on ? "allowed" : "masked"} · ` +
      (c === 0 ? (like === 1 ? "allowed nowhere" : `one of ${count(like)} allowed nowhere`) : like === 1 ? "a class of its own" : `one of a class of ${count(like)}`) +
      (p === null ? "" : ` · model ${percent(p)} %`);
  };
  const name = () => {
    if (pointed === null) return named.firstChild && put(named);
    const known = ui.position && ui.machine && pointed < ui.machine.classOf.length;
    put(named, known ? [ui.token(pointed), " " + words(pointed)] : null);
  };

  let written = []; // what the few cells were made of
  const update = () => {
    const p = ui.position;
    const ready = p && ui.machine && ui.vocabulary && p.row;
    const small = !!ready && ui.vocabulary.size <= SMALL_MASK;
    // Each is set once, because an element that is hidden for a moment loses the focus.
    cells.hidden = !small;
    map.box.hidden = order.hidden = !ready || small;
    named.hidden = !ready;
    if (!ready) return say(said, p && !ui.machine ? "no constraint" : "");
    const row = bytesOf(p.row);
    const size = ui.vocabulary.size;
    const group = ui.filter && ui.filter.path === pathKey(ui, p.k) ? ui.filter : null;
    const sum = p.finished ? "the text has ended" : `${count(p.allowed)} of ${count(size)} allowed`;
    if (!group) say(said, sum);
    else put(said, sum, h("span.no", {}, `, ${count(group.count)} marked: ${group.reason}`));
    const marked = ui.inside ? ui.inside.walk.token : ui.selected ?? ui.hover;
    if (small) {
      const parts = [p, marked, group, ui.vocabulary, ui.machine];
      if (parts.every((part, i) => part === written[i])) return;
      written = parts;
      const focused = cells.contains(document.activeElement) && document.activeElement.getAttribute("data-token");
      const over = (id) => () => {
        pointed = id;
        name();
      };
      put(cells, Array.from({ length: size }, (_, id) => {
        const on = allowedAt(row, id);
        return h("button.lmx-cell" + (on ? ".on" : "") + (marked === id ? ".sel" : "") + (group && group.has(id) ? ".hit" : ""), {
          "data-token": id, "aria-label": `${ui.text(id)}, ${words(id)}`, onclick: () => ui.select(id),
          onmouseenter: over(id), onmouseleave: over(null), onfocus: over(id), onblur: over(null),
        }, ui.isText(id) ? readable(ui.text(id)) : ui.text(id));
      }));
      if (focused) cells.querySelector(`[data-token="${focused}"]`)?.focus({ preventScroll: true });
      return name();
    }
    const mode = chosen || (size > MANY ? "class" : "id");
    if (order.value !== mode) order.value = mode;
    arrange(ui.machine.key + mode, () => tokenOrder(ui.machine, mode));
    const [on, off, hit] = colours();
    if (!inner.width) inner.read();
    map.show({
      size, room: Math.max(inner.width - 2, 120),
      key: [p.row, keyOfPlaces, on, off, group ? group.group : ""].join("|"),
      ink: (place) => (allowedAt(row, places[place]) ? on : group && group.has(places[place]) ? hit : off),
      allowed: (place) => allowedAt(row, places[place]),
      marks: marked === null || marked === undefined || marked >= size ? [] : [placeOf[marked]],
      label: p.finished ? "Mask: the text has ended" : `Mask: ${count(p.allowed)} of ${count(size)} tokens allowed`,
    });
    map.repoint();
    name();
  };
  const off = ui.on("after", update);
  update();
  return () => {
    inner.end();
    if (below) below();
    off();
  };
}
