// The mask at every position: a row per position, the present one framed.
//
// A column is a token class, and a class is allowed as a whole, so a row of classes is the whole
// mask. A class is as wide as the logarithm of its size, because sizes go from 1 to 100,000; where there are
// more classes than columns, a column counts several classes together, and its shade is the share of their
// tokens that is allowed. A column with an allowed token is never too pale to be seen. Tokens that are allowed
// nowhere have no column, but their number is shown. If there are few tokens, each has a square.

const PALEST = 0.65; // Of a column in which something is allowed: 3:1 on the paper.
const HISTORY_HEIGHT = 98;
const SQUARE = 14;

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

/** The classes that stand in each of so many columns. */
function historyColumns(machine, width) {
  const { sizes, order } = classOrder(machine);
  const living = order.filter((c) => c !== 0 && sizes[c]);
  const weight = (c) => Math.log2(1 + sizes[c]);
  const total = living.reduce((sum, c) => sum + weight(c), 0);
  const columns = Array.from({ length: width }, () => []);
  let before = 0;
  for (const c of living) {
    const from = Math.min(width - 1, Math.round((width * before) / total));
    before += weight(c);
    const to = Math.max(from + 1, Math.round((width * before) / total));
    for (let x = from; x < to; x++) columns[x].push(c);
  }
  return columns;
}

/** For each column, the share of its tokens that a row of classes allows. */
function historyShares(machine, columns, row) {
  const { sizes } = classOrder(machine);
  return Float64Array.from(columns, (classes) => {
    let [on, all] = [0, 0];
    for (const c of classes) {
      all += sizes[c];
      if (bit(row, c)) on += sizes[c];
    }
    return all ? on / all : 0;
  });
}

/** The rows of the line that is shown, by position: `collect` drops what changed and asks for what is missing. */
function rowsOfLine(ui) {
  let rows = []; // by position, as base64
  let path = []; // the ids that lead there
  let machineKey = "";
  let asking = false;
  let counts = new Map(); // row → how many tokens it allows
  /** How many tokens a row allows. */
  const allowed = (k) => {
    if (!rows[k]) return null;
    if (!counts.has(rows[k])) {
      const row = bytesOf(rows[k]);
      counts.set(rows[k], classOrder(ui.machine).sizes.reduce((sum, size, c) => sum + (bit(row, c) ? size : 0), 0));
    }
    return counts.get(rows[k]);
  };
  /** Update the rows of this line: rows after a token that changed are dropped, and missing rows are asked for. */
  const collect = () => {
    const tokens = ui.tokens();
    let same = 0;
    while (same < tokens.length && same < path.length && tokens[same].id === path[same]) same++;
    if (ui.machine.key !== machineKey) {
      same = -1;
      counts = new Map();
    }
    rows.length = Math.min(rows.length, same + 1);
    machineKey = ui.machine.key;
    path = tokens.map((token) => token.id);
    const p = ui.position;
    if (p && p.row && p.k <= tokens.length) rows[p.k] = p.row;
    let from = 0;
    while (from <= tokens.length && rows[from]) from++;
    if (from > tokens.length) return;
    if (ui.gone) {
      for (let k = from; k <= tokens.length; k++) rows[k] ||= (ui.seen.get(pathKey(ui, k)) || {}).row;
      return;
    }
    if (asking) return;
    asking = true;
    const [key, ids] = [machineKey, path];
    ui.ask("rows", { first: from, end: tokens.length + 1 }).then((answer) => {
      asking = false;
      // Rows of a line that is no longer shown are dropped; missing rows are asked for again.
      if (!answer.ok || key !== machineKey || ids.some((id, i) => path[i] !== id)) return;
      answer.index.forEach((place, i) => place >= 0 && (rows[from + i] = answer.rows[place]));
      ui.changed();
    });
  };
  /** What a drawing of the rows depends on. */
  const name = () => [rows.length, rows.filter(Boolean).length, path.join(",")].join("|");
  return { collect, allowed, name, row: (k) => rows[k] };
}

