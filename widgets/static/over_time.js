// Small columns over the positions so far: allowed, feasible mass, entropy, probability of what was
// chosen. A click goes there.

const SERIES = [
  ["allowed", "allowed", (x) => count(x), true],
  ["z", "feasible mass", mass, false],
  ["entropy_before", "entropy, bits", bits, false],
  ["chosen_constrained", "chosen, %", percent, false],
];

export function renderOverTime({ model, el, ui = pageState(model) }) {
  island(el, "Over time");
  const grid = h("div.lmx-time");
  el.append(h("header", {}, h("h4", {}, "Over time")), grid);
  const update = () => {
    const history = ui.line.history || {};
    const k = ui.position ? ui.position.k : 0;
    put(grid, SERIES.map(([key, name, show, logarithmic]) => {
      const values = history[key] || [];
      const known = values.filter((x) => x !== null && x !== undefined);
      if (!known.length) return null;
      const scale = (x) => (logarithmic ? Math.log2(1 + x) : x);
      const top = Math.max(...known.map(scale), 1e-9);
      const width = Math.max(values.length, 12);
      const svg = s("svg", { viewBox: `0 0 ${width * 10} 30`, preserveAspectRatio: "none", role: "img", "aria-label": `${name} per position: ${known.map(show).join(", ").slice(0, 400)}` });
      values.forEach((value, i) => {
        const none = value === null || value === undefined;
        const height = none ? 0 : Math.max(1, (28 * scale(value)) / top);
        svg.append(s("g" + (i === k ? ".now" : ""), { onclick: () => ui.go(i) },
          s("rect.hit", { x: i * 10, y: 0, width: 10, height: 30 }, s("title", {}, `position ${i}: ${none ? "–" : show(value)}`)),
          s("rect.bar", { x: i * 10 + 1, y: 30 - height, width: 8, height })));
      });
      return h("div", {}, svg, h("span", {}, h("b", {}, show(values[k])), " ", name));
    }));
  };
  const off = ui.on("change", update);
  update();
  return off;
}
