// The reasons of a whole mask in a dozen groups. Alone, the traps stand under them.
//
// The groups are asked for when the page has come to rest after a step. Pointing at one shows its
// tokens in the mask; a click keeps them there and lists the likeliest among the bars.

export function renderReasons({ model, el, ui = pageState(model), alone = false }) {
  island(el, "Reasons for the mask");
  const said = h("span.dim");
  const list = h("div.lmx-groups", { role: "group", "aria-label": "groups of masked tokens" });
  const total = h("p.dim.total");
  el.append(h("header", {}, h("h4", {}, "Why the rest is masked"), said), list, total);
  const offTraps = alone ? renderTraps({ model, el: el.appendChild(h("div")), ui }) : () => {};
  let now = null; // {path, reasons}
  let members = null; // {path, of: Uint8Array, rows: Map}

  const path = () => (ui.position ? pathKey(ui, ui.position.k) : "");
  const offAsk = atRest(ui, "reasons", path, (answer, key) => {
    if (answer.reasons) now = { path: key, reasons: answer.reasons };
  });

  const load = async (number) => {
    const key = path();
    if (members && members.path === key && members.rows.has(number)) return members;
    const answer = await ui.ask("group", { group: number, k: ui.position.k });
    if (!answer.ok || !answer.rows || key !== path()) return null;
    if (!members || members.path !== key) members = { path: key, of: new Uint8Array(await ui.during(unpack(answer.members))), rows: new Map() };
    members.rows.set(number, answer.rows);
    return members;
  };
  let wanted = 0;
  const show = async (number, pinned) => {
    const mine = ++wanted;
    const group = now && now.reasons.groups[number];
    if (!group || now.path !== path()) return;
    const found = await load(number);
    if (!found || mine !== wanted) return;
    ui.filter = { path: found.path, group: number, reason: group.reason, count: group.count, rows: found.rows.get(number), pinned, has: (id) => found.of[id] === number + 1 };
    ui.changed();
  };
  const hide = () => {
    wanted++;
    if (!ui.filter || ui.filter.pinned) return;
    ui.filter = null;
    ui.changed();
  };
  let shown = null;
  let state = "";
  const update = () => {
    const key = path();
    if (ui.filter && ui.filter.path !== key) ui.filter = null;
    const fresh = now && now.path === key ? now.reasons : null;
    const ended = !ui.position || ui.position.finished;
    el.hidden = !model.get("machine") || !(model.get("machine") || {}).key;
    const pinned = ui.filter && ui.filter.pinned ? ui.filter.group : null;
    const open = !ui.gone && !model.get("replay");
    const next = [key, !!fresh, pinned, open, ended].join("|");
    if (next !== state || fresh !== shown) {
      state = next;
      shown = fresh;
      // Until the new groups are there the old ones stay, dimmed, so that nothing jumps.
      list.classList.toggle("old", !fresh && !ended);
      if (ended) {
        put(list);
        put(total, "The text has ended.");
      } else if (fresh) draw(fresh, pinned, open);
      say(said, fresh || ended || now ? "" : "…");
    }
  };
  const draw = (reasons, pinned, open) => {
    const focused = list.contains(document.activeElement) && document.activeElement.getAttribute("data-group");
    put(list, reasons.groups.map((group, i) => {
      const words = group.count === 1 ? "1 token" : count(group.count) + " tokens";
      return h("button.lmx-group" + (pinned === i ? ".on" : ""), {
        "data-group": i, "aria-pressed": pinned === i, disabled: !open, title: pinned === i ? "show all tokens again" : "show only these",
        onclick: () => {
          if (pinned === i) {
            ui.filter = null;
            ui.changed();
          } else show(i, true);
        },
        onmouseenter: () => (!ui.filter || !ui.filter.pinned) && show(i, false),
        onmouseleave: hide, onfocus: () => (!ui.filter || !ui.filter.pinned) && show(i, false), onblur: hide,
      }, h("b", { title: "of the model's probability" }, group.mass === null ? "" : percent(group.mass) + "\u00a0%"), h("i", {}, words), h("span", {}, group.reason));
    }));
    if (focused !== false) list.querySelector(`[data-group="${focused}"]`)?.focus({ preventScroll: true });
    const rest = reasons.z === null ? "" : ` (${percent(reasons.z)} % of the model's probability)`;
    const beyond = reasons.groups.find((group) => group.reason === "ids beyond the vocabulary");
    const padding = beyond ? `, ${count(beyond.count)} of them beyond the vocabulary` : "";
    put(total, `${count(reasons.allowed)} allowed${rest}, ${count(reasons.width - reasons.allowed)} masked, of ${count(reasons.width)} token ids${padding}`);
  };
  const off = ui.on("after", update);
  update();
  return () => {
    off();
    offAsk();
    offTraps();
  };
}
