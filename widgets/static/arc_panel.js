// The panel of an arc: the tokens that it stands for, by class where there are several, and a search among
// them.

/** Fill the panel of an arc. `all` says that the arc may stand for more tokens than it names. `ask` asks the
 * kernel for all its classes and gives nothing if another arc was opened meanwhile. */
function fillArc(ui, panel, arc, all, ask) {
  const ids = arc.tokens || [];
  const search = h("input", { type: "search", placeholder: "among them…", "aria-label": "search this arc's tokens" });
  const said = h("span.dim", { role: "status" });
  const list = h("div.lmx-chips");
  const groups = h("div.lmx-groups");
  let classes = null; // All token classes of the arc, once known.
  let only = null;
  const show = (found, total) => {
    put(list, found.map((id) => {
      const chip = ui.token(id);
      chip.setAttribute("tabindex", 0);
      chip.setAttribute("role", "button");
      chip.dataset.keys = "Enter Space";
      chip.addEventListener("click", () => ui.select(id));
      chip.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        ui.select(id);
        event.preventDefault();
        event.stopPropagation();
      });
      return chip;
    }));
    put(said, total > found.length ? `${count(found.length)} of ${count(total)}` : search.value ? count(total) : "");
  };
  const look = () => {
    if (!classes || !ui.vocabulary || !ui.machine) return show(only ? only.tokens : ids, only ? only.count : arc.count || ids.length);
    const wanted = new Set(only ? [only.class] : classes);
    const found = [];
    let total = 0;
    const text = search.value.replaceAll(" ", "␣");
    ui.machine.classOf.forEach((number, id) => {
      if (!wanted.has(number) || !ui.text(id).includes(text)) return;
      total++;
      if (found.length < 40) found.push(id);
    });
    show(found, total);
  };
  if (arc.class !== null && arc.class !== undefined) classes = [arc.class];
  else if ((arc.groups || []).length === arc.num_groups) classes = arc.groups.map((one) => one.class);
  else if (arc.num_groups && ask) {
    ask(arc).then((found) => {
      if (found) classes = found;
      look();
    });
  }
  search.addEventListener("input", look);
  if (arc.num_groups > 1) {
    const pick = (group) => h("button.quiet", { "aria-pressed": only === group, onclick: () => {
      only = group;
      put(groups, every());
      look();
    } }, group ? readable(group.label) : "all classes");
    const every = () => [pick(null), (arc.groups || []).map(pick), arc.num_groups > (arc.groups || []).length ? h("span.dim", {}, `${count(arc.num_groups)} classes`) : null];
    if (arc.groups) put(groups, every());
  }
  const wide = all && (arc.count || 0) > ids.length;
  put(panel, h("span", {}, arc.title || arc.label), wide ? [search, said] : null, groups.firstChild ? groups : null, ids.length ? list : null);
  look();
}
