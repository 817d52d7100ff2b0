// Numbers, bytes and token texts in readable form.

const FORMAT = new Intl.NumberFormat("en-US");
const count = (n) => FORMAT.format(Number(n));
/** A probability in per cent, short. */
function percent(p) {
  if (p === null || p === undefined || p <= 0) return "–";
  const value = 100 * p;
  if (value >= 9.95) return value.toFixed(0);
  if (value >= 0.095) return value.toFixed(1).replace(/\.0$/, "");
  return "<0.1";
}
/** A number between 0 and 1, short; a tiny one in powers of ten. */
function mass(z) {
  if (z === null || z === undefined) return "–";
  if (z === 0) return "0";
  if (z >= 0.995) return z >= 0.9995 ? "1" : z.toFixed(3);
  if (z >= 0.01) return z.toFixed(2);
  const [digit, power] = z.toExponential(0).split("e");
  return digit + "·10" + [...power].map((c) => (c === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[c] || "")).join("");
}
const bits = (x) => (x === null || x === undefined ? "–" : x.toFixed(1));

function bytesOf(base64) {
  const raw = atob(base64 || "");
  const out = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
  return out;
}

/** The bytes behind base64 of zlib. */
async function unpack(base64) {
  const stream = new Blob([bytesOf(base64)]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

/** Whether bit i is set; the first bit is the highest of the first byte. */
const bit = (row, i) => (row[i >> 3] >> (7 - (i & 7))) & 1;

const BLANK = { " ": "␣", "\n": "⏎", "\t": "⇥", "\r": "␍" };
const blank = (sign, title) => h("i.lmx-blank", { title }, sign);

/** Raw text as nodes. White space and control characters are styled signs, so that they can be
 * told from the same signs written by a token. */
function visible(text) {
  return [...text].map((c) => {
    const code = c.codePointAt(0);
    if (!/[\p{C}\p{Z}]/u.test(c)) return c;
    const name = "U+" + code.toString(16).toUpperCase().padStart(4, "0");
    return blank(BLANK[c] || name, name);
  });
}

const ESCAPE = /\\(x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8}|[nrt\\␣<])|␣|<[0-9A-F]{2}>/g;
const hexByte = (byte) => "<" + byte.toString(16).toUpperCase().padStart(2, "0") + ">";
const SIGNS = { n: "⏎", r: "␍", t: "⇥" };

/** Readable text, as the figures write it, as nodes: blanks and escapes become styled signs, and the bytes of a character
 * that is not whole stand together. */
function readable(text) {
  const out = [];
  let at = 0;
  let part = null; // The bytes so far of such a character.
  for (const found of text.matchAll(ESCAPE)) {
    if (found.index > at) out.push(text.slice(at, found.index));
    const goesOn = part && found.index === at && /^<[89AB]/.test(found[0]);
    at = found.index + found[0].length;
    const escaped = found[1];
    if (!escaped && found[0] !== "␣") {
      if (!goesOn) out.push((part = h("span.lmx-char", { title: "bytes of one character" })));
      part.append(blank(found[0], "a byte"));
      continue;
    }
    part = null;
    if (!escaped) out.push(blank("␣", "space"));
    else if (escaped === "\\") out.push(found[0]); // As on the arcs: it is not the beginning of an escape.
    else if ("␣<".includes(escaped)) out.push(escaped);
    else {
      const code = parseInt(escaped.slice(1), 16);
      const name = "U+" + code.toString(16).toUpperCase().padStart(4, "0");
      out.push(blank(SIGNS[escaped] || name, "\\" + escaped));
    }
  }
  if (at < text.length) out.push(text.slice(at));
  return out;
}

/** Bytes as characters with their place; what is not a character as bytes. */
function characters(bytes) {
  const out = [];
  for (let at = 0; at < bytes.length; ) {
    const lead = bytes[at];
    const wanted = lead < 0x80 ? 1 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc2 ? 2 : 1;
    let text = "";
    let size = wanted;
    try {
      text = new TextDecoder("utf-8", { fatal: true }).decode(new Uint8Array(bytes.slice(at, at + wanted)));
    } catch {
      size = 1;
    }
    out.push({ nodes: text ? visible(text) : [blank(hexByte(lead), "a byte")], at, size });
    at += size;
  }
  return out;
}

/** A pattern with spans underlined; offsets are in characters, not in UTF-16 units. */
function underlinedPattern(pattern, spans) {
  const chars = [...pattern];
  const marked = new Uint8Array(chars.length + 1);
  for (const [start, end] of spans || []) marked.fill(1, start, end);
  const out = h("code.pattern");
  for (let i = 0; i < chars.length; ) {
    let j = i;
    while (j < chars.length && marked[j] === marked[i]) j++;
    const text = chars.slice(i, j).join("");
    out.append(marked[i] ? h("span.expect", {}, text) : text);
    i = j;
  }
  return out;
}

/** Spans that reach over a line's end, such as those of a whole object, cut to the line that they begin in. */
function firstLines(text, spans) {
  const chars = [...text];
  return (spans || []).map(([start, end]) => {
    const at = chars.indexOf("\n", start);
    return [start, at < 0 ? end : Math.min(end, at)];
  });
}

const WHOLE_TEXT = 120; // A text of so many characters is shown whole.

/** The line of a long text that a span begins in, and its number from 1; the spans are moved along. */
function sourceLine(text, spans) {
  const chars = [...text];
  const cut = firstLines(text, spans);
  if (!cut.length || (chars.length <= WHOLE_TEXT && !text.includes("\n"))) return { pattern: text, spans: cut, line: 0 };
  const at = Math.min(cut[0][0], chars.length - 1);
  let [from, to] = [chars.lastIndexOf("\n", at - (chars[at] === "\n" ? 1 : 0)) + 1, chars.indexOf("\n", at)];
  if (to < 0) to = chars.length;
  while (from < at && chars[from] === " ") from++;
  if (to - from > WHOLE_TEXT) [from, to] = [Math.max(from, at - WHOLE_TEXT / 2), Math.min(to, at + WHOLE_TEXT / 2)];
  const own = cut.filter(([start, end]) => end > from && start < to).map(([start, end]) => [Math.max(start, from) - from, Math.min(end, to) - from]);
  const line = text.includes("\n") ? chars.slice(0, from).filter((one) => one === "\n").length + 1 : 0;
  return { pattern: chars.slice(from, to).join(""), spans: own, line };
}

/** The size of a stack in words, and what was last pushed and popped. */
function stackCaption({ open, symbols, pushed, gone }) {
  if (open === undefined) return "";
  const some = (n, what) => `${count(n)} ${what}${n === 1 ? "" : "s"}`;
  const moved = [pushed ? `pushed ${pushed}` : "", gone ? `popped ${gone}` : ""].filter(Boolean);
  return [some(open, "open rule"), symbols === null ? "" : `${some(symbols, "symbol")} on the stack`, ...moved].filter(Boolean).join(", ");
}
