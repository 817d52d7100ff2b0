// The vocabulary as a bitmap: what is allowed here. By token class, where five allowed ids of a
// hundred thousand stand together and can be seen, or by id.

const SMALL_MASK = 48; // So few tokens are written out.
const MANY = 16384; // From here on token classes come first.

export function renderMask({ model, el, ui = pageState(model) }) {
  island(el, "Mask");
  const order = h("select", { "aria-label": "order of the mask", onchange: () => {
    chosen = order.value;
    ui.changed();
  } }, h("option", { value: "class" }, "by token class"), h("option", { value: "id" }, "by id"));
  const said = h("span.dim");
  const cells = h("div.lmx-cells");
  const canvas = h("canvas", { role: "img", tabindex: 0 });
  const named = h("div.lmx-named.dim");
  el.append(h("header", {}, h("h4", {}, "Mask"), said, h("div.sp"), order), cells, canvas, named);
  let chosen = null;
  let places = null; // place → id
  let keyOfPlaces = "";
  let columns = 1;
  let drawn = "";

  const arrange = (size, mode) => {
    const key = ui.machine.key + mode;
    if (key === keyOfPlaces) return;
    keyOfPlaces = key;
    const ids = Uint32Array.from({ length: size }, (_, i) => i);
    if (mode === "class") {
      const classOf = ui.machine.classOf;
      // Living classes first; within a class by id. A count sort keeps that order.
      const rank = (c) => (c === 0 ? ui.machine.num_classes : c);
      const starts = new Uint32Array(ui.machine.num_classes + 2);
      for (let i = 0; i < size; i++) starts[rank(classOf[i]) + 1]++;
      for (let c = 1; c < starts.length; c++) starts[c] += starts[c - 1];
      for (let i = 0; i < size; i++) ids[starts[rank(classOf[i])]++] = i;
    }
    places = ids;
  };
  const allowedAt = (row, id) => bit(row, ui.machine.classOf[id]);
  const where = (event) => {
    const box = canvas.getBoundingClientRect();
    const cell = box.width / columns;
    const place = Math.floor((event.clientY - box.top) / cell) * columns + Math.floor((event.clientX - box.left) / cell);
    return places && place >= 0 && place < places.length ? places[place] : null;
  };
  canvas.addEventListener("pointermove", (event) => {
    const id = where(event);
    if (id === null) return;
    const row = bytesOf(ui.position.row);
    put(named, ui.token(id), ` id ${id}, ${allowedAt(row, id) ? "allowed" : "masked"}`);
  });
  canvas.addEventListener("pointerleave", () => put(named));
  canvas.addEventListener("click", (event) => {
    const id = where(event);
    if (id !== null) ui.select(id);
  });

  const update = () => {
    const p = ui.position;
    const ready = p && ui.machine && ui.vocabulary && p.row;
    cells.hidden = canvas.hidden = order.hidden = true;
    if (!ready) return put(said, p && !ui.machine ? "no constraint" : "");
    const row = bytesOf(p.row);
    const size = ui.vocabulary.size;
    put(said, `${count(p.allowed)} of ${count(size)} allowed`);
    if (size <= SMALL_MASK) {
      cells.hidden = false;
      const shown = ui.shown();
      put(cells, Array.from({ length: size }, (_, id) => {
        const on = allowedAt(row, id);
        return h("button.lmx-cell" + (on ? ".on" : "") + (shown && shown.token === id ? ".sel" : ""), {
          "data-token": id, title: `id ${id}, ${on ? "allowed" : "masked"}`, onclick: () => ui.select(id),
        }, ui.isText(id) ? readable(ui.text(id)) : ui.text(id));
      }));
      return;
    }
    canvas.hidden = order.hidden = false;
    const mode = chosen || (size > MANY ? "class" : "id");
    order.value = mode;
    arrange(size, mode);
    const room = Math.max(el.clientWidth - 26, 120);
    const cell = Math.max(1, Math.floor(Math.sqrt((room * 110) / size)));
    columns = Math.floor(room / cell);
    const rows = Math.ceil(size / columns);
    const dark = getComputedStyle(el).getPropertyValue("--lmx-ok").trim();
    const key = [p.row, mode, columns, dark, ui.machine.key].join("|");
    if (key === drawn) return;
    drawn = key;
    canvas.width = columns;
    canvas.height = rows;
    canvas.style.width = columns * cell + "px";
    canvas.style.height = rows * cell + "px";
    canvas.setAttribute("aria-label", `Mask: ${p.allowed} of ${size} tokens allowed`);
    const context = canvas.getContext("2d");
    const image = context.createImageData(columns, rows);
    const ink = new Uint32Array(image.data.buffer);
    const colour = (name) => {
      context.fillStyle = getComputedStyle(el).getPropertyValue(name).trim() || "#888";
      context.fillRect(0, 0, 1, 1);
      const [r, g, b] = context.getImageData(0, 0, 1, 1).data;
      return (255 << 24) | (b << 16) | (g << 8) | r;
    };
    const on = colour("--lmx-ok"), off = colour("--lmx-cell");
    for (let i = 0; i < size; i++) ink[i] = allowedAt(row, places[i]) ? on : off;
    context.putImageData(image, 0, 0);
  };
  const off = ui.on("change", update);
  update();
  return off;
}
