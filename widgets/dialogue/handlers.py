"""The handlers of messages: one function per message of a page, named after it.

`widgets.dialogue.messages.answers` registers each of them, and its signature is the message. They
are called with the cursor's lock held. A function that moves the session does so at once. A
function that computes something takes the data that it needs from the session and returns a
`Later`, whose work runs on a thread without the lock.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from explorer.analysis.explaining.step import explain_step
from explorer.analysis.session import Session
from explorer.decoding.sampling.sampler import Sampler
from explorer.decoding.trace.trace import Trace
from explorer.errors import ContextFull, ExplorerError
from explorer.languages.constraint import Constraint
from explorer.tokens.machine import TokenMachine, table_of
from widgets.cursor import at_end
from widgets.dialogue.later import Later, Packet
from widgets.dialogue.messages import RELOAD, TABLE, Form, Reply, answers
from widgets.figures.machines.arcs import arcs_of
from widgets.figures.machines.drawn import draw_whole
from widgets.figures.packets import compress, packed
from widgets.figures.panels.mask import engines_packet
from widgets.figures.panels.reasons import more_packet
from widgets.figures.panels.tokens import ids_to_write, listed_packet, search_packet, token_rows
from widgets.shown_place import PageData, ShownPlace

MOST_AT_ONCE: Final = 256
"""The most tokens that one message may ask for."""

# --- moving ---------------------------------------------------------------------------------------


@answers(moves=True)
def on_step(place: ShownPlace) -> None:
    """Add the token that the sampler draws."""
    place.cursor.step()


@answers(moves=True)
def on_take(place: ShownPlace, token: int, both: bool = False) -> None:
    """Add a token that the user chose; ``both`` is for a comparison."""
    place.cursor.step(token)


@answers(moves=True)
def on_peek(place: ShownPlace, token: int | None = None) -> Packet:
    """Choose the next token without taking it, and send its walk through the machines."""
    token = place.cursor.peek(token)
    return {"walk": place.page.walk(place.cursor.full_trace(), place.session.index, token)}


@answers(moves=True)
def on_jump(place: ShownPlace, k: int) -> None:
    """Go to the position after ``k`` tokens."""
    place.cursor.jump(k)


@answers(moves=True)
def on_run(place: ShownPlace, tokens: int) -> Packet:
    """Add some tokens; tell whether the run stopped, and say so where the model reads no more."""
    try:
        return {"stopped": not place.cursor.run(min(tokens, MOST_AT_ONCE))}
    except ContextFull as full:
        return {"stopped": True, "said": f"Stopped: {full.message} {full.remedy}"}


@answers(moves=True)
def on_fork(place: ShownPlace) -> None:
    """Make a new line beside this one, from the cursor on."""
    place.cursor.fork()


@answers(moves=True)
def on_switch(place: ShownPlace, line: int) -> None:
    """Show another line, by its number among the shown ones."""
    place.cursor.switch(line)


@answers(moves=True)
def on_follow(place: ShownPlace, tokens: list[int]) -> None:
    """Fork, and add some tokens to the fork."""
    place.cursor.fork(tokens)


@answers(moves=True)
def on_write(place: ShownPlace, text: str) -> Packet:
    """Take the tokens of a text up to the first masked one, and send that one's id."""
    return {"masked": place.cursor.write(ids_to_write(place.session, text))}


@answers(moves=True)
def on_again(place: ShownPlace) -> None:
    """Go on from the cursor with other random numbers; from the start, if the text has ended."""
    place.cursor.again()


@answers(at_place=False, moves=True)
def on_reset(place: ShownPlace) -> None:
    """Go back to the start, and drop the tokens ahead and the other lines."""
    place.cursor.reset()


# --- questions about a position -------------------------------------------------------------------


class _AskedAt(NamedTuple):
    """The data for a question about a position; the session is at the end of its line."""

    k: int
    page: PageData
    session: Session
    trace: Trace


