// A machine as a table: a row is an arc, with the states it leads from and to.

/** Write the arcs of a drawing into a table. */
function tabulate(table, { figure, arcs }) {
  const label = new Map(figure.nodes.map((node) => [node.id, node.label || (node.kind === "done" ? "end" : "·")]));
  put(table, h("table", { "aria-label": figure.caption || "" },
    h("thead", {}, h("tr", {}, ["from", "arc", "to"].map((c) => h("th", { scope: "col" }, c)))),
    h("tbody", {}, [...arcs.values()].map((edge, i) => h("tr", { "data-row": edge.id, tabindex: i ? -1 : 0 },
      h("td", {}, label.get(edge.source) ?? edge.source), h("td", {}, edge.title || edge.label), h("td", {}, label.get(edge.target) ?? edge.target))))));
}

/** A table row is an arc: the arrows walk, Enter opens it. */
function tableKeys(table, open) {
  table.dataset.keys = "ArrowDown ArrowUp Home End Enter Space";
  table.addEventListener("keydown", (event) => {
    const row = event.target.closest("tr[data-row]");
    if (!row || !usesKey(event)) return;
    const rows = [...table.querySelectorAll("tr[data-row]")];
    const at = { ArrowDown: rows.indexOf(row) + 1, ArrowUp: rows.indexOf(row) - 1, Home: 0, End: rows.length - 1 }[event.key];
    if (event.key === "Enter" || event.key === " ") {
      open(row.getAttribute("data-row"));
    } else if (at === undefined) return;
    else if (rows[at]) {
      row.tabIndex = -1;
      rows[at].tabIndex = 0;
      rows[at].focus();
    }
    event.preventDefault();
    event.stopPropagation();
  });
}

/** Mark the row of an arc as its drawing is marked. */
function markRow(table, id, { go, past, here }) {
  const row = table.querySelector(`[data-row="${CSS.escape(id)}"]`);
  if (!row) return;
  row.className = go ? "go" : past ? "past" : here ? "here" : "";
  if (here) row.setAttribute("aria-current", "true");
  else row.removeAttribute("aria-current");
}
