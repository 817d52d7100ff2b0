// A bitmap of many cells that can be zoomed: by Ctrl or ⌘ with the wheel at the pointer, by + − 0,
// by buttons; a plain wheel goes on scrolling the notebook. A drag pans. Arrow keys move a cursor
// from cell to cell, Enter picks.
//
// One canvas holds a pixel per cell and is drawn when a cell changes. Over it lies another of the
// size on the screen, with what belongs to the view: the part that is zoomed, borders, text, marks.

const BITMAP_AREA = 120; // The wanted height in pixels, if cells are larger than a pixel.
const LARGEST_CELL = 72;
const BORDER_CELL = 7; // The size in pixels from which cells have borders,
const TEXT_CELL = 28; // and text.
const LONE = 12; // A run of at most so many allowed cells could be overlooked if cells are small,
const LONE_SIDE = 4; // so its cells are drawn with this size in pixels.
const MOST_LONE = 400;

const within = (value, low, high) => Math.max(low, Math.min(high, value));

/** A bitmap as an element. `hooks`: point(place, byKey) when a cell is pointed at, or null; pick(place);
 * text(place). */
function bitmap(hooks) {
  const canvas = h("canvas", { role: "img" });
  const over = h("canvas.over", { "aria-hidden": "true" });
  const box = h("div.lmx-bitmap", {
    tabindex: 0, role: "application", "aria-roledescription": "bitmap of tokens",
    "aria-label": "mask: arrow keys move, Enter asks why, + and − zoom, 0 fits",
  }, canvas, over);
  const map = {
    hooks, canvas, over, box,
    view: { zoom: 1, x: 0, y: 0 },
    made: { size: 0, columns: 1, rows: 1, cell: 1, marks: [], lone: [], allowed: () => 0 },
    cursor: null, // the cell under the keyboard
    pointed: null, // the cell under the pointer
    drag: null,
    frame: 0,
  };
  bitmapView(map);
  bitmapPointer(map);
  bitmapKeys(map);
  const tool = (sign, title, action) => h("button.quiet", { title, "aria-label": title, onclick: action }, sign);
  const tools = h("span.tools", {},
    tool("−", "zoom out (−)", () => map.zoomBy(1 / 1.5)), tool("+", "zoom in (+, or Ctrl with the wheel)", () => map.zoomBy(1.5)), tool("fit", "the whole mask (0)", map.fit));
  return { box, tools, show: (what) => showBitmap(map, what), repoint: () => map.pointed !== null && hooks.point(map.pointed, false) };
}

/** The part that is seen: zooming, and from places on the screen to cells and back. */
function bitmapView(map) {
  map.scale = () => map.made.cell * map.view.zoom;
  map.width = () => map.made.columns * map.made.cell;
  map.height = () => map.made.rows * map.made.cell;
  map.moved = () => {
    map.view.x = within(map.view.x, 0, map.made.columns * map.scale() - map.width());
    map.view.y = within(map.view.y, 0, map.made.rows * map.scale() - map.height());
    if (!map.frame) map.frame = requestAnimationFrame(() => paintBitmap(map));
  };
  map.zoomTo = (zoom, px, py) => {
    const to = within(zoom, 1, Math.max(1, LARGEST_CELL / map.made.cell));
    const grown = to / map.view.zoom;
    map.view.x = (map.view.x + px) * grown - px;
    map.view.y = (map.view.y + py) * grown - py;
    map.view.zoom = to;
    map.moved();
  };
  /** The point that stays in place when a key or a button zooms: the cursor, else the first allowed cell in
   * view. */
  map.centre = () => {
    let place = map.cursor ?? 0;
    if (map.cursor === null) while (place < map.made.size && !map.made.allowed(place)) place++;
    const [x, y] = [((place % map.made.columns) + 0.5) * map.scale() - map.view.x, (Math.floor(place / map.made.columns) + 0.5) * map.scale() - map.view.y];
    const seen = place < map.made.size && x >= 0 && x <= map.width() && y >= 0 && y <= map.height();
    return map.cursor !== null || seen ? [x, y] : [map.width() / 2, map.height() / 2];
  };
  map.zoomBy = (factor) => map.zoomTo(map.view.zoom * factor, ...map.centre());
  map.fit = () => map.zoomTo(1, 0, 0);
  map.placeAt = (event) => {
    const at = map.box.getBoundingClientRect();
    const by = zoomOf(map.box);
    const x = Math.floor(((event.clientX - at.left) / by + map.view.x) / map.scale());
    const y = Math.floor(((event.clientY - at.top) / by + map.view.y) / map.scale());
    const place = y * map.made.columns + x;
    return x >= 0 && x < map.made.columns && y >= 0 && place < map.made.size ? place : null;
  };
  map.point = (place, byKey) => {
    map.pointed = place;
    map.hooks.point(place, byKey);
    map.moved();
  };
}