def _here(place: ShownPlace, k: int | None) -> _AskedAt:
    """A position of the line; by default the cursor's."""
    k = place.session.index if k is None else k
    if not 0 <= k <= place.session.length:
        raise ExplorerError(f"There is no position {k}.", remedy="Step or jump first.")
    return _AskedAt(k, place.page, at_end(place.session), place.cursor.full_trace())


@answers()
def on_walk(place: ShownPlace, token: int, k: int | None = None) -> Packet:
    """Send the walk of a token through the machines, byte by byte."""
    here = _here(place, k)
    return {"walk": here.page.walk(here.trace, here.k, token)}


@answers(later=True)
def on_why(place: ShownPlace, token: int, k: int | None = None) -> Later:
    """Explain why a token is allowed or masked."""
    k, page, session, trace = _here(place, k)
    return Later.of(lambda: {"explanation": page.explanation(session, trace, k, token)})


@answers(later=True, unasked=True)
def on_more(place: ShownPlace, token: int, k: int | None = None) -> Reply:
    """Send the parts of an explanation that need a search."""
    k, page, session, trace = _here(place, k)
    if page.free:
        return {"more": None}
    return Later.of(lambda: {"more": more_packet(explain_step(session, token, k, trace=trace))})


@answers(later=True)
def on_search(place: ShownPlace, query: str, k: int | None = None) -> Later:
    """Find tokens by text, bytes (``0x66``) or id (``#2024``)."""
    k, page, session, trace = _here(place, k)
    return Later.of(lambda: search_packet(session, trace, k, page.machine, query))


@answers(later=True, unasked=True)
def on_allowed(place: ShownPlace, k: int | None = None) -> Later:
    """List tokens where there is no model: allowed ones, and the nearest masked ones."""
    k, page, session, trace = _here(place, k)
    return Later.of(lambda: listed_packet(session, trace, k, page.machine))


@answers(later=True, unasked=True)
def on_reasons(place: ShownPlace, k: int | None = None) -> Reply:
    """Group the masked tokens by their reasons."""
    k, page, session, trace = _here(place, k)
    if page.free:
        return {"reasons": None}
    return Later.of(lambda: {"reasons": page.groups(session, trace, k).packet})


@answers(quiet=True, later=True, unasked=True)
def on_engines(place: ShownPlace, tokens: list[int], k: int | None = None) -> Reply:
    """Ask other engines about some tokens at a position; they run in separate processes."""
    k, page, session, trace = _here(place, k)
    constraint = session.constraint
    if constraint is None:
        return {"rows": [], "tokens": []}
    prefix, shown = trace.ids[:k], tokens[:MOST_AT_ONCE]
    return Later.of(lambda: engines_packet(page.engines.after(constraint, prefix), shown))


@answers(later=True)
def on_group(place: ShownPlace, group: int, k: int | None = None) -> Reply:
    """List the likeliest tokens of a group of reasons, by its number."""
    k, page, session, trace = _here(place, k)
    if page.free:
        return {"rows": None}

    def make() -> Packet:
        members = page.groups(session, trace, k).members
        ids = np.flatnonzero(members[: len(page.vocabulary)] == group + 1)
        return {
            "rows": token_rows(session, trace, k, page.machine, ids.tolist()),
            "members": packed(members),
        }

    return Later.of(make)


@answers(later=True, unasked=True)
def on_traps(place: ShownPlace, k: int | None = None) -> Later:
    """Find the traps of the run and of its constraint."""
    _, page, session, trace = _here(place, k)
    return Later.of(lambda: {"traps": page.traps(trace, session)})


@answers(quiet=True, later=True, unasked=True)
def on_ahead(place: ShownPlace, asked: bool = False, k: int | None = None) -> Later:
    """Look ahead after the likeliest allowed tokens; a slow look only if the user asked."""
    k, page, session, _ = _here(place, k)
    session.jump(k)
    return Later.of(lambda: page.looks.packet(session, asked=asked))


