// The three machines on one axis: character FSA, detokenizing FST, token DFA.
//
// A graph is drawn once per constraint. A step, a pointer or slow motion only changes classes, so
// nothing moves except what changed. What is lit is worked out in one place for all three (`lit`),
// from the path so far and from the token in view.

const MACHINES = [
  ["character_fsa", "Character FSA", "what the pattern accepts", "Char. FSA"],
  ["detokenizing_fst", "Detokenizing FST", "token in : byte out", "Detok. FST"],
  ["token_dfa", "Token DFA = FSA ∘ FST", "same states, tokens on the arcs", "Token DFA"],
];
const LEAST_LABEL = 11; // On the screen, however small the drawing is.
const READABLE = LEAST_LABEL / LABEL; // Smaller than this not all words have room.
const MOST_FIT = 1.2; // A small machine fills a wide column up to this size.
const LEAST_FIT = 0.25; // Smaller than this nothing could be told apart: the strip shows all of it.
const PAIR = ["character_fsa", "token_dfa"]; // They have the same states, so one axis and one scale.

export function renderMachines({ model, el, ui = pageState(model) }) {
  island(el, "The three machines");
  const graphs = {};
  const boxes = {};
  const replay = !!model.get("replay");
  let zoom = null;
  let drawn = "";
  let active = "character_fsa";
  let map = null;
  let form = "characters";
  let whole = false;
  let drawing = null; // What was drawn because it was asked for: {key, machines, layouts} or {key, said}.
  let present = ""; // Where the added arcs belong.
  let stages = { number: 0, key: "", figure: null, made: null, at: null }; // at: so many arcs of the composition are drawn; null: all.
  const tabs = h("div.lmx-tabs", { role: "tablist" });
  const holder = h("div.lmx-machines", {}, tabs);
  el.append(holder);

  const wide = sizeOf(holder, () => {
    setZoom(zoom);
    update();
  });
  const room = () => wide.width - 2;
  const fitting = (name) => {
    const same = PAIR.includes(name) ? PAIR : [name];
    const widest = Math.max(1, ...same.map((one) => (graphs[one] ? graphs[one].layout.width : 1)));
    return room() > 0 ? room() / widest : 1;
  };
  // Larger than drawn only where the pair is: it stays as it is while the machine between them changes.
  const factor = (name = "character_fsa") => {
    if (zoom !== null && zoom !== "all") return zoom;
    const most = PAIR.includes(name) ? MOST_FIT : Math.max(1, factor());
    return Math.min(Math.max(fitting(name), zoom ? LEAST_FIT : READABLE), most);
  };
  const setZoom = (value) => {
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
      thinLabels(graph, size, scale < READABLE - 0.001);
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
    for (const { fit } of Object.values(boxes)) fit.setAttribute("aria-pressed", zoom === "all");
    looked();
  };
  // Where a drawing is scrolled to is known when the page is laid out, so what depends on it is done
  // at the beginning of a frame, and once.
  let looking = 0;
  let follows = [];
  const looked = () => {
    looking ||= requestAnimationFrame(() => {
      looking = 0;
      for (const one of follows.splice(0)) follow(...one);
      edges();
    });
  };
  /** What a scrolled drawing hides is hinted at its edges, and shown on the map. */
  const edges = () => {
    for (const [name] of MACHINES) {
      const { body } = boxes[name];
      body.classList.toggle("more-left", body.scrollLeft > 2);
      body.classList.toggle("more-right", body.scrollLeft + body.clientWidth < body.scrollWidth - 2);
    }
    const { body, over } = boxes.character_fsa;
    const graph = graphs.character_fsa;
    over.hidden = !map || !graph || graph.layout.width * factor() <= body.clientWidth + 4 || !body.clientWidth;
    if (over.hidden) return;
    map.window.setAttribute("x", body.scrollLeft / factor());
    map.window.setAttribute("width", body.clientWidth / factor());
  };

  for (const [name, title, about, short] of MACHINES) {
    const caption = h("span", {}, about);
    const body = h("div.lmx-graph", { tabindex: 0, "aria-label": title + ": + and − change its size, 0 restores it" });
    const panel = h("div.lmx-arc", { hidden: true });
    const table = h("div.lmx-table", { hidden: true });
    const over = h("div.lmx-over", { hidden: true });
    const offer = h("div.lmx-offer", { hidden: true, role: "status" });
    const lesson = h("div.lmx-lesson", { hidden: true });
    const asTable = h("button.quiet", { title: "as a table", "aria-label": title + ": as a table", "aria-pressed": "false", onclick: () => {
      const open = asTable.getAttribute("aria-pressed") !== "true";
      asTable.setAttribute("aria-pressed", open);
      table.hidden = !open;
      body.hidden = open;
      update();
      const row = table.querySelector("[aria-current]");
      if (open && row) row.scrollIntoView({ block: "nearest" });
    } }, "table");
    const fit = h("button.quiet", { title: "all of it in view", "aria-label": title + ": fit, all of it in view", "aria-pressed": "false", onclick: () => setZoom(zoom === "all" ? null : "all") }, "fit");
    const tools = h("div.tools", {},
      h("button.quiet", { title: "smaller", "aria-label": title + ": − smaller", onclick: () => setZoom(factor(name) / 1.25) }, "−"), fit,
      h("button.quiet", { title: "larger", "aria-label": title + ": + larger", onclick: () => setZoom(factor(name) * 1.25) }, "+"), asTable);
    const box = h("section.lmx-machine", { "data-machine": name, "aria-label": title },
      h("header", {}, h("h4", {}, title), caption, tools), offer, over, body, lesson, table, panel);
    boxes[name] = { box, body, caption, about, panel, table, over, offer, lesson, fit, open: null };
    if (name === "character_fsa") {
      const inBytes = h("button.quiet", { title: "arcs by byte, with every state in the middle of a character", "aria-pressed": "false", onclick: () => {
        form = form === "bytes" ? "characters" : "bytes";
        inBytes.setAttribute("aria-pressed", form === "bytes");
        redraw();
      } }, "bytes");
      if (!replay) tools.prepend(inBytes);
    }
    if (name === "detokenizing_fst" && !replay) {
      const add = h("input.lmx-add", { type: "search", placeholder: "add a token", title: "draw a token: its text, its id, or its bytes as 0x66", "aria-label": title + ": add a token", onchange: async () => {
        const answer = add.value && (await ui.ask("search", { query: add.value, k: ui.position.k }));
        const found = answer && answer.ok && answer.rows.find((row) => ui.isText(row.id));
        if (found && !ui.also.includes(found.id)) ui.show(found.id, true);
        add.value = "";
      } });
      tools.prepend(add);
    }
    if (name === "token_dfa" && !replay) {
      const stage = h("select", { title: "how it is made, over the tokens shown above", "aria-label": title + ": construction", onchange: () => {
        stages = { number: Number(stage.value), key: "", figure: null, made: null, at: null };
        update();
      } }, ["token DFA", "1 composed, with ε", "2 ε-free", "3 determinized", "4 trimmed"].map((label, i) => h("option", { value: i }, label)));
      tools.prepend(stage);
    }
    tabs.append(h("button", { role: "tab", "data-tab": name, onclick: () => {
      active = name;
      update();
      setZoom(zoom);
    } }, h("span", {}, title), h("span.short", { "aria-hidden": "true" }, short)));
    holder.append(box);
    body.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return; // The notebook goes on scrolling.
      event.preventDefault();
      setZoom(factor(name) * (event.deltaY < 0 ? 1.1 : 1 / 1.1));
    }, { passive: false });
    body.addEventListener("keydown", (event) => {
      if (event.key === "+" || event.key === "-" || event.key === "0") {
        setZoom(event.key === "0" ? null : factor(name) * (event.key === "+" ? 1.25 : 0.8));
        event.preventDefault();
      }
    });
    // A table row is an arc: the arrows walk, Enter opens it.
    table.addEventListener("keydown", (event) => {
      const row = event.target.closest("tr[data-row]");
      if (!row) return;
      const rows = [...table.querySelectorAll("tr[data-row]")];
      const at = { ArrowDown: rows.indexOf(row) + 1, ArrowUp: rows.indexOf(row) - 1, Home: 0, End: rows.length - 1 }[event.key];
      if (event.key === "Enter" || event.key === " ") {
        boxes[name].open = row.getAttribute("data-row");
        showArc(name);
      } else if (at === undefined) return;
      else if (rows[at]) {
        row.tabIndex = -1;
        rows[at].tabIndex = 0;
        rows[at].focus();
      }
      event.preventDefault();
      event.stopPropagation();
    });
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
    body.addEventListener("scroll", () => {
      const other = { character_fsa: "token_dfa", token_dfa: "character_fsa" }[name];
      if (other && boxes[other] && !stages.number) boxes[other].body.scrollLeft = body.scrollLeft;
      looked();
    });
    const open = (event) => {
      const hit = event.target.closest("[data-arc], [data-row]");
      boxes[name].open = hit ? hit.getAttribute("data-arc") || hit.getAttribute("data-row") : null;
      showArc(name);
    };
    body.addEventListener("click", open);
    table.addEventListener("click", open);
  }

  /** Another form, or the whole of a large machine: asked of the kernel, which may take a while. */
  const redraw = async () => {
    drawn = "";
    present = "";
    const key = ui.machine && ui.machine.key;
    const wanted = form === "bytes" || whole;
    drawing = wanted ? { key, waiting: true } : null;
    update();
    if (!wanted || !key) return;
    const mine = drawing;
    const answer = await ui.ask("draw", { form }, { doing: "drawing the whole machine" });
    if (drawing !== mine) return;
    drawing = answer.ok ? { key, form, ...answer.drawing } : { key, said: answer.cancelled ? "cancelled" : (answer.error && answer.error.message) || "This cannot be drawn here." };
    drawn = "";
    update();
  };

  /** The construction of the token DFA over the tokens that are shown. */
  const construct = async () => {
    const key = pathKey(ui, ui.position.k) + "|" + ui.asked().join(",");
    if (stages.key === key) return;
    stages.key = key;
    const mine = stages;
    const answer = await ui.ask("stages", { k: ui.position.k, also: ui.asked() }, { doing: "working out the construction" });
    if (stages !== mine || mine.key !== key) return;
    if (answer.stale) mine.key = "";
    if (answer.cancelled) {
      stages = { number: 0, key: "", figure: null, made: null, at: null };
      boxes.token_dfa.box.querySelector("header select").value = 0;
      return update();
    }
    if (!answer.ok) return;
    mine.made = mine.figure = answer.stages[mine.number - 1] || null;
    mine.at = null;
    update();
  };

  /** What names the arcs of the present state and the path that a cut drawing lacks; empty if none can
   * be missing. */
  const lacking = () => {
    const graph = graphs.token_dfa;
    const near = ui.around && ui.around.machines && ui.around.machines.token_dfa;
    if (!graph || replay || stages.number || graph.figure.complete || (near && graph.figure === near)) return "";
    return pathKey(ui, ui.position.k) + "|" + graph.form;
  };
  let awaited = "";
  const complete = () => {
    const key = lacking();
    if (!key || key === present || key === awaited) return;
    awaited = key;
    completing();
  };
  const completing = eased(ui, AROUND_AFTER, AROUND_LATEST, async () => {
    awaited = "";
    const key = lacking();
    if (!key || key === present || ui.gone) return;
    const graph = graphs.token_dfa;
    present = key;
    const answer = await ui.ask("present", { k: ui.position.k, form: graph.form });
    if (answer.stale && present === key) present = "";
    if (present !== key || graphs.token_dfa !== graph || !answer.ok || !answer.present) return;
    const { edges: found, places, top, bottom } = answer.present;
    const wanted = new Set(found.map((edge) => edge.id));
    graph.drop([...graph.arcs.keys()].filter((id) => !graph.own.has(id) && !wanted.has(id)));
    graph.add(found, places);
    graph.frame(top, bottom);
    update();
  });

  const showArc = (name) => {
    const { panel, open } = boxes[name];
    const arc = open && graphs[name] && graphs[name].arcs.get(open);
    panel.hidden = !arc;
    if (!arc) return;
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
    else if (name === "token_dfa" && arc.num_groups && !replay && !stages.number) {
      ui.ask("arc", { source: arc.source, target: arc.target, form: graphs[name].form }).then((answer) => {
        if (answer.ok && boxes[name].open === open) classes = answer.classes;
        look();
      });
    }
    search.addEventListener("input", look);
    if (arc.num_groups > 1) {
      const pick = (group) => h("button.quiet", { "aria-pressed": only === group, onclick: () => {
        only = group;
        put(groups, all());
        look();
      } }, group ? readable(group.label) : "all classes");
      const all = () => [pick(null), (arc.groups || []).map(pick), arc.num_groups > (arc.groups || []).length ? h("span.dim", {}, `${count(arc.num_groups)} classes`) : null];
      if (arc.groups) put(groups, all());
    }
    const wide = name === "token_dfa" && (arc.count || 0) > ids.length;
    put(panel, h("span", {}, arc.title || arc.label), wide ? [search, said] : null, groups.firstChild ? groups : null, ids.length ? list : null);
    look();
  };

  const draw = () => {
    const machine = ui.machine;
    const near = ui.around;
    if (drawing && drawing.key !== (machine && machine.key)) {
      whole = false;
      if (form === "bytes" && machine) return redraw();
      drawing = null;
    }
    const stage = stages.number ? stages.figure : null;
    const key = [machine ? machine.key : "", (near && near.key) || "", drawing ? JSON.stringify([drawing.form, !!drawing.said]) : "", stages.number].join("|");
    if (key === drawn && (!stage || graphs.token_dfa?.figure === stage.figure)) return;
    drawn = key;
    for (const [name] of MACHINES) {
      let figure = machine && machine.machines && machine.machines[name];
      let layout = machine && machine.layouts && machine.layouts[name];
      let shape = "characters";
      if (near && near.machines && near.machines[name]) {
        figure = near.machines[name];
        layout = near.layouts[name];
      } else if (name === "detokenizing_fst") figure = null;
      if (drawing && PAIR.includes(name) && !drawing.said) {
        figure = drawing.waiting ? null : drawing.machines[name];
        layout = drawing.waiting ? null : drawing.layouts[name];
        shape = drawing.form;
      }
      if (name === "token_dfa" && stages.number) ({ figure, layout } = stage || {});
      const { body, caption, about, table, panel } = boxes[name];
      if (!figure || !layout) {
        delete graphs[name];
        put(body, h("p.dim", {}, machine ? (figure && figure.caption) || "drawing…" : "no constraint: every token is allowed"));
        put(caption, about);
        continue;
      }
      if (graphs[name] && graphs[name].figure === figure) continue;
      graphs[name] = drawMachine(figure, layout, shape);
      present = "";
      put(caption, figure.caption || about);
      caption.title = figure.caption || about;
      put(body, graphs[name].svg, figure.nodes.length ? null : h("p.dim", {}, "nothing is left: with these tokens alone no text can end"));
      panel.hidden = true;
      boxes[name].open = null;
      tabulate(table, graphs[name]);
      if (name === "character_fsa") {
        map = drawMap(layout, (x) => (body.scrollLeft = x * factor() - body.clientWidth / 2));
        put(boxes[name].over, map.svg);
      }
    }
    setZoom(zoom);
  };
  const tabulate = (table, { figure, arcs }) => {
    const label = new Map(figure.nodes.map((node) => [node.id, node.label || (node.kind === "done" ? "end" : "·")]));
    put(table, h("table", { "aria-label": figure.caption || "" },
      h("thead", {}, h("tr", {}, ["from", "arc", "to"].map((c) => h("th", { scope: "col" }, c)))),
      h("tbody", {}, [...arcs.values()].map((edge, i) => h("tr", { "data-row": edge.id, tabindex: i ? -1 : 0 },
        h("td", {}, label.get(edge.source) ?? edge.source), h("td", {}, edge.title || edge.label), h("td", {}, label.get(edge.target) ?? edge.target))))));
  };

  let told = "";
  /** The construction as a lesson: the steps of the algorithms with the one that is shown, and the
   * composition pair by pair, with the two arcs lit that the new one is made of. */
  const lesson = (sets) => {
    const box = boxes.token_dfa.lesson;
    const made = stages.number ? stages.made : null;
    box.hidden = !made;
    const graph = graphs.token_dfa;
    const sources = made && stages.number === 1 ? made.sources : [];
    const at = sources.length ? stages.at : null;
    if (made && graph && graph.figure === made.figure) {
      const order = new Map(sources.map(([arc], i) => [arc, i]));
      const reached = new Set(sources.slice(0, at ?? sources.length).flatMap(([arc]) => [graph.arcs.get(arc).source, graph.arcs.get(arc).target]));
      for (const [id, arc] of graph.arcs) for (const one of [arc.g, arc.text]) one.classList.toggle("later", at !== null && (order.get(id) ?? Infinity) >= at);
      for (const [id, node] of graph.nodes) node.g.classList.toggle("later", at !== null && !reached.has(id) && !graph.figure.nodes.find((one) => one.id === id).start);
      if (at) {
        const [arc, inner, outer] = sources[at - 1];
        for (const [name, lit] of [["token_dfa", arc], ["detokenizing_fst", inner], ["character_fsa", outer]]) Object.assign(sets[name], { go: new Set(lit ? [lit] : []), open: new Set(), koArcs: new Set() });
      }
    }
    const what = made ? [stages.key, stages.number, at].join("|") : "";
    if (what === told) return;
    told = what;
    if (!made) return;
    const go = (to) => () => {
      stages.at = to;
      update();
    };
    const steps = (list, now) => h("ol", {}, list.map((step, i) => h("li" + (i === now ? ".now" : ""), { "aria-current": i === now ? "step" : null }, step)));
    const step = at === null ? made.step : at === 0 ? 0 : made.step;
    put(box, h("p", {}, made.figure.caption), !sources.length ? null : h("div.row", {},
      at === null ? h("button.quiet", { onclick: go(0) }, "pair by pair") : [
        h("button", { "aria-label": "the arc before", disabled: at === 0, onclick: go(at - 1) }, "◀"), h("button.p", { "aria-label": "the next arc", disabled: at === sources.length, onclick: go(at + 1) }, "▶"),
        h("span.dim", { role: "status" }, `arc ${at} of ${sources.length}`), h("button.quiet", { onclick: go(null) }, "all")]),
      h("p.dim", {}, "Algorithm 2: the token DFA"), steps(made.algorithm, step),
      h("details", {}, h("summary", {}, "Algorithm 1: the detokenizing FST"), steps(made.first, -1)));
  };

  let offered = "";
  /** What is offered under a header: the whole of a large machine, a token for T_V. */
  const offers = () => {
    const { offer } = boxes.character_fsa;
    const states = (ui.machine && ui.machine.states) || {};
    const large = !replay && ui.machine && !states.whole;
    const wide = !replay && ui.machine && ui.machine.narrower;
    offer.hidden = !(wide || large || (drawing && (drawing.said || drawing.waiting)));
    const what = [wide && ui.machine.key, large, states.characters, drawing && drawing.waiting, drawing && drawing.said, !!drawing, form].join("|");
    if (!offer.hidden && what !== offered) {
      offered = what;
      const size = count(states.characters || 0);
      put(offer, wide ? h("span", { "data-narrower": "" }, wide.said + " ", wide.patterns.map((pattern) => h("button.quiet", { title: "put it into the editor and compile it", onclick: () => ui.ask("edit", { kind: "regex", text: pattern, prompt: (model.get("editor") || {}).prompt || "" }, { shown: true }) }, h("code", {}, "use " + (pattern.length > 40 ? pattern.slice(0, 39) + "…" : pattern)))), " ") : null,
        drawing && drawing.waiting ? h("span.dim", {}, "drawing the whole machine…") : null,
        drawing && drawing.said ? h("span", {}, drawing.said) : null,
        large && !drawing ? h("button.quiet", { onclick: () => {
          whole = true;
          redraw();
        } }, `draw the whole machine (${size} states)`) : null,
        large && drawing && !drawing.waiting && form !== "bytes" ? h("button.quiet", { onclick: () => {
          whole = false;
          redraw();
        } }, drawing.said ? "close" : "only what is near") : null);
    }
    const fst = boxes.detokenizing_fst.offer;
    const graph = graphs.detokenizing_fst;
    const token = ui.selected;
    const shown = new Set(graph ? graph.figure.edges.flatMap((edge) => (edge.target === "t" ? edge.tokens || [] : [])) : []);
    const can = !replay && graph && !graph.figure.complete;
    const more = can && token !== null && ui.isText(token) && shown.has(token) && !ui.also.includes(token);
    fst.hidden = !can || !(more || ui.also.length);
    if (fst.hidden) return;
    put(fst, ui.also.map((id) => h("span", {}, ui.token(id), h("button.quiet", { title: "take it out of the drawing", "aria-label": `take ${ui.text(id)} out`, onclick: () => ui.show(id, false) }, "×"))),
      more ? h("button.quiet", { "data-show": token, onclick: () => ui.show(token, true) }, "keep ", ui.token(token), " here") : null);
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
      // More than fits: where we are stands at the left, so that what follows is seen.
      const left = most - least > wide ? place.x * scale - wide * 0.2 : least < body.scrollLeft ? least : most > body.scrollLeft + wide ? most - wide : null;
      if (left !== null) body.scrollLeft = left;
    }
    if (body.scrollHeight > body.clientHeight + 4) {
      const y = (place.y - graph.top) * scale;
      if (y < body.scrollTop + 30 || y > body.scrollTop + body.clientHeight - 30) body.scrollTop = y - body.clientHeight / 2;
    }
  };

  let followed = "";
  let asked = "";
  const update = () => {
    // A token that is clicked is drawn, wherever it was clicked.
    if (asked !== ui.asked().join()) {
      asked = ui.asked().join();
      if (!replay) ui.lookAround();
    }
    if (stages.number && ui.position) construct();
    draw();
    if (ui.position && ui.machine) complete();
    offers();
    const sets = lit(ui, graphs);
    lesson(sets);
    for (const [name, title] of MACHINES) {
      const { box, table } = boxes[name];
      box.classList.toggle("active", name === active);
      const graph = graphs[name];
      const tab = tabs.querySelector(`[data-tab="${name}"]`);
      mark(tab, "aria-selected", name === active);
      if (!graph) continue;
      const set = sets[name];
      // Of hundreds of nodes and arcs a few change; the others are not touched.
      for (const [id, node] of graph.nodes) {
        const state = [id === set.now ? "now" : set.past.has(id) ? "past" : "", id === set.next ? "next" : "", id === set.ko ? "ko" : ""].join(" ");
        if (state === node.state) continue;
        node.state = state;
        for (const one of ["past", "now", "next", "ko"]) node.g.classList.toggle(one, state.split(" ").includes(one));
      }
      if (name === "character_fsa" && map) {
        for (const [id, dot] of map.dots) mark(dot, "class", id === set.now ? "now" : set.past.has(id) ? "past" : "");
      }
      if (!table.hidden && table.querySelectorAll("tr[data-row]").length !== graph.arcs.size) tabulate(table, graph);
      for (const [id, arc] of graph.arcs) {
        const go = set.go.has(id) || set.open.has(id);
        const past = !go && set.pastArcs.has(id);
        const words = set.words.get(id) || [];
        const ko = set.koArcs.has(id);
        const state = (go ? "go" : past ? "past" : "g") + (set.open.has(id) ? " open" : "") + (ko ? " ko" : "") + words.join(" ");
        if (state !== arc.state) {
          arc.state = state;
          arc.g.classList.toggle("go", go);
          arc.g.classList.toggle("open", set.open.has(id));
          arc.g.classList.toggle("ko", ko);
          arc.g.classList.toggle("past", past);
          arc.text.classList.toggle("lit", go || past);
          arc.text.classList.toggle("ko", ko);
          relabel(arc, go || past ? words : []);
          arc.line.setAttribute("marker-end", `url(#${graph.id}-${ko ? "ko" : go ? "go" : past ? "past" : "g"})`);
        }
        const row = !table.hidden && table.querySelector(`[data-row="${CSS.escape(id)}"]`);
        if (!row) continue;
        const here = arc.source === set.now;
        row.className = go ? "go" : past ? "past" : here ? "here" : "";
        if (here) row.setAttribute("aria-current", "true");
        else row.removeAttribute("aria-current");
      }
      const at = graph.figure.nodes.find((node) => node.id === set.now);
      const where = at ? (at.kind === "done" ? "the end" : at.title || at.label) : "the root";
      mark(graph.svg, "aria-label", `${title}, at ${where}`);
    }
    // A view that one has scrolled stays where it is until one moves on.
    const key = [drawn, sets.token_dfa.now, sets.character_fsa.now, sets.token_dfa.next, sets.detokenizing_fst.now, factor(), room()].join("|");
    if (key === followed || !ui.position) return;
    followed = key;
    const leads = (name) => (graphs[name] ? [...graphs[name].arcs.values()].filter((arc) => arc.source === sets[name].now).map((arc) => arc.target) : []);
    follows = [["character_fsa", sets.character_fsa.now, leads("character_fsa")], ["detokenizing_fst", sets.detokenizing_fst.now, []]];
    if (!stages.number) follows.push(["token_dfa", sets.token_dfa.now, sets.token_dfa.next ? [sets.token_dfa.next] : leads("token_dfa")]);
    looked();
  };
  const off = ui.on("after", update);
  update();
  return () => {
    wide.end();
    completing.end();
    off();
  };
}