/** Draw what belongs to the view, over the canvas with a pixel per cell. */
function paintBitmap(map) {
  map.frame = 0;
  const dpr = (globalThis.devicePixelRatio || 1) * (map.box.closest(".lmx-large") ? 1.4 : 1); // Nothing is laid out for it.
  const [w, t] = [map.width(), map.height()];
  if (map.over.width !== Math.round(w * dpr) || map.over.height !== Math.round(t * dpr)) {
    map.over.width = Math.round(w * dpr);
    map.over.height = Math.round(t * dpr);
  }
  const context = map.over.getContext("2d");
  context.setTransform(dpr, 0, 0, dpr, 0, 0);
  context.clearRect(0, 0, w, t);
  const cell = map.scale();
  const style = getComputedStyle(map.box);
  const colour = (name) => style.getPropertyValue(name).trim();
  map.box.classList.toggle("zoomed", map.view.zoom > 1);
  if (map.view.zoom > 1) {
    context.imageSmoothingEnabled = false;
    context.fillStyle = colour("--lmx-bg");
    context.fillRect(0, 0, w, t);
    context.drawImage(map.canvas, map.view.x / cell, map.view.y / cell, w / cell, t / cell, 0, 0, w, t);
  }
  const pen = { context, colour, cell, w, t };
  if (cell >= BORDER_CELL) paintBorders(map, pen);
  if (cell >= TEXT_CELL) paintTexts(map, pen);
  if (cell < LONE_SIDE) paintLone(map, pen);
  for (const place of map.made.marks) paintRing(map, pen, place, "--lmx-nowink", 2);
  if (document.activeElement === map.box) paintRing(map, pen, map.cursor, "--lmx-ink", 1.5);
  if (cell >= BORDER_CELL) paintRing(map, pen, map.pointed, "--lmx-ink", 1);
}

/** The columns and rows of cells that are seen: [left, top, right, bottom]. */
function cellsInView(map, { cell, w, t }) {
  const { view, made } = map;
  return [
    Math.floor(view.x / cell), Math.floor(view.y / cell),
    Math.min(made.columns, Math.ceil((view.x + w) / cell)), Math.min(made.rows, Math.ceil((view.y + t) / cell)),
  ];
}

function paintBorders(map, pen) {
  const { context, colour, cell, w, t } = pen;
  const [left, top, right, bottom] = cellsInView(map, pen);
  context.fillStyle = colour("--lmx-bg");
  for (let x = left; x <= right; x++) context.fillRect(Math.round(x * cell - map.view.x) - 0.5, 0, 1, t);
  for (let y = top; y <= bottom; y++) context.fillRect(0, Math.round(y * cell - map.view.y) - 0.5, w, 1);
}

function paintTexts(map, pen) {
  const { context, colour, cell } = pen;
  const [left, top, right, bottom] = cellsInView(map, pen);
  context.font = `12px ${colour("--lmx-mono") || "monospace"}`;
  context.textBaseline = "middle";
  for (let y = top; y < bottom; y++) {
    for (let x = left; x < right; x++) {
      const place = y * map.made.columns + x;
      if (place >= map.made.size) break;
      const [px, py] = [x * cell - map.view.x, y * cell - map.view.y];
      const text = map.hooks.text(place);
      context.save();
      context.beginPath();
      context.rect(px + 2, py, cell - 4, cell);
      context.clip();
      const room = cell - 6;
      const on = map.made.allowed(place);
      const length = Math.min(context.measureText(text).width, room);
      const from = px + 3 + Math.max(0, (room - length) / 2);
      context.fillStyle = colour(on ? "--lmx-bg" : "--lmx-soft");
      context.fillText(text, from, py + cell / 2);
      if (!on) {
        context.fillStyle = colour("--lmx-no");
        context.fillRect(from, py + cell / 2 + 1, length, 1.5);
      }
      context.restore();
    }
  }
}

/** Short runs of allowed cells, larger than they are. */
function paintLone(map, { context, colour, cell, w, t }) {
  for (const [place, length] of map.made.lone) {
    const [x, y] = [(place % map.made.columns) * cell - map.view.x, Math.floor(place / map.made.columns) * cell - map.view.y];
    const grow = (LONE_SIDE - cell) / 2;
    const [px, py] = [within(x - grow, 0, w), within(y - grow, 0, t)];
    const wide = Math.max(length * cell, LONE_SIDE);
    context.fillStyle = colour("--lmx-bg");
    context.fillRect(px - 1, py - 1, wide + 2, LONE_SIDE + 2);
    context.fillStyle = colour("--lmx-ok");
    context.fillRect(px, py, wide, LONE_SIDE);
  }
}

/** A frame around a cell. */
function paintRing(map, { context, colour, cell }, place, name, thick) {
  if (place === null || place === undefined || place >= map.made.size) return;
  const side = Math.max(cell, 9);
  const px = ((place % map.made.columns) + 0.5) * cell - map.view.x - side / 2;
  const py = (Math.floor(place / map.made.columns) + 0.5) * cell - map.view.y - side / 2;
  context.lineWidth = thick + 2;
  context.strokeStyle = colour("--lmx-bg");
  context.strokeRect(px, py, side, side);
  context.lineWidth = thick;
  context.strokeStyle = colour(name);
  context.strokeRect(px, py, side, side);
}

