// How the machine that is drawn was composed, and how long that took; asked when the page has come to rest.

const COMPOSED_AFTER = 1500;

/** The line in the bar above the machines; its title has the whole line for a narrow bar. `read` asks again if another machine is drawn. */
function composedBy(ui, replay) {
  const line = h("p.lmx-composed.dim", { role: "status", hidden: true });
  let key = "";
  let timer = 0;
  const ask = async (mine) => {
    const answer = await ui.ask("composed", {});
    if (mine !== key) return;
    // The process that composes is busy, or the session moved meanwhile: ask again later, because the user does not wait.
    if (answer.stale || answer.cancelled || answer.composed === null) timer = setTimeout(() => ask(mine), COMPOSED_AFTER);
    if (!answer.composed) return;
    say(line, answer.composed);
    line.title = answer.composed;
    line.hidden = false;
  };
  const read = () => {
    const now = (ui.machine && ui.machine.key) || "";
    if (replay || now === key) return;
    key = now;
    line.hidden = true;
    clearTimeout(timer);
    if (now) timer = setTimeout(() => ask(now), COMPOSED_AFTER);
  };
  return { line, read, end: () => clearTimeout(timer) };
}