/** How the rows are laid out: the classes of each column, the height of a row, and the pixels of a row. */
function historyShape(ui, el, caption) {
  const made = { shape: null }; // {columns, small, cell, line}
  let shades = new Map(); // row → its pixels
  const arrange = (n, room) => {
    const size = ui.vocabulary.size;
    const small = size <= SMALL_MASK;
    const line = small ? SQUARE : Math.max(4, Math.min(SQUARE, Math.floor(HISTORY_HEIGHT / n)));
    const cell = small ? SQUARE : 1;
    const key = [ui.machine.key, small, room, ui.theme, el.isConnected].join("|");
    if (!made.shape || made.shape.key !== key) {
      const columns = small ? Array.from({ length: size }, (_, id) => [ui.machine.classOf[id]]) : historyColumns(ui.machine, room);
      const ink = Uint32Array.from({ length: 256 }, (_, i) => inkOf(el, "--lmx-ok", PALEST + (1 - PALEST) * (i / 255)));
      made.shape = { key, columns, small, cell, ink };
      shades = new Map();
      const dead = classOrder(ui.machine).sizes[0];
      // A machine without token classes: each token is one.
      const what = ui.machine.token_class ? `${count(ui.machine.num_classes - 1)} token classes` : `${count(ui.machine.num_classes)} tokens`;
      const shared = columns.some((c) => c.length > 1);
      const said = small ? "a square per token, by id" : shared ? `${what}, several to a column: the stronger the blue, the more of them are allowed` : `a column for each of ${what}, blue where it is allowed`;
      put(caption, said);
      const kinds = ui.machine.token_class ? `. A token class: ${meaning("class")}` : "";
      const more = small ? "" : `. A wider column holds more tokens (on a logarithmic scale)${dead ? `. ${count(dead)} tokens that are allowed at no position are left out` : ""}${kinds}.`;
      caption.title = said + more;
    }
    made.shape.line = line;
  };
  const pixels = (row) => {
    if (!shades.has(row)) {
      const shares = historyShares(ui.machine, made.shape.columns, bytesOf(row));
      shades.set(row, Uint32Array.from(shares, (share) => (share > 0 ? made.shape.ink[Math.round(255 * share)] : 0)));
    }
    return shades.get(row);
  };
  return Object.assign(made, { arrange, pixels });
}