/** The pointer: point, drag, pick, and zoom with the wheel. */
function bitmapPointer(map) {
  map.box.addEventListener("pointermove", (event) => {
    if (map.drag) {
      map.drag.far ||= Math.hypot(event.clientX - map.drag.x, event.clientY - map.drag.y) > 4;
      if (!map.drag.far) return;
      map.view.x = map.drag.left - (event.clientX - map.drag.x) / zoomOf(map.box);
      map.view.y = map.drag.top - (event.clientY - map.drag.y) / zoomOf(map.box);
      return map.moved();
    }
    const place = map.placeAt(event);
    if (place !== map.pointed) map.point(place, false);
  });
  map.box.addEventListener("pointerleave", () => !map.drag && map.point(null, false));
  map.box.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    map.drag = { x: event.clientX, y: event.clientY, left: map.view.x, top: map.view.y, far: false };
    map.box.setPointerCapture(event.pointerId);
  });
  map.box.addEventListener("pointerup", (event) => {
    const was = map.drag;
    map.drag = null;
    if (!was || was.far) return;
    const place = map.placeAt(event);
    if (place === null) return;
    map.cursor = place;
    map.hooks.pick(place);
    map.moved();
  });
  map.box.addEventListener("pointercancel", () => (map.drag = null));
  map.box.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const at = map.box.getBoundingClientRect();
    map.zoomTo(map.view.zoom * Math.exp(-event.deltaY / 240), (event.clientX - at.left) / zoomOf(map.box), (event.clientY - at.top) / zoomOf(map.box));
    map.point(map.placeAt(event), false);
  }, { passive: false });
  for (const kind of ["focus", "blur"]) map.box.addEventListener(kind, map.moved);
}

/** The keys: from cell to cell, pick, zoom. */
function bitmapKeys(map) {
  const go = (by) => {
    map.cursor = map.cursor === null ? (map.made.marks[0] ?? 0) : map.cursor + by >= 0 && map.cursor + by < map.made.size ? map.cursor + by : map.cursor;
    const [cell, x, y] = [map.scale(), map.cursor % map.made.columns, Math.floor(map.cursor / map.made.columns)];
    map.view.x = within(map.view.x, (x + 1) * cell - map.width(), x * cell);
    map.view.y = within(map.view.y, (y + 1) * cell - map.height(), y * cell);
    map.point(map.cursor, true);
  };
  const KEYS = {
    ArrowRight: () => go(1), ArrowLeft: () => go(-1), ArrowDown: () => go(map.made.columns), ArrowUp: () => go(-map.made.columns),
    Enter: () => map.cursor !== null && map.hooks.pick(map.cursor),
    "+": () => map.zoomBy(1.5), "=": () => map.zoomBy(1.5), "-": () => map.zoomBy(1 / 1.5), 0: map.fit,
  };
  map.box.dataset.keys = Object.keys(KEYS).join(" ");
  map.box.addEventListener("keydown", (event) => {
    if (!usesKey(event) || !KEYS[event.key]) return;
    KEYS[event.key]();
    event.preventDefault();
    event.stopPropagation();
  });
}

/** Lay out and draw. `ink(place)` is a colour as a 32-bit number; `key` names what it depends on. */
function showBitmap(map, { size, room, key, ink, allowed, marks, label }) {
  const cell = Math.max(1, Math.floor(Math.sqrt((room * BITMAP_AREA) / size)));
  const columns = Math.max(1, Math.min(size, Math.floor(room / cell)));
  const rows = Math.ceil(size / columns);
  const same = size === map.made.size && columns === map.made.columns && cell === map.made.cell;
  const drawn = same && key === map.made.key;
  const still = drawn && String(marks) === String(map.made.marks);
  map.made = { size, columns, rows, cell, marks, key, allowed, lone: drawn ? map.made.lone : lonely(size, columns, allowed) };
  if (!same) {
    map.canvas.width = columns;
    map.canvas.height = rows;
    for (const one of [map.canvas, map.over]) {
      one.style.width = map.width() + "px";
      one.style.height = map.height() + "px";
    }
    map.box.style.width = map.width() + "px";
    map.box.style.height = map.height() + "px";
    Object.assign(map.view, { zoom: 1, x: 0, y: 0 });
    map.cursor = map.pointed = null;
  }
  if (!drawn) {
    const context = map.canvas.getContext("2d");
    const image = context.createImageData(columns, rows);
    const pixels = new Uint32Array(image.data.buffer);
    for (let place = 0; place < size; place++) pixels[place] = ink(place);
    context.putImageData(image, 0, 0);
    map.canvas.setAttribute("aria-label", label);
  }
  if (!still) map.moved();
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
