// The sizes of the three machines: as large as is readable and fits, or as the user chooses.

const LEAST_LABEL = 11; // The least size of a label on the screen, for a drawing of any size.
const READABLE = LEAST_LABEL / LABEL; // In a smaller drawing not all labels have room.
const MOST_FIT = 1.2; // A small machine fills a wide column up to this size;
const MOST_LARGE = 1.13; // for a projector, which enlarges it as a whole, up to this one;
const SHORT = 800; // in a window lower than this, so that all three are in view, only up to READABLE.
const LEAST_FIT = 0.25; // In a smaller drawing nothing could be distinguished: the strip shows all of it.
const PAIR = ["character_fsa", "token_dfa"]; // They have the same states, so one axis and one scale.

/** The sizes of the drawings in `graphs`, in a column `room()` wide. `sized` is called when they are set. */
function machineSizes(graphs, room, sized) {
  const low = () => graphs.character_fsa?.svg.isConnected && window.innerHeight / zoomOf(graphs.character_fsa.svg) < SHORT;
  let zoom = null; // A factor, "all" for all of it in view, or null for what is readable.
  const fitting = (name) => {
    const same = PAIR.includes(name) ? PAIR : [name];
    const widest = Math.max(1, ...same.map((one) => (graphs[one] ? graphs[one].layout.width : 1)));
    return room() > 0 ? room() / widest : 1;
  };
  // Only the pair is drawn larger: its size stays the same while the machine between them changes.
  const factor = (name = "character_fsa") => {
    if (zoom !== null && zoom !== "all") return zoom;
    const most = PAIR.includes(name) ? (low() ? (zoomOf(graphs.character_fsa.svg) > 1.01 ? MOST_LARGE : READABLE) : MOST_FIT) : Math.max(1, factor());
    return Math.min(Math.max(fitting(name), zoom ? LEAST_FIT : READABLE), most);
  };
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
