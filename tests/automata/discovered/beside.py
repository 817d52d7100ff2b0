"""A machine that is discovered, walked beside a closed form: the same words from every pair met."""

from __future__ import annotations

from explorer.automata.machine import NO_ARC, ByteMachine, Dfa


def differences(closed: Dfa, found: ByteMachine, most: int = 2000) -> list[str]:
    """Where two machines differ, up to a number of pairs of states.

    Both have only states that can finish, so the bytes that may come next must be equal, and
    nothing else about a state matters but whether it accepts.
    """
    if closed.start == NO_ARC or found.start == NO_ARC:
        return [] if closed.start == found.start else ["one has words, the other has not"]
    wrong: list[str] = []
    pairs = [(closed.start, found.start)]
    met = {*pairs}
    for ours, theirs in pairs:  # Grows on the way.
        if closed.is_accepting(ours) != found.is_accepting(theirs):
            wrong.append(f"end of {ours}, {theirs}")
        expected = closed.expected(ours)
        if expected != found.expected(theirs):
            wrong.append(f"bytes from {ours}, {theirs}")
            continue
        for byte in expected:
            pair = closed.step(ours, byte), found.step(theirs, byte)
            if pair not in met and len(met) < most:
                met.add(pair)
                pairs.append(pair)
    return wrong
