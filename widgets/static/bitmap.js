// A bitmap of many cells that can be zoomed: by Ctrl or ⌘ with the wheel at the pointer, by + − 0,
// by buttons; a plain wheel goes on scrolling the notebook. A drag pans. Arrow keys move a cursor
// from cell to cell, Enter picks.
//
// One canvas holds a pixel per cell and is drawn when a cell changes. Over it lies another of the
// size on the screen, with what belongs to the view: the part that is zoomed, borders, text, marks.

const BITMAP_AREA = 120; // Height aimed at, in pixels, where cells are larger than a pixel.
const LARGEST_CELL = 72;
const BORDER_CELL = 7; // From here on, in pixels, cells have borders,
const TEXT_CELL = 28; // and text.
const LONE = 12; // At most so many allowed cells side by side could be overlooked where cells are small,
const LONE_SIDE = 4; // so they are drawn as large as this, in pixels.
const MOST_LONE = 400;

/** `hooks`: point(place, byKey) when a cell is pointed at, or null; pick(place); text(place). */
function bitmap(hooks) {
  const canvas = h("canvas", { role: "img" });
  const over = h("canvas.over", { "aria-hidden": "true" });
  const box = h("div.lmx-bitmap", {
    tabindex: 0, role: "application", "aria-roledescription": "bitmap of tokens",
    "aria-label": "mask: arrow keys move, Enter asks why, + and − zoom, 0 fits",
  }, canvas, over);
  const view = { zoom: 1, x: 0, y: 0 };
  let made = { size: 0, columns: 1, rows: 1, cell: 1, marks: [], lone: [], allowed: () => 0 };
  let cursor = null;
  let pointed = null;
  let drag = null;
  let frame = 0;

  const scale = () => made.cell * view.zoom;
  const width = () => made.columns * made.cell;
  const height = () => made.rows * made.cell;
  const clamp = (value, low, high) => Math.max(low, Math.min(high, value));
  const moved = () => {
    view.x = clamp(view.x, 0, made.columns * scale() - width());
    view.y = clamp(view.y, 0, made.rows * scale() - height());
    if (!frame) frame = requestAnimationFrame(paint);
  };
  const zoomTo = (zoom, px, py) => {
    const to = clamp(zoom, 1, Math.max(1, LARGEST_CELL / made.cell));
    const grown = to / view.zoom;
    view.x = (view.x + px) * grown - px;
    view.y = (view.y + py) * grown - py;
    view.zoom = to;
    moved();
  };
  /** The point that stays in place when a key or a button zooms: the cursor, else the first allowed cell in
   * view. */
  const centre = () => {
    let place = cursor ?? 0;
    if (cursor === null) while (place < made.size && !made.allowed(place)) place++;
    const [x, y] = [((place % made.columns) + 0.5) * scale() - view.x, (Math.floor(place / made.columns) + 0.5) * scale() - view.y];
    const seen = place < made.size && x >= 0 && x <= width() && y >= 0 && y <= height();
    return cursor !== null || seen ? [x, y] : [width() / 2, height() / 2];
  };
  const zoomBy = (factor) => zoomTo(view.zoom * factor, ...centre());
  const fit = () => zoomTo(1, 0, 0);
  const placeAt = (event) => {
    const at = box.getBoundingClientRect();
    const by = zoomOf(box);
    const x = Math.floor(((event.clientX - at.left) / by + view.x) / scale());
    const y = Math.floor(((event.clientY - at.top) / by + view.y) / scale());
    const place = y * made.columns + x;
    return x >= 0 && x < made.columns && y >= 0 && place < made.size ? place : null;
  };
  const point = (place, byKey) => {
    pointed = place;
    hooks.point(place, byKey);
    moved();
  };

  function paint() {
    frame = 0;
    const dpr = (globalThis.devicePixelRatio || 1) * (box.closest(".lmx-large") ? 1.4 : 1); // Nothing is laid out for it.
    const [w, t] = [width(), height()];
    if (over.width !== Math.round(w * dpr) || over.height !== Math.round(t * dpr)) {
      over.width = Math.round(w * dpr);
      over.height = Math.round(t * dpr);
    }
    const context = over.getContext("2d");
    context.setTransform(dpr, 0, 0, dpr, 0, 0);
    context.clearRect(0, 0, w, t);
    const cell = scale();
    const style = getComputedStyle(box);
    const colour = (name) => style.getPropertyValue(name).trim();
    box.classList.toggle("zoomed", view.zoom > 1);
    if (view.zoom > 1) {
      context.imageSmoothingEnabled = false;
      context.fillStyle = colour("--lmx-bg");
      context.fillRect(0, 0, w, t);
      context.drawImage(canvas, view.x / cell, view.y / cell, w / cell, t / cell, 0, 0, w, t);
    }
    const [left, top] = [Math.floor(view.x / cell), Math.floor(view.y / cell)];
    const [right, bottom] = [Math.min(made.columns, Math.ceil((view.x + w) / cell)), Math.min(made.rows, Math.ceil((view.y + t) / cell))];
    if (cell >= BORDER_CELL) {
      context.fillStyle = colour("--lmx-bg");
      for (let x = left; x <= right; x++) context.fillRect(Math.round(x * cell - view.x) - 0.5, 0, 1, t);
      for (let y = top; y <= bottom; y++) context.fillRect(0, Math.round(y * cell - view.y) - 0.5, w, 1);
    }
    if (cell >= TEXT_CELL) {
      context.font = `12px ${colour("--lmx-mono") || "monospace"}`;
      context.textBaseline = "middle";
      for (let y = top; y < bottom; y++) {
        for (let x = left; x < right; x++) {
          const place = y * made.columns + x;
          if (place >= made.size) break;
          const [px, py] = [x * cell - view.x, y * cell - view.y];
          const text = hooks.text(place);
          context.save();
          context.beginPath();
          context.rect(px + 2, py, cell - 4, cell);
          context.clip();
          const room = cell - 6;
          const on = made.allowed(place);
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
    if (cell < LONE_SIDE) {
      for (const [place, length] of made.lone) {
        const [x, y] = [(place % made.columns) * cell - view.x, Math.floor(place / made.columns) * cell - view.y];
        const grow = (LONE_SIDE - cell) / 2;
        const [px, py] = [clamp(x - grow, 0, w), clamp(y - grow, 0, t)];
        const wide = Math.max(length * cell, LONE_SIDE);
        context.fillStyle = colour("--lmx-bg");
        context.fillRect(px - 1, py - 1, wide + 2, LONE_SIDE + 2);
        context.fillStyle = colour("--lmx-ok");
        context.fillRect(px, py, wide, LONE_SIDE);
      }
    }
    const ring = (place, name, thick) => {
      if (place === null || place === undefined || place >= made.size) return;
      const side = Math.max(cell, 9);
      const px = ((place % made.columns) + 0.5) * cell - view.x - side / 2;
      const py = (Math.floor(place / made.columns) + 0.5) * cell - view.y - side / 2;
      context.lineWidth = thick + 2;
      context.strokeStyle = colour("--lmx-bg");
      context.strokeRect(px, py, side, side);
      context.lineWidth = thick;
      context.strokeStyle = colour(name);
      context.strokeRect(px, py, side, side);
    };
    for (const place of made.marks) ring(place, "--lmx-nowink", 2);
    if (document.activeElement === box) ring(cursor, "--lmx-ink", 1.5);
    if (cell >= BORDER_CELL) ring(pointed, "--lmx-ink", 1);
  }

  box.addEventListener("pointermove", (event) => {
    if (drag) {
      drag.far ||= Math.hypot(event.clientX - drag.x, event.clientY - drag.y) > 4;
      if (!drag.far) return;
      view.x = drag.left - (event.clientX - drag.x) / zoomOf(box);
      view.y = drag.top - (event.clientY - drag.y) / zoomOf(box);
      return moved();
    }
    const place = placeAt(event);
    if (place !== pointed) point(place, false);
  });
  box.addEventListener("pointerleave", () => !drag && point(null, false));
  box.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    drag = { x: event.clientX, y: event.clientY, left: view.x, top: view.y, far: false };
    box.setPointerCapture(event.pointerId);
  });
  box.addEventListener("pointerup", (event) => {
    const was = drag;
    drag = null;
    if (!was || was.far) return;
    const place = placeAt(event);
    if (place === null) return;
    cursor = place;
    hooks.pick(place);
    moved();
  });
  box.addEventListener("pointercancel", () => (drag = null));
  box.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const at = box.getBoundingClientRect();
    zoomTo(view.zoom * Math.exp(-event.deltaY / 240), (event.clientX - at.left) / zoomOf(box), (event.clientY - at.top) / zoomOf(box));
    point(placeAt(event), false);
  }, { passive: false });
  for (const kind of ["focus", "blur"]) box.addEventListener(kind, moved);
  const go = (by) => {
    cursor = cursor === null ? (made.marks[0] ?? 0) : cursor + by >= 0 && cursor + by < made.size ? cursor + by : cursor;
    const [cell, x, y] = [scale(), cursor % made.columns, Math.floor(cursor / made.columns)];
    view.x = clamp(view.x, (x + 1) * cell - width(), x * cell);
    view.y = clamp(view.y, (y + 1) * cell - height(), y * cell);
    point(cursor, true);
  };
  const KEYS = {
    ArrowRight: () => go(1), ArrowLeft: () => go(-1), ArrowDown: () => go(made.columns), ArrowUp: () => go(-made.columns),
    Enter: () => cursor !== null && hooks.pick(cursor),
    "+": () => zoomBy(1.5), "=": () => zoomBy(1.5), "-": () => zoomBy(1 / 1.5), 0: fit,
  };
  box.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !KEYS[event.key]) return;
    KEYS[event.key]();
    event.preventDefault();
    event.stopPropagation();
  });

  const tool = (sign, title, action) => h("button.quiet", { title, "aria-label": title, onclick: action }, sign);
  const tools = h("span.tools", {},
    tool("−", "zoom out (−)", () => zoomBy(1 / 1.5)), tool("+", "zoom in (+, or Ctrl with the wheel)", () => zoomBy(1.5)), tool("fit", "the whole mask (0)", fit));

  /** Lay out and draw. `ink(place)` is a colour as a 32-bit number; `key` names what it depends on. */
  const show = ({ size, room, key, ink, allowed, marks, label }) => {
    const cell = Math.max(1, Math.floor(Math.sqrt((room * BITMAP_AREA) / size)));
    const columns = Math.max(1, Math.min(size, Math.floor(room / cell)));
    const rows = Math.ceil(size / columns);
    const same = size === made.size && columns === made.columns && cell === made.cell;
    const drawn = same && key === made.key;
    const still = drawn && String(marks) === String(made.marks);
    made = { size, columns, rows, cell, marks, key, allowed, lone: drawn ? made.lone : lonely(size, columns, allowed) };
    if (!same) {
      canvas.width = columns;
      canvas.height = rows;
      for (const one of [canvas, over]) {
        one.style.width = width() + "px";
        one.style.height = height() + "px";
      }
      box.style.width = width() + "px";
      box.style.height = height() + "px";
      Object.assign(view, { zoom: 1, x: 0, y: 0 });
      cursor = pointed = null;
    }
    if (!drawn) {
      const context = canvas.getContext("2d");
      const image = context.createImageData(columns, rows);
      const pixels = new Uint32Array(image.data.buffer);
      for (let place = 0; place < size; place++) pixels[place] = ink(place);
      context.putImageData(image, 0, 0);
      canvas.setAttribute("aria-label", label);
    }
    if (!still) moved();
  };
  return { box, tools, show, repoint: () => pointed !== null && hooks.point(pointed, false) };
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
