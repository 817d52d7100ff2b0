// A bitmap of tokens. One canvas holds a pixel per cell and is drawn when a cell changes. Over it lies another, with frames
// around what is pointed at, and with lone allowed cells larger than they are. Arrow keys move a cursor from cell to cell,
// Enter picks.

const BITMAP_AREA = 120; // The wanted height in pixels, if cells are larger than a pixel.
const LONE = 12; // A run of at most so many allowed cells could be overlooked if cells are small,
const LONE_SIDE = 4; // so its cells are drawn with this size in pixels.
const MOST_LONE = 400;

/** A bitmap as an element. `hooks`: point(place, byKey) when a cell is pointed at, or null; pick(place). */
function bitmap(hooks) {
  const canvas = h("canvas", { role: "img" });
  const over = h("canvas.over", { "aria-hidden": "true" });
  const box = h("div.lmx-bitmap", {
    tabindex: 0, role: "application", "aria-roledescription": "bitmap of tokens", "aria-label": "mask: arrow keys move, Enter asks why",
  }, canvas, over);
  let made = { size: 0, columns: 1, rows: 1, cell: 1, marks: [], lone: [], allowed: () => 0 };
  let cursor = null; // the cell under the keyboard
  let pointed = null; // the cell under the pointer
  let frame = 0;
  const width = () => made.columns * made.cell;
  const height = () => made.rows * made.cell;
  const repaint = () => (frame ||= requestAnimationFrame(paint));
  const point = (place, byKey) => {
    pointed = place;
    hooks.point(place, byKey);
    repaint();
  };
  const placeAt = (event) => {
    const at = box.getBoundingClientRect();
    const size = made.cell * zoomOf(box);
    const [x, y] = [Math.floor((event.clientX - at.left) / size), Math.floor((event.clientY - at.top) / size)];
    const place = y * made.columns + x;
    return x >= 0 && x < made.columns && y >= 0 && place < made.size ? place : null;
  };

  const paint = () => {
    frame = 0;
    const dpr = (globalThis.devicePixelRatio || 1) * (box.closest(".lmx-large") ? 1.4 : 1); // Nothing is laid out for it.
    [over.width, over.height] = [Math.round(width() * dpr), Math.round(height() * dpr)];
    const context = over.getContext("2d");
    context.setTransform(dpr, 0, 0, dpr, 0, 0);
    const style = getComputedStyle(box);
    const colour = (name) => style.getPropertyValue(name).trim();
    const { cell, columns } = made;
    const ring = (place, name, thick) => {
      if (place === null || place === undefined || place >= made.size) return;
      const side = Math.max(cell, 9);
      const [x, y] = [((place % columns) + 0.5) * cell - side / 2, (Math.floor(place / columns) + 0.5) * cell - side / 2];
      for (const [ink, line] of [["--lmx-bg", thick + 2], [name, thick]]) {
        context.lineWidth = line;
        context.strokeStyle = colour(ink);
        context.strokeRect(x, y, side, side);
      }
    };
    for (const [place, length] of cell < LONE_SIDE ? made.lone : []) {
      const grow = (LONE_SIDE - cell) / 2;
      const [x, y] = [Math.max(0, (place % columns) * cell - grow), Math.max(0, Math.floor(place / columns) * cell - grow)];
      const wide = Math.max(length * cell, LONE_SIDE);
      for (const [ink, rim] of [["--lmx-bg", 1], ["--lmx-ok", 0]]) {
        context.fillStyle = colour(ink);
        context.fillRect(x - rim, y - rim, wide + 2 * rim, LONE_SIDE + 2 * rim);
      }
    }
    for (const place of made.marks) ring(place, "--lmx-nowink", 2);
    if (document.activeElement === box) ring(cursor, "--lmx-ink", 1.5);
  };

  box.addEventListener("pointermove", (event) => {
    const place = placeAt(event);
    if (place !== pointed) point(place, false);
  });
  box.addEventListener("pointerleave", () => point(null, false));
  box.addEventListener("click", (event) => {
    const place = placeAt(event);
    if (place === null) return;
    cursor = place;
    hooks.pick(place);
    repaint();
  });
  for (const kind of ["focus", "blur"]) box.addEventListener(kind, repaint);
  const go = (by) => {
    if (cursor === null) cursor = made.marks[0] ?? 0;
    else if (cursor + by >= 0 && cursor + by < made.size) cursor += by;
    point(cursor, true);
  };
  const KEYS = {
    ArrowRight: () => go(1), ArrowLeft: () => go(-1), ArrowDown: () => go(made.columns), ArrowUp: () => go(-made.columns),
    Enter: () => cursor !== null && hooks.pick(cursor),
  };
  box.dataset.keys = Object.keys(KEYS).join(" ");
  box.addEventListener("keydown", (event) => {
    if (!usesKey(event) || !KEYS[event.key]) return;
    KEYS[event.key]();
    event.preventDefault();
    event.stopPropagation();
  });

  /** Lay out and draw. `ink(place)` is a colour as a 32-bit number; `key` names what it depends on. */
  const show = ({ size, room, key, ink, allowed, marks, label }) => {
    const cell = Math.max(1, Math.floor(Math.sqrt((room * BITMAP_AREA) / size)));
    const columns = Math.max(1, Math.min(size, Math.floor(room / cell)));
    const same = size === made.size && columns === made.columns && cell === made.cell;
    const drawn = same && key === made.key;
    const still = drawn && String(marks) === String(made.marks);
    made = { size, columns, rows: Math.ceil(size / columns), cell, marks, key, allowed, lone: drawn ? made.lone : lonely(size, columns, allowed) };
    if (!same) {
      [canvas.width, canvas.height] = [columns, made.rows];
      for (const one of [canvas, over, box]) Object.assign(one.style, { width: width() + "px", height: height() + "px" });
      cursor = pointed = null;
    }
    if (!drawn) {
      const context = canvas.getContext("2d");
      const image = context.createImageData(columns, made.rows);
      const pixels = new Uint32Array(image.data.buffer);
      for (let place = 0; place < size; place++) pixels[place] = ink(place);
      context.putImageData(image, 0, 0);
      canvas.setAttribute("aria-label", label);
    }
    if (!still) repaint();
  };
  return { box, show, repoint: () => pointed !== null && hooks.point(pointed, false) };
}

/** Short runs of allowed cells, as [place, length]; no runs where there are many, because many can be seen. */
function lonely(size, columns, allowed) {
  const out = [];
  for (let place = 0; place < size; place++) {
    if (!allowed(place)) continue;
    const start = place;
    while (place + 1 < size && (place + 1) % columns && allowed(place + 1)) place++;
    if (place - start >= LONE) continue;
    out.push([start, place - start + 1]);
    if (out.length > MOST_LONE) return [];
  }
  return out;
}

/** The colour of a custom property as one 32-bit number, as a canvas holds it. */
function inkOf(el, name, alpha = 1) {
  const context = (inkOf.canvas ||= h("canvas", { width: 1, height: 1 })).getContext("2d", { willReadFrequently: true });
  context.clearRect(0, 0, 1, 1);
  context.fillStyle = getComputedStyle(el).getPropertyValue(name).trim() || "#888";
  context.fillRect(0, 0, 1, 1);
  const [r, g, b] = context.getImageData(0, 0, 1, 1).data;
  return ((Math.round(255 * alpha) << 24) | (b << 16) | (g << 8) | r) >>> 0;
}
