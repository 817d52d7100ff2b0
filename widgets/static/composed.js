// Who composed the machine that is drawn, and how long it took: asked when the page has come to rest.

const COMPOSED_AFTER = 1500;

/** The line below the machines. `read` asks anew where another machine is drawn. */
function composedBy(ui, replay) {
  const line = h("p.lmx-composed.dim", { role: "status", hidden: true });
  let key = "";
  let timer = 0;
  const ask = async (mine) => {
    const answer = await ui.ask("composed", {});
    if (mine !== key || !answer.ok || !answer.composed) return;
    say(line, answer.composed);
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
