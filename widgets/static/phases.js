// The phases of a run: a small machine of their names with the present one lit, and a sign of its hue before the
// tokens of each, which folds them: that helps with a long block of reasoning.

/** `row` holds the tokens; the machine and the bands stand before it. */
function phaseBands(ui, row) {
  const machine = h("ol.lmx-phases", { "aria-label": "phases of the run" });
  row.before(machine);
  const folded = new Set();
  let drawn = "";

  const hue = (number) => (number < 0 ? "" : String(number % 5));
  const pill = (phases, number, alive) => {
    const { name, role, next } = phases.machine[number];
    const after = next.map((k) => (k < 0 ? "the end" : phases.machine[k].name)).join(" or ") || "nothing else";
    const said = `phase ${name}` + (role ? `, written by ${role}` : "") + `; after it: ${after}`;
    const first = number === 0 || !phases.machine.some((one) => one.next.includes(number));
    const beside = number > 0 && phases.machine.some((one) => one.next.includes(number) && one.next.includes(number - 1));
    const sign = number === 0 ? "" : beside ? "or" : first ? "" : "→";
    return h("li" + (alive.includes(number) ? ".now" : ""), { "data-hue": hue(number), "data-sign": sign, title: said, "aria-current": alive.includes(number) ? "step" : null },
      h("span", {}, name), role ? h("sup", {}, role) : null, next.includes(number) || next.some((k) => k >= 0 && k < number) ? h("sup", { title: "may come again" }, "↻") : null);
  };
  /** The nodes of the line, with a band before the tokens of each phase. */
  const banded = (phases, nodes, k, change) => {
    const out = [];
    for (const [name, from, to, role] of phases.bands) {
      const number = phases.machine.findIndex((one) => one.name === name);
      const inside = nodes.slice(from, to);
      for (const node of inside) node.dataset.hue = hue(number);
      const key = `${name}|${from}`;
      const shut = folded.has(key);
      if (name) {
        const now = k > from && k <= to;
        out.push(h("button.lmx-band" + (now ? ".now" : ""), {
          role: "listitem", "data-hue": hue(number), "aria-expanded": !shut, "data-phase": name,
          title: `phase ${name}, ${count(to - from)} tokens${role ? `, fed by ${role}` : ""}: ${shut ? "show" : "fold"} its tokens`, "aria-label": `phase ${name}`,
          onclick: () => { shut ? folded.delete(key) : folded.add(key); drawn = ""; change(); },
        }, shut ? ["▸ " + name, h("span.dim", {}, ` ${count(to - from)}`)] : "▾"));
      }
      out.push(...(shut ? inside.filter((_, i) => from + i === k - 1) : inside));
    }
    return [...out, ...nodes.slice(phases.bands.length ? phases.bands.at(-1)[2] : 0)];
  };
  let made = [];
  return {
    /** The nodes to show for the tokens, with their bands; the same nodes as before where nothing changed. */
    arrange(phases, nodes, k, change) {
      machine.hidden = !phases;
      tellAround(row, ".lmx-part-strip", "phased", !!phases);
      if (!phases) return nodes;
      const alive = phases.alive[Math.min(k, phases.alive.length - 1)] || [];
      const key = JSON.stringify([phases, k, [...folded]]);
      if (key !== drawn || made.nodes.length !== nodes.length || made.nodes.some((one, i) => one !== nodes[i])) {
        drawn = key;
        put(machine, phases.machine.map((_, number) => pill(phases, number, alive)));
        made = { nodes, shown: banded(phases, nodes, k, change) };
      }
      return made.shown;
    },
  };
}