@answers(later=True)
def on_around(place: ShownPlace, also: list[int] = [], k: int | None = None) -> Later:  # noqa: B006 - Only read.
    """Draw the figures that change with the position; ``also`` are tokens that the user added."""
    k, page, _, trace = _here(place, k)
    # Drawings have many repeated words: compressed they take a fifth, and each step sends one.
    return Later.of(lambda: {"packed": compress(page.around(trace, k, also))})


@answers(later=True)
def on_stages(place: ShownPlace, also: list[int] = [], k: int | None = None) -> Later:  # noqa: B006 - Only read.
    """Draw the construction of the token machine over the shown tokens, stage by stage."""
    k, page, _, trace = _here(place, k)
    return Later.of(lambda: {"stages": page.stages(trace, k, also)})


# --- questions about the machine and the line -----------------------------------------------------


def _machine(place: ShownPlace) -> TokenMachine:
    if place.session.constraint is None:
        raise ExplorerError(
            "There is no constraint, so there is no machine to draw.",
            remedy="Write a constraint first.",
        )
    return place.page.drawn


@answers(at_place=False, later=True)
def on_machine(place: ShownPlace, figures: bool = True) -> Later:
    """Draw the machines, or send only the classes of the tokens."""
    page, editing = place.page, place.editing
    if not figures:
        return Later.of(lambda: {"machine": page.classes()})
    return Later.of(lambda: {"machine": page.machines(editing.worker, editing.budget)})


@answers(at_place=False, quiet=True, later=True)
def on_draw(place: ShownPlace, form: Form = "characters") -> Later:
    """Draw the whole machine, over characters or over bytes."""
    machine = _machine(place)

    def make() -> Packet:
        drawn = draw_whole(machine, form)
        machines = {name: figure.to_dict() for name, figure in drawn.figures.items()}
        layouts = {name: layout.to_dict() for name, layout in drawn.layouts.items()}
        return {"drawing": {"machines": machines, "layouts": layouts}}

    return Later.of(make)


@answers(at_place=False, unasked=True)
def on_arc(place: ShownPlace, source: str, target: str, form: Form = "characters") -> Packet:
    """Send the token classes of an arc of the token DFA."""
    machine = _machine(place)
    ids = arcs_of(machine, form).tokens(source, target)
    table = table_of(machine)
    return {"classes": (ids if table is None else np.unique(table.token_class[ids])).tolist()}


@answers(at_place=False, quiet=True, later=True)
def on_stage_machine(place: ShownPlace, stage: int) -> Later:
    """Describe a stage by its number, and draw its machine."""
    k, page, session, trace = _here(place, None)
    return Later.of(lambda: {"stage": page.stage(stage, session, trace, k)})


@answers(at_place=False, quiet=True, later=True, unasked=True)
def on_composed(place: ShownPlace) -> Later:
    """Say how the machine was composed and how long that took; a separate process computes it."""
    page, editing = place.page, place.editing
    return Later.of(lambda: {"composed": page.composed(editing.worker, editing.budget)})


@answers(at_place=False, later=True)
def on_words(place: ShownPlace) -> Later:
    """Send the readable text of every token."""
    page = place.page
    return Later.of(lambda: {"words": page.words()})


@answers(at_place=False)
def on_line(place: ShownPlace) -> Packet:
    """Send the whole line, for a page that missed a change of it."""
    told = place.state()
    return {"line": told.line, "history": told.history}


# --- changing the question ------------------------------------------------------------------------


@answers(at_place=False, moves=True, quiet=True, later=True)
def on_edit(
    place: ShownPlace, kind: str, text: str, prompt: str = "", preset: str | None = None
) -> Reply:
    """Change the prompt and the constraint; ``preset`` is the preset that they come from."""
    return place.editing.edit(kind, text, prompt, preset)


@answers(at_place=False, moves=True, quiet=True, later=True)
def on_relax(place: ShownPlace, token: int, k: int) -> Later:
    """Compile the constraint that the reason for a masked token proposes."""
    session, trace = at_end(place.session), place.cursor.full_trace()

    def changed() -> Constraint:
        cause = explain_step(session, token, k, trace=trace).cause
        if cause is None:
            raise ExplorerError(
                "No change is known that allows this token.",
                remedy="Change the constraint in the editor.",
            )
        return cause.constraint

    return place.editing.ask(changed)


