// The sizes of the three machines: as large as is readable and fits, or as the user chooses.

const LEAST_LABEL = 12; // The least size of a label on the screen, for a drawing of any size.
const READABLE = LEAST_LABEL / LABEL; // In a smaller drawing not all labels have room.
const MOST_FIT = 2.2; // A small machine fills its place up to this size.
const LEAST_FIT = 0.25; // In a smaller drawing nothing could be distinguished.
const PAIR = ["character_fsa", "token_dfa"]; // They have the same states, so one axis and one scale.

const MOST_ALONE = 4; // One that is shown alone, in a lecture.

/** The sizes of the drawings in `graphs`, in a column `room()` wide and `high(name)` pixels high; `alone()` is the one that has all
 * of it. `sized` is called when they are set. */
function machineSizes(graphs, room, high, alone, sized) {
  let zoom = null; // A factor, "all" for all of it in view, or null for what is readable.
  const fitting = (name) => {
    const shares = (PAIR.includes(name) && !alone() ? PAIR : [name]).flatMap((one) => (graphs[one] && room() > 0 ? [room() / graphs[one].layout.width, high(one) / (graphs[one].bottom - graphs[one].top) || 1] : []));
    return Math.min(...shares, alone() ? MOST_ALONE : MOST_FIT);
  };
  const factor = (name = "character_fsa") => (zoom !== null && zoom !== "all" ? zoom : Math.max(fitting(name), zoom ? LEAST_FIT : READABLE));
  const set = (value) => {
    zoom = value;
    for (const [name] of MACHINES) {
      const graph = graphs[name];
      if (!graph) continue;
      const scale = factor(name);
      const size = Math.max(LABEL, LEAST_LABEL / scale);
      if (graph.scale === scale) continue;
      graph.scale = scale;
      graph.svg.setAttribute("width", graph.layout.width * scale);
      graph.svg.style.setProperty("--lmx-label", size + "px");
      graph.size = size;
      thinLabels(graph, size, scale < READABLE - 0.001);
      makeRoom(graph);
      graph.svg.classList.toggle("mute", scale < 0.3);
      // A long name is made narrower rather than smaller than one can read.
      for (const text of graph.svg.querySelectorAll("text[data-room]")) {
        const wide = Number(text.getAttribute("data-room"));
        const tight = [...text.textContent].length * size * 0.61 > wide;
        if (tight) {
          text.setAttribute("textLength", wide);
          text.setAttribute("lengthAdjust", "spacingAndGlyphs");
        } else text.removeAttribute("textLength");
      }
    }
    sized(zoom === "all");
  };
  return { factor, set, again: () => set(zoom), all: () => zoom === "all" };
}
