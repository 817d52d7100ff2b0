"""The handlers of messages: one function per message of a page, named after it.

`widgets.dialogue.dialogue.TABLE` maps messages to functions, which are called with the cursor's
lock held. A function that moves the session does so at once. A function that computes something
takes the data that it needs from the session and returns a `Later`, whose work runs on a thread
without the lock.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from explorer.analysis import Explanation
from explorer.analysis.explaining.step import explain_step
from explorer.decoding.sampling.sampler import Sampler
from explorer.errors import ExplorerError
from explorer.languages.constraint import Constraint
from explorer.tokens.machine import TokenMachine, table_of
from widgets.cursor import at_end
from widgets.dialogue import messages as ask
from widgets.dialogue.later import Later, Packet
from widgets.dialogue.messages import AtPosition, PageMessage
from widgets.figures.machines.arcs import arcs_of
from widgets.figures.machines.drawn import draw_whole, missing_arcs
from widgets.figures.packets import compress
from widgets.figures.panels.mask import allowed_at, engines_packet, order_packet, rows_packet
from widgets.figures.panels.reasons import more_packet, widening_packet
from widgets.figures.panels.tokens import search_packet, token_rows
from widgets.shown_place import ShownPlace, packed

MOST_AT_ONCE: Final = 256
"""The most tokens that one message may ask for."""

Reply = Packet | Later | None
"""The result of a handler: the answer, the work that makes it, or ``None`` for no answer."""


# --- moving ---------------------------------------------------------------------------------------


def on_step(place: ShownPlace, message: ask.StepOn) -> None:
    """Add the token that the sampler draws."""
    place.cursor.step()


def on_take(place: ShownPlace, message: ask.Take) -> None:
    """Add a token that the user chose."""
    place.cursor.step(message.token)


def on_peek(place: ShownPlace, message: ask.Peek) -> Packet:
    """Choose the next token without taking it, and send its walk through the machines."""
    token = place.cursor.peek(message.token)
    return {"walk": place.page.walk(place.cursor.full_trace(), place.session.index, token)}


def on_jump(place: ShownPlace, message: ask.Jump) -> None:
    """Go to a position of the line."""
    place.cursor.jump(message.k)


def on_run(place: ShownPlace, message: ask.Run) -> Packet:
    """Add some tokens, and say whether the run had to stop."""
    return {"stopped": not place.cursor.run(min(message.tokens, MOST_AT_ONCE))}


def on_fork(place: ShownPlace, message: ask.Fork) -> None:
    """Make a new line beside this one, from the cursor on."""
    place.cursor.fork()


def on_switch(place: ShownPlace, message: ask.Switch) -> None:
    """Show another line."""
    place.cursor.switch(message.line)


def on_follow(place: ShownPlace, message: ask.Follow) -> None:
    """Fork, and add some tokens to the fork."""
    line = place.cursor.fork()
    for token in message.tokens:
        line.step(token)
    place.cursor.jump(line.index)


def on_again(place: ShownPlace, message: ask.Again) -> None:
    """Go on from the cursor with other random numbers."""
    place.cursor.again()


def on_reset(place: ShownPlace, message: ask.Reset) -> None:
    """Go back to the start, and drop the tokens ahead and the other lines."""
    place.cursor.reset()


# --- questions about a position -------------------------------------------------------------------


def _position(place: ShownPlace, message: AtPosition) -> int:
    k = place.session.index if message.k is None else message.k
    if not 0 <= k <= place.session.length:
        raise ExplorerError(f"There is no position {k}.", remedy="Step or jump first.")
    return k


def on_walk(place: ShownPlace, message: ask.WalkToken) -> Packet:
    """Send the walk of a token through the machines, byte by byte."""
    k = _position(place, message)
    return {"walk": place.page.walk(place.cursor.full_trace(), k, message.token)}


def on_why(place: ShownPlace, message: ask.Why) -> Later:
    """Explain why a token is allowed or masked."""
    k, page = _position(place, message), place.page
    session, trace = at_end(place.session), place.cursor.full_trace()
    return Later.of(lambda: {"explanation": page.explanation(session, trace, k, message.token)})


def _searched(
    name: str, packet: Callable[[Explanation], Packet | None]
) -> Callable[[ShownPlace, ask.More | ask.Widen], Reply]:
    """Make the handler that sends one part of an explanation after the verdict, under a name."""

    def handler(place: ShownPlace, message: ask.More | ask.Widen) -> Reply:
        k = _position(place, message)
        if place.session.constraint is None:
            return {name: None}
        session, trace = at_end(place.session), place.cursor.full_trace()
        return Later.of(
            lambda: {name: packet(explain_step(session, message.token, k, trace=trace))}
        )

    return handler


on_more = _searched("more", more_packet)
on_widen = _searched("widening", widening_packet)


def on_search(place: ShownPlace, message: ask.FindTokens) -> Later:
    """Find tokens by text, bytes or id."""
    k, page = _position(place, message), place.page
    session, trace = at_end(place.session), place.cursor.full_trace()
    return Later.of(lambda: search_packet(session, trace, k, page.machine, message.query))


def on_allowed(place: ShownPlace, message: ask.AllowedTokens) -> Later:
    """List the likeliest allowed tokens."""
    k, page = _position(place, message), place.page
    session, trace = at_end(place.session), place.cursor.full_trace()

    def make() -> Packet:
        ids: list[int] = np.flatnonzero(allowed_at(trace, k)).tolist()
        return {"rows": token_rows(session, trace, k, page.machine, ids), "count": len(ids)}

    return Later.of(make)


def on_order(place: ShownPlace, message: ask.TokenOrder) -> Later:
    """Order all tokens by their logits."""
    k, session = _position(place, message), at_end(place.session)

    def make() -> Packet:
        logits = session.logits(k).float().cpu().numpy()
        return {"order": order_packet(logits, len(session.vocabulary))}

    return Later.of(make)


def on_reasons(place: ShownPlace, message: ask.ReasonGroups) -> Reply:
    """Group the masked tokens by their reasons."""
    k = _position(place, message)
    if place.session.constraint is None:
        return {"reasons": None}
    session, trace, page = at_end(place.session), place.cursor.full_trace(), place.page
    return Later.of(lambda: {"reasons": page.groups(session, trace, k).packet})


def on_engines(place: ShownPlace, message: ask.EnginesHere) -> Reply:
    """Ask other engines at a position; they run in separate processes."""
    k, session = _position(place, message), place.session
    constraint, engines = session.constraint, place.page.engines
    if constraint is None:
        return {"rows": [], "tokens": []}
    trace = place.cursor.full_trace()
    prefix = tuple(step.token for step in trace.steps[:k])
    shown = message.tokens[:MOST_AT_ONCE]
    return Later.of(lambda: engines_packet(engines.after(constraint, prefix), shown))


def on_group(place: ShownPlace, message: ask.GroupMembers) -> Reply:
    """List the tokens of one group of reasons."""
    k, page = _position(place, message), place.page
    if place.session.constraint is None:
        return {"rows": None}
    session, trace = at_end(place.session), place.cursor.full_trace()

    def make() -> Packet:
        members = page.groups(session, trace, k).members
        ids = np.flatnonzero(members[: len(page.vocabulary)] == message.group + 1)
        return {
            "rows": token_rows(session, trace, k, page.machine, ids.tolist()),
            "members": packed(members),
        }

    return Later.of(make)


def on_traps(place: ShownPlace, message: ask.FindTraps) -> Reply:
    """Find the traps of the run and of its constraint."""
    page, trace, session = place.page, place.cursor.full_trace(), at_end(place.session)
    return Later.of(lambda: {"traps": page.traps(trace, session)})


def on_ahead(place: ShownPlace, message: ask.LookAhead) -> Later:
    """Look ahead after the likeliest allowed tokens."""
    page, session = place.page, place.session.copy()
    session.jump(_position(place, message))
    return Later.of(lambda: page.looks.packet(session, asked=message.asked))


def on_around(place: ShownPlace, message: ask.FiguresAround) -> Later:
    """Draw the figures that change with the position."""
    k, page, trace = _position(place, message), place.page, place.cursor.full_trace()
    # Drawings have many repeated words: compressed they take a fifth, and each step sends one.
    return Later.of(lambda: {"packed": compress(page.around(trace, k, message.also))})


def on_stages(place: ShownPlace, message: ask.ConstructionStages) -> Later:
    """Draw the construction of the token machine, stage by stage."""
    k, page, trace = _position(place, message), place.page, place.cursor.full_trace()
    return Later.of(lambda: {"stages": page.stages(trace, k, message.also)})


def on_present(place: ShownPlace, message: ask.PresentArcs) -> Later:
    """Draw the arcs of the path that the whole drawing leaves out."""
    k, machine, trace = _position(place, message), _machine(place), place.cursor.full_trace()
    states = [position.state for position in trace.positions[: k + 1]]

    def make() -> Packet:
        drawn = draw_whole(machine, message.form)
        figure, layout = drawn.figures["token_dfa"], drawn.layouts["token_dfa"]
        return {"present": missing_arcs(machine, figure, layout, states, message.form).to_dict()}

    return Later.of(make)


# --- questions about the machine and the line -----------------------------------------------------


def _machine(place: ShownPlace) -> TokenMachine:
    if place.session.constraint is None:
        raise ExplorerError("There is no constraint, so there is no machine to draw.")
    return place.page.drawn


def on_machines(place: ShownPlace, message: ask.MachineFigures) -> Later:
    """Draw the machines, or send only the classes of the tokens."""
    page, editing = place.page, place.editing
    if not message.figures:
        return Later.of(lambda: {"machine": page.classes()})
    return Later.of(lambda: {"machine": page.machines(editing.worker, editing.budget)})


def on_draw(place: ShownPlace, message: ask.Draw) -> Later:
    """Draw the whole machine, over characters or over bytes."""
    machine = _machine(place)

    def make() -> Packet:
        drawn = draw_whole(machine, message.form)
        machines = {name: figure.to_dict() for name, figure in drawn.figures.items()}
        layouts = {name: layout.to_dict() for name, layout in drawn.layouts.items()}
        return {"drawing": {"machines": machines, "layouts": layouts}}

    return Later.of(make)


def on_arc(place: ShownPlace, message: ask.ArcClasses) -> Packet:
    """Send the token classes of an arc."""
    machine = _machine(place)
    ids = arcs_of(machine, message.form).tokens(message.source, message.target)
    table = table_of(machine)
    return {"classes": (ids if table is None else np.unique(table.token_class[ids])).tolist()}


def on_stage_machine(place: ShownPlace, message: ask.StageMachine) -> Later:
    """Describe a stage, and draw its machine."""
    page, number, session = place.page, message.stage, at_end(place.session)
    k, trace = place.session.index, place.cursor.full_trace()
    return Later.of(lambda: {"stage": page.stage(number, session, trace, k)})


def on_composed(place: ShownPlace, message: ask.ComposedBy) -> Later:
    """Say how the machine was composed and how long that took; a separate process computes it."""
    page, editing = place.page, place.editing
    return Later.of(lambda: {"composed": page.composed(editing.worker, editing.budget)})


def on_words(place: ShownPlace, message: ask.TokenTexts) -> Later:
    """Send the readable text of every token."""
    page = place.page
    return Later.of(lambda: {"words": page.words()})


def on_line(place: ShownPlace, message: ask.WholeLine) -> Packet:
    """Send the whole line, for a page that missed a change of it."""
    told = place.state()
    return {"line": told.line, "history": told.history}


def on_rows(place: ShownPlace, message: ask.MaskRowsAt) -> Packet:
    """Send the rows of the mask over time."""
    return rows_packet(place.cursor.full_trace(), message.first, message.end)


def on_figure(place: ShownPlace, message: ask.RunFigure) -> Later:
    """Make the figure of the whole run, as a file."""
    # Imported on request, because only this figure needs plotly.
    from widgets.figures.panels.plotly_figures import trace_page

    trace = place.cursor.full_trace()
    return Later.of(lambda: {"name": "trace.html", "data": compress(trace_page(trace))})


# --- changing the question ------------------------------------------------------------------------


def on_edit(place: ShownPlace, message: ask.Edit) -> Reply:
    """Change the prompt, the constraint or the preset."""
    return place.editing.edit(message.kind, message.text, message.prompt, message.preset)


def on_relax(place: ShownPlace, message: ask.Relax) -> Later:
    """Compile the constraint that allows a masked token."""
    session, trace = at_end(place.session), place.cursor.full_trace()

    def changed() -> Constraint:
        cause = explain_step(session, message.token, message.k, trace=trace).cause
        if cause is None:
            raise ExplorerError("No change is known that allows this token.")
        return cause.constraint

    return place.editing.ask(changed)


def on_choose_model(place: ShownPlace, message: ask.ChooseModel) -> Reply:
    """Ask another model, and compile for its vocabulary."""
    return place.editing.choose_model(message.model)


def on_switch_stage(place: ShownPlace, message: ask.SwitchStage) -> Reply:
    """Switch a stage on or off, and compile again."""
    return place.editing.switch_stage(message.stage, message.on)


def on_rewrite(place: ShownPlace, message: ask.RewriteToken) -> Reply:
    """Change the text that a token writes, and compile for the changed transducer."""
    return place.editing.rewrite(message.token, message.writes, message.missing)


def on_add_stage(place: ShownPlace, message: ask.AddStage) -> Reply:
    """Put a stage around the constraint, and compile again."""
    return place.editing.add_stage(message.stage)


def on_cancel(place: ShownPlace, message: ask.Cancel) -> None:
    """Cancel the running compilation."""
    place.editing.cancel()


def on_ready(place: ShownPlace, message: ask.Ready) -> None:
    """Send the page the changes that it may have missed before it listened."""
    place.editing.ready()


def on_sampler(place: ShownPlace, message: ask.SetSampler) -> None:
    """Change the settings of the sampler."""
    temperature = message.temperature or 0.0
    sampler = Sampler(temperature, message.top_k, message.top_p, message.min_p)
    if sampler != place.session.sampler:
        place.cursor.edit(sampler=sampler)
    if message.seed is not None and message.seed != place.session.seed:
        place.cursor.reseed(message.seed)


def on_play(place: ShownPlace, message: ask.Play) -> None:
    """Note whether the page plays."""
    place.cursor.playing = message.on


def of_the_widget(place: ShownPlace, message: PageMessage) -> Reply:
    """Refuse a message that only some widgets answer."""
    raise ExplorerError("The page asked for something that this widget does not have.")