@answers(at_place=False, moves=True, quiet=True, later=True)
def on_choose_model(place: ShownPlace, model: str) -> Reply:
    """Ask another model, and compile for its vocabulary."""
    return place.editing.choose_model(model)


@answers(at_place=False, moves=True, quiet=True, later=True)
def on_switch_stage(place: ShownPlace, stage: int, on: bool) -> Reply:
    """Switch a stage of the constraint, by its number, on or off, and compile again."""
    return place.editing.switch_stage(stage, on)


@answers(at_place=False, moves=True, quiet=True, later=True)
def on_rewrite(
    place: ShownPlace, token: int, writes: str | None = None, missing: bool = False
) -> Reply:
    """Change the text that a token writes (``None``: its usual bytes), or remove its arc."""
    return place.editing.rewrite(token, writes, missing)


@answers(at_place=False, moves=True, quiet=True, later=True)
def on_add_stage(place: ShownPlace, stage: str) -> Reply:
    """Put a stage that needs no arguments around the constraint, and compile again."""
    return place.editing.add_stage(stage)


@answers(at_place=False, moves=True, quiet=True, later=True)
def on_decode_on(place: ShownPlace, pynini: bool) -> Later:
    """Step on the machine that pynini composed, or again on that of the functions."""
    page, editing, constraint = place.page, place.editing, _machine(place).constraint
    if not pynini and constraint is not None:
        return editing.ask(lambda: constraint)

    def drawn() -> TokenMachine | None:
        return None if page.composed(editing.worker, editing.budget) is None else page.drawn

    return editing.decode_on_pynini(drawn)


@answers(at_place=False)
def on_cancel(place: ShownPlace) -> None:
    """Cancel the running compilation."""
    place.editing.cancel()


@answers(at_place=False, quiet=True)
def on_ready(place: ShownPlace) -> None:
    """Start the compiling process, because the page shows the editor."""
    place.editing.ready()


@answers(at_place=False, moves=True, quiet=True)
def on_sampler(
    place: ShownPlace,
    temperature: float | None = None,
    top_k: int | None = None,
    top_p: float | None = None,
    min_p: float | None = None,
    seed: int | None = None,
) -> None:
    """Change the settings of the sampler; without ``seed`` the random numbers stay."""
    sampler = Sampler(temperature or 0.0, top_k, top_p, min_p)
    if sampler != place.session.sampler:
        place.cursor.edit(sampler=sampler)
    if seed is not None and seed != place.session.seed:
        place.cursor.reseed(seed)


@answers(at_place=False)
def on_play(place: ShownPlace, on: bool) -> None:
    """Note whether the page plays; work for quiet moments waits meanwhile."""
    place.cursor.playing = on


# --- answered by some widgets alone ---------------------------------------------------------------


def _refused() -> ExplorerError:
    return ExplorerError(
        "The page asked for something that this widget does not have.", remedy=RELOAD
    )


@answers(at_place=False, later=True)
def on_export(place: ShownPlace, picture: bool = False) -> Reply:
    """Make the file that replays the line without a kernel, or an animated picture of it."""
    raise _refused()


@answers(at_place=False, moves=True, later=True)
def on_scheme(place: ShownPlace, scheme: str) -> Reply:
    """Show another scheme on one side of a comparison."""
    raise _refused()


@answers(at_place=False)
def on_stop(place: ShownPlace, of: int) -> Reply:
    """Cancel the answer to a message, by its number; `Dialogue` does it without the lock."""
    raise _refused()


def table_for_page() -> dict[str, Packet]:
    """The part of `TABLE` for the page: the fields and two flags of each message, by name."""
    return {
        name: {
            "fields": [field for field in entry.message.__struct_fields__ if field != "re"],
            "moves": entry.moves,
            "unasked": entry.unasked,
        }
        for name, entry in TABLE.items()
    }
