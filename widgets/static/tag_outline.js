// A structural tag folded by tag: a line for each tag, named by what begins and ends it, which opens to what is
// in it. The text above it stays as it is; a press on "show" scrolls it to the tag.

const EDGE = 44; // the most characters of a begin or an end

/** The text that begins or ends a tag, in readable form. */
function edgeOf(edge) {
  const one = Array.isArray(edge) ? edge[0] : edge;
  const said = one && typeof one === "object" ? String(one.token ?? "") : String(one ?? "");
  const line = said.replace(/\n/g, "↵");
  return line.length > EDGE ? line.slice(0, EDGE - 1) + "…" : line;
}

/** The words for a format that holds no tag. */
function wordsOf(format) {
  const { type } = format;
  if (type === "const_string") return JSON.stringify(format.value);
  if (type === "token") return format.token + " (a control token)";
  if (type === "json_schema") return "JSON: " + (Object.keys((format.json_schema || {}).properties || {}).join(", ") || "any");
  if (type === "regex") return "pattern " + format.pattern;
  return String(type || "").replace(/_/g, " ");
}

/** The folded tags of a JSON text, or null where it is not a structural tag. */
function tagOutline(text, { onshow }) {
  let whole;
  try {
    whole = JSON.parse(text);
  } catch {
    return null;
  }
  const root = whole && (whole.format || (whole.type && whole));
  if (!root || typeof root !== "object") return null;
  let at = 0; // where the search for the next tag goes on
  const rows = (format) => {
    if (!format || typeof format !== "object") return [];
    if (format.type === "tag") {
      const place = text.indexOf('"tag"', at);
      at = place < 0 ? at : place + 5;
      const show = h("button.quiet", { type: "button", title: "show it in the text", onclick: (event) => {
        event.preventDefault();
        onshow(place);
      } }, "show");
      const inside = rows(format.content);
      return [h("details", {}, h("summary", {}, h("code", {}, edgeOf(format.begin)), h("span.dim", {}, " … "), h("code", {}, edgeOf(format.end)), " ", show), h("div.inside", {}, inside))];
    }
    const many = format.elements || format.tags;
    if (many) {
      const joined = { or: "one of", triggered_tags: "text, and where it begins one of", token_triggered_tags: "text, and where it begins one of", tags_with_separator: "one or several of" }[format.type];
      const inner = many.flatMap(rows);
      return joined ? [h("p.dim", {}, joined), h("div.inside", {}, inner)] : inner;
    }
    if (format.content && typeof format.content === "object") return [h("p.dim", {}, wordsOf(format)), h("div.inside", {}, rows(format.content))];
    return [h("p.dim", {}, wordsOf(format))];
  };
  const made = rows(root);
  return text.includes('"tag"') && at ? h("div.lmx-tags", { role: "group", "aria-label": "the tags" }, made) : null;
}
