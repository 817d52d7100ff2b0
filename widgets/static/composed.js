// How the machine that is drawn was composed, and how long that took; asked when the page has come to rest.

const COMPOSED_AFTER = 1500;

/** The line in the bar above the machines; its title has the whole line for a narrow bar, and a switch makes the session step on pynini's machine. `read` asks again if another machine is drawn. */
function composedBy(ui, replay) {
  const said = h("span");
  const box = h("input", { type: "checkbox", onchange: async () => {
    box.disabled = true;
    const answer = await ui.ask("decode_on", { pynini: box.checked }, { doing: "changing the machine" });
    box.disabled = false;
    if (!answer.ok && answer.error) ui.remark(answer.error.message);
    ui.changed();
  } });
  const line = h("p.lmx-composed.dim", { role: "status", hidden: true }, said, h("label.ck", { title: "the same machine, composed by OpenFST: the session steps on it" }, box, " decode on pynini's machine"));
  let key = "";
  let timer = 0;
  const ask = async (mine) => {
    const answer = await ui.ask("composed", {});
    if (mine !== key) return;
    // The process that composes is busy, or the session moved meanwhile: ask again later, because the user does not wait.
    if (answer.stale || answer.cancelled || answer.composed === null) timer = setTimeout(() => ask(mine), COMPOSED_AFTER);
    if (!answer.composed) return;
    say(said, answer.composed);
    said.title = answer.composed;
    box.parentNode.hidden = !/by pynini/.test(answer.composed);
    line.hidden = false;
  };
  const read = () => {
    if (!box.disabled) box.checked = (ui.model.get("editor") || {}).method === "pynini";
    const now = (ui.machine && ui.machine.key) || "";
    if (replay || now === key) return;
    key = now;
    line.hidden = true;
    clearTimeout(timer);
    if (now) timer = setTimeout(() => ask(now), COMPOSED_AFTER);
  };
  return { line, read, end: () => clearTimeout(timer) };
}
