// The scrolling of the drawings: the parts that move into view, and the hints at those that are hidden.

/** The scrolling of the drawings in `graphs` inside their `boxes`, drawn `factor(name)` times as large. */
function machineScroll(graphs, boxes, factor) {
  const scroll = {};
  // The scroll position is known only after layout, so work that depends on it is done once, at the beginning
  // of a frame.
  let looking = 0;
  let follows = [];
  const looked = () => {
    looking ||= requestAnimationFrame(() => {
      looking = 0;
      for (const one of follows.splice(0)) follow(...one);
      edges();
    });
  };
  /** Hint at the hidden parts of a drawing at its edges. */
  const edges = () => {
    for (const [name] of MACHINES) {
      const { body } = boxes[name];
      body.classList.toggle("more-left", body.scrollLeft > 2);
      body.classList.toggle("more-right", body.scrollLeft + body.clientWidth < body.scrollWidth - 2);
    }
    for (const [name] of MACHINES) {
      const { body } = boxes[name];
      const graph = graphs[name];
      if (!graph || !body.clientWidth) continue;
      // What is far away leaves no empty space here.
      const from = body.scrollLeft / factor(name);
      graph.frame(...extent(graph.layout, from - 30, from + body.clientWidth / factor(name) + 30));
    }
  };

  /** Let the pointer drag a drawing. */
  scroll.drags = (body) => {
    let drag = null;
    body.addEventListener("pointerdown", (event) => {
      const by = zoomOf(body);
      drag = { x: event.clientX / by + body.scrollLeft, y: event.clientY / by + body.scrollTop };
    });
    body.addEventListener("pointermove", (event) => {
      if (!drag || !event.buttons) return;
      body.scrollLeft = drag.x - event.clientX / zoomOf(body);
      body.scrollTop = drag.y - event.clientY / zoomOf(body);
    });
  };

  /** Scroll as far as needed to see where we are and what comes next. */
  const follow = (name, now, nexts) => {
    const graph = graphs[name];
    const { body } = boxes[name];
    const place = graph && graph.layout.nodes[now];
    if (!place || !body.clientWidth) return;
    const scale = factor(name);
    if (body.scrollWidth > body.clientWidth + 4) {
      const wide = body.clientWidth;
      const xs = [place.x, ...nexts.map((id) => graph.layout.nodes[id]?.x ?? place.x)].map((x) => x * scale);
      const least = Math.min(...xs) - 36, most = Math.max(...xs) + 36;
      // Not everything fits, so the present state goes to the left and what follows is in view.
      const left = most - least > wide ? place.x * scale - wide * 0.2 : least < body.scrollLeft ? least : most > body.scrollLeft + wide ? most - wide : null;
      if (left !== null) body.scrollLeft = left;
    }
    if (body.scrollHeight > body.clientHeight + 4) {
      const y = (place.y - graph.top) * scale;
      if (y < body.scrollTop + 30 || y > body.scrollTop + body.clientHeight - 30) body.scrollTop = y - body.clientHeight / 2;
    }
  };
  scroll.looked = looked;
  /** What to show from the next frame on: names, states and what follows them. */
  scroll.to = (wanted) => {
    follows = wanted;
    looked();
  };
  return scroll;
}