function renderHistory({ el, ui }) {
  const canvas = h("canvas", { role: "img" });
  const lines = h("div.lines");
  const here = h("div.here");
  const there = h("div.there", { hidden: true });
  const left = h("div.numbers");
  const right = h("div.taken");
  const sheet = h("div.sheet", {}, canvas, lines, there, here);
  const box = h("div.lmx-history", {
    tabindex: 0, role: "slider", "aria-orientation": "vertical", "aria-valuemin": 0, "aria-label": "mask at every position; Enter goes there",
  }, left, sheet, right);
  const caption = h("div.dim.lmx-caption");
  const named = h("div.lmx-named.dim");
  el.append(h("header", {}, h("h4", {}, "Every position"), caption), box, named);
  const rows = rowsOfLine(ui);
  const past = historyShape(ui, el, caption);
  let drawn = "";
  let cursor = null; // position under the keyboard or the pointer
  let before = -1;

  const inner = sizeOf(el);
  const length = () => ui.tokens().length + 1;
  const told = (k) => (rows.allowed(k) === null ? "…" : count(rows.allowed(k))) + " allowed";

  const words = (k) => {
    const tokens = ui.tokens();
    const after = k && tokens[k - 1] ? `, after ${ui.text(tokens[k - 1].id)}` : "";
    return `position ${k}${after}: ${told(k)}`;
  };
  const column = (event) => {
    const at = canvas.getBoundingClientRect();
    const x = Math.floor((event.clientX - at.left) / zoomOf(el) / past.shape.cell);
    const k = Math.floor((event.clientY - at.top) / zoomOf(el) / past.shape.line);
    return [k >= 0 && k < length() ? k : null, x >= 0 && x < past.shape.columns.length ? x : null];
  };
  const point = (k, x = null) => {
    cursor = k;
    there.hidden = k === null;
    if (k === null) return put(named);
    there.style.top = k * past.shape.line + "px";
    there.style.height = past.shape.line + "px";
    box.setAttribute("aria-valuenow", k);
    box.setAttribute("aria-valuetext", words(k));
    const row = rows.row(k);
    const say = [`position ${k}: ${told(k)}`];
    if (x !== null && row) {
      const { sizes, first } = classOrder(ui.machine);
      const classes = past.shape.columns[x];
      const on = bit(bytesOf(row), classes[0]) ? "allowed" : "masked";
      const id = past.shape.small ? x : first[classes[0]];
      if (classes.length > 1) say.push(` · ${count(classes.length)} classes, ${percent(historyShares(ui.machine, [classes], bytesOf(row))[0])} % of their tokens allowed`);
      else if (past.shape.small || sizes[classes[0]] === 1) say.push(" · ", ui.token(id), ` ${on}`);
      else say.push(" · ", ui.token(id), ` and ${count(sizes[classes[0]] - 1)} like it, ${on}`);
    }
    put(named, say);
  };
  /** Scroll to a row in the next frame, because the scroll position is known only after layout. */
  const see = (k) => requestAnimationFrame(() => {
    if (!past.shape) return;
    const [top, bottom] = [k * past.shape.line, (k + 1) * past.shape.line];
    if (top < box.scrollTop) box.scrollTop = top;
    else if (bottom > box.scrollTop + box.clientHeight) box.scrollTop = bottom - box.clientHeight;
  });
  sheet.addEventListener("pointermove", (event) => point(...column(event)));
  sheet.addEventListener("pointerleave", () => point(null));
  sheet.addEventListener("click", (event) => {
    const [k] = column(event);
    if (k !== null) ui.go(k);
  });
  box.addEventListener("blur", () => point(null));
  const KEYS = { ArrowUp: -1, ArrowDown: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity, Enter: 0 };
  box.dataset.keys = Object.keys(KEYS).join(" ");
  box.addEventListener("keydown", (event) => {
    if (!usesKey(event) || KEYS[event.key] === undefined || !past.shape) return;
    event.preventDefault();
    event.stopPropagation();
    const k = cursor ?? ui.position.k;
    if (event.key === "Enter") return ui.go(k);
    point(Math.max(0, Math.min(length() - 1, k + KEYS[event.key])));
    see(cursor);
  });

  const update = () => {
    const ready = ui.position && ui.machine && ui.vocabulary && ui.position.row;
    box.hidden = named.hidden = !ready;
    if (!ready) return;
    // The view was hidden until now and had no width.
    if (!inner.width) inner.read();
    rows.collect();
    const n = length();
    past.arrange(n, Math.max(60, inner.width - 48));
    const k = ui.position.k;
    const { columns, cell, line, small } = past.shape;
    const key = [past.shape.key, n, line, rows.name()].join("|");
    if (key !== drawn) {
      drawn = key;
      canvas.width = columns.length;
      canvas.height = n;
      const image = canvas.getContext("2d").createImageData(columns.length, n);
      const ink = new Uint32Array(image.data.buffer);
      for (let y = 0; y < n; y++) if (rows.row(y)) ink.set(past.pixels(rows.row(y)), y * columns.length);
      canvas.getContext("2d").putImageData(image, 0, 0);
      canvas.style.width = sheet.style.width = columns.length * cell + "px";
      canvas.style.height = sheet.style.height = n * line + "px";
      lines.style.setProperty("--line", line + "px");
      lines.classList.toggle("squares", small);
      lines.hidden = line < 6;
      canvas.setAttribute("aria-label", `allowed at each of ${n} positions: ${Array.from({ length: Math.min(n, 60) }, (_, i) => rows.allowed(i) ?? "…").join(", ")}${n > 60 ? ", …" : ""}`);
      box.setAttribute("aria-valuemax", n - 1);
      const tokens = ui.tokens();
      put(right, small ? tokens.map((token) => h("span", { style: `height:${line}px` }, ui.isText(token.id) ? readable(ui.text(token.id)) : ui.text(token.id))) : null);
    }
    const numbers = small ? Array.from({ length: n }, (_, i) => i) : n * line < 30 ? [k] : [...new Set([0, k, n - 1])];
    const crowded = (i) => i !== k && Math.abs(i - k) * line < 13;
    put(left, numbers.filter((i) => small || !crowded(i)).map((i) => h("span" + (i === k ? ".now" : ""), { style: `top:${(i + 0.5) * line - 8}px` }, i)));
    here.style.top = k * line + "px";
    here.style.height = line + "px";
    if (cursor === null || document.activeElement !== box) {
      box.setAttribute("aria-valuenow", k);
      box.setAttribute("aria-valuetext", words(k));
    }
    if (k !== before) see(k);
    before = k;
  };
  const off = ui.on("after", update);
  update();
  return () => {
    inner.end();
    off();
  };
}
