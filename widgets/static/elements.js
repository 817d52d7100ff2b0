// Functions that make and change elements; every view is written with them.
//
// Token text is data. It reaches the page as text nodes and attributes only, never as markup.

const SVG = "http://www.w3.org/2000/svg";

/** An element. Attributes that start with "on" are listeners; children are nodes or text. */
function h(tag, attributes, ...children) {
  const [name, ...classes] = tag.split(".");
  const el = document.createElement(name || "div");
  return fill(el, classes, attributes, children);
}

/** An SVG element; as `h`. */
function s(tag, attributes, ...children) {
  const [name, ...classes] = tag.split(".");
  return fill(document.createElementNS(SVG, name), classes, attributes, children);
}

function fill(el, classes, attributes, children) {
  if (classes.length) el.classList.add(...classes);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) el.addEventListener(key.slice(2), value);
    else el.setAttribute(key, value === true ? "" : String(value));
  }
  el.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return el;
}

/** Replace what an element holds. */
function put(el, ...children) {
  el.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return el;
}

/** Set the text of an element. An element that has it already is not touched, as that would lay it out again. */
function say(el, text) {
  if (el.textContent !== text || el.childElementCount) el.textContent = text;
  return el;
}

/** A text of at most so many letters. */
const short = (text, most) => ([...text].length <= most ? text : [...text].slice(0, most - 1).join("") + "…");

/** Set an attribute that differs. */
function mark(el, name, value) {
  if (el.getAttribute(name) !== String(value)) el.setAttribute(name, value);
}

/** Show the state of an element by a class of a box around it. The style sheet could use `:has`, but then a change inside
 * the box may recompute the styles of everything in it. */
function tellAround(el, box, name, on) {
  el.closest(box)?.classList.toggle(name, on);
}

/** The inner size of an element, kept up to date. Asking the element itself between changes would lay out the
 * whole page at once, and then again. */
function sizeOf(el, changed = () => {}) {
  const size = { width: 0, height: 0, end: () => observer.disconnect() };
  size.read = () => {
    const before = [size.width, size.height];
    [size.width, size.height] = [el.clientWidth, el.clientHeight];
    return before[0] !== size.width || before[1] !== size.height;
  };
  const observer = new ResizeObserver(() => size.read() && changed());
  observer.observe(el);
  size.read();
  return size;
}

/** Call back when no step has come for `wait` milliseconds, at the latest after `most`, so that questions to
 * the kernel delay no step. */
function eased(ui, wait, most, callback) {
  let timer = 0;
  let since = 0;
  const ring = () => {
    const left = since + most - performance.now();
    if (ui.moving() && left > 0) return (timer = setTimeout(ring, Math.min(wait, left)));
    timer = since = 0;
    ui.due.delete(again);
    callback();
    ui.changed();
  };
  const again = () => {
    since ||= performance.now();
    clearTimeout(timer);
    timer = setTimeout(ring, Math.max(0, Math.min(wait, since + most - performance.now())));
    ui.due.add(again);
  };
  again.end = () => {
    clearTimeout(timer);
    ui.due.delete(again);
  };
  return again;
}

/** Let a button that has the focus keep it when it can do nothing: a disabled one would lose it to the page. */
function disable(button, off) {
  button.disabled = off && button !== document.activeElement;
  mark(button, "aria-disabled", off);
}

/** What a field does with Ctrl or ⌘ by itself, with Shift in capitals; the rest is the host's. */
const FIELD_CHORDS = /^([acvxzyZ]|Arrow.*|Home|End|Backspace|Delete)$/;

/** Whether a view uses a key. An element names the keys that it takes in `data-keys`; fields and buttons are known. Every
 * other key is the host's: Ctrl+S saves the notebook, Shift+Enter runs the cell. */
function usesKey(event) {
  const { key, target } = event;
  if (/^F\d+$/.test(key)) return false;
  const chord = event.ctrlKey || event.metaKey;
  if (isTextField(target)) {
    if (event.getModifierState("AltGraph") || event.isComposing) return true;
    return chord ? !event.altKey && FIELD_CHORDS.test(key) && !(target instanceof HTMLSelectElement) : !event.altKey;
  }
  if (chord || event.altKey || (event.shiftKey && key.length > 1) || key === "Shift") return false;
  const name = key === " " ? "Space" : key;
  if (/^(Enter|Space)$/.test(name) && target.closest("button, summary, input, a, [role=button]")) return true;
  for (let one = target; one && one.closest(".lmx"); one = one.parentElement) if ((one.dataset.keys || "").split(" ").includes(name)) return true;
  return false;
}

/** Tell the host of each key whether it may have it, before it looks: it asks on the way down from the document, so this
 * listens above it, at the window. */
const watchKeys = () => (globalThis[Symbol.for("explorer.keys")] ??= addEventListener("keydown", (event) => {
  if (!(event.target instanceof Element && event.target.closest(".lmx"))) return;
  // On the element that has the focus: the host looks for its commands there first, then around it.
  if (usesKey(event)) event.target.setAttribute("data-lm-suppress-shortcuts", "true");
  else event.target.removeAttribute("data-lm-suppress-shortcuts");
}, true) || true);

/** A box that takes the keys that it uses for itself: those do not reach the notebook. Inside
 * another one it is only named, because the outer box listens to the keys. */
function island(el, label) {
  if (label) {
    el.setAttribute("role", "group");
    el.setAttribute("aria-label", label);
  }
  if (el.parentElement && el.parentElement.closest(".lmx")) return el;
  el.classList.add("lmx");
  watchKeys();
  el.addEventListener("keydown", (event) => usesKey(event) && event.stopPropagation());
  el.addEventListener("paste", (event) => event.stopPropagation());
  return el;
}

const isTextField = (el) =>
  el instanceof HTMLTextAreaElement ||
  el instanceof HTMLSelectElement ||
  (el instanceof HTMLInputElement && !["checkbox", "range", "button"].includes(el.type));

/** How much larger an element is on the screen than in its own pixels; the positions of pointers and boxes are
 * in pixels of the screen. */
function zoomOf(el) {
  const root = el.closest(".lmx");
  return (root && root.offsetWidth && root.getBoundingClientRect().width / root.offsetWidth) || 1;
}

/** Offer a text as a file: HTML or SVG. */
function save(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: name.endsWith(".svg") ? "image/svg+xml" : "text/html" }));
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

/** What is not for now, behind one small sign. Escape and a press elsewhere close it. */
function quietMenu(title, tools, sign = "⋯", about = "size, table, …") {
  const menu = h("details.lmx-menu", {}, h("summary", { title: about, "aria-label": title + ": more" }, sign), tools);
  const close = (event) => {
    if (event.key === "Escape" ? menu.contains(document.activeElement) : !menu.contains(event.target)) menu.open = false;
  };
  menu.addEventListener("toggle", () => {
    for (const what of ["pointerdown", "keydown"]) (menu.open ? document.addEventListener : document.removeEventListener).call(document, what, close, true);
  });
  return menu;
}
