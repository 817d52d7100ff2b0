"""The stack of a grammar beside the machines, and the tree of the rules so far, as data.

Rows go from the innermost open rule, which reads, to the outermost. For a deep stack the rows at
both ends are sent, and the number of rows between. The symbols that the last token pushed and
popped are the difference between the stacks before and after it; in slow motion, of each byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from explorer.alphabet import show_bytes, split_tail
from explorer.analysis.places.stack import GrammarStack, StackReader, StackRow, stack_reader
from explorer.analysis.verdict.verdict import Verdict
from explorer.decoding.trace.trace import Trace
from explorer.errors import BudgetExceeded
from explorer.languages.written.derivation import ClosedRule, Derivation, OpenRule
from explorer.memo import memo
from explorer.tokens.machine import TokenMachine

MOST_ROWS: Final = 14
"""The most rows of a stack that is sent whole."""

ENDS: Final = (10, 2)
"""The rows of a deeper stack: from the innermost, and from the outermost."""

MOST_POPPED: Final = 6
"""The most rows popped by the last token that are sent."""

MOST_BRANCHES: Final = 60
"""The most rules of the tree that are sent."""

MOST_CLOSED: Final = 4
"""The most closed rules that are shown in an open one; earlier ones are left out."""

TAIL: Final = 18
"""The most characters of a rule's text so far that are shown, from its end."""

Packet = dict[str, object]


@memo
def stacks_of(machine: TokenMachine) -> StackReader | None:
    """The stacks of a machine's constraint; ``None`` without a grammar inside."""
    if machine.constraint is None:
        return None
    return stack_reader(machine.constraint.source)


def stack_packet(trace: Trace, k: int, machine: TokenMachine) -> Packet | None:
    """The stack at a position.

    Returns:
        Plain values for JSON; ``None`` for a constraint without a grammar. ``rows``, the innermost
        first, ``hidden`` (the number of rows left out, before row ``gap``), ``open``, ``symbols``
        (their number on the machine's stack; ``None`` if it follows several stacks), ``pushed``
        (the number of new waiting rows), ``popped`` (rows), ``live`` (the number of rows that the
        next byte can belong to), ``several``, ``tree``; or only ``said`` if the stack is not known.

    Example:
        >>> import explorer
        >>> vocab = explorer.Vocabulary.from_bytes([b"a", b"b", b"aaab"], eos_ids=[3])
        >>> grammar = explorer.grammar('root ::= "a" root "b" | ""')
        >>> session = explorer.Session.from_ids(vocab, grammar, [2])
        >>> found = stack_packet(session.trace, 1, session.machine)
        >>> [(row["rule"], row["text"], row["expects"]) for row in found["rows"]]
        [('root', '"a" root "b"', 'b'), ('root', '"a" root "b"', 'b')]
    """
    reader = stacks_of(machine)
    if reader is None:
        return None
    position = trace.positions[k]
    if position.state < 0:
        return {"rows": [], "said": "The text has ended: the stack is empty."}
    state = machine.byte_state(position.state)
    before = trace.positions[k - 1].data if k else None
    try:
        old = None if before is None else reader.derivation(before)
        stack = reader.at(position.data, machine.byte_machine, state)
    except BudgetExceeded:
        return {"rows": [], "said": "The text is too long for its stack to be worked out here."}
    if stack is None:
        return None
    packet = {
        **_about(stack),
        "rows": _rows(stack, position.data),
        "tree": _tree(stack.derivation, position.data),
    }
    if old is None or before is None:
        return {**packet, "pushed": 0, "popped": []}
    same = _same(old.open, stack.derivation.open)
    gone = GrammarStack(reader, old, None)
    popped = range(1, len(old.open) - same)
    return {
        **packet,
        "pushed": len(stack) - 1 - same,
        "popped": [_row(gone[place], before) for place in popped[:MOST_POPPED]],
        "gone": len(popped),
    }


def stack_steps(machine: TokenMachine, data: bytes, token: bytes) -> Packet | None:
    """The stacks inside a token, byte by byte.

    Returns:
        ``rows``, each once, and ``steps``: for each byte the packet of `stack_packet` without the
        tree, its rows as indices; ``None`` for a constraint without a grammar.
    """
    reader = stacks_of(machine)
    byte_machine = machine.byte_machine
    if reader is None or byte_machine is None:
        return None
    rows: dict[str, tuple[int, Packet]] = {}
    steps: list[Packet] = []
    state = byte_machine.start
    for byte in data:
        state = byte_machine.step(state, byte)
    try:
        old = reader.derivation(data)
        for end in range(1, len(token) + 1):
            state = byte_machine.step(state, token[end - 1])
            text = data + token[:end]
            stack = reader.at(text, byte_machine, state)
            if stack is None or old is None:
                break
            same = _same(old.open, stack.derivation.open)
            listed = [rows.setdefault(str(row), (len(rows), row))[0] for row in _rows(stack, text)]
            steps.append(
                {
                    **_about(stack),
                    "rows": listed,
                    "pushed": len(stack) - 1 - same,
                    "gone": len(old.open) - 1 - same,
                }
            )
            old = stack.derivation
    except BudgetExceeded:
        return None
    return {"rows": [row for _, row in rows.values()], "steps": steps}


def _places(stack: GrammarStack) -> list[int]:
    """The rows that are sent: all, or those at the two ends."""
    count = len(stack)
    if count <= MOST_ROWS:
        return [*range(count)]
    return [*range(ENDS[0]), *range(count - ENDS[1], count)]


def _rows(stack: GrammarStack, data: bytes) -> list[Packet]:
    return [_row(stack[place], data) for place in _places(stack)]


def with_stack(packet: Packet, machine: TokenMachine, verdict: Verdict) -> Packet:
    """A verdict with the expectations of the stack at its place, and the row that it is about.

    Args:
        packet: The verdict on a token, as `widgets.figures.panels.reasons` makes it.

    Returns:
        The packet; for a constraint with a grammar also ``stack``: a ``sentence``, and the ``rows``
        of the stack before the token that the next byte belongs to, empty if the token has read
        something before it fails.
    """
    reader = stacks_of(machine)
    if reader is None or verdict.state < 0:
        return packet
    data = verdict.data or b""
    fails = verdict.byte_offset
    begun = data[:fails] if fails is not None else b""
    try:
        stack = reader.at(verdict.prefix + begun, None, -1)
    except BudgetExceeded:
        return packet
    if stack is None:
        return packet
    rows = [] if begun else [*range(stack.live)]
    if rows and data and fails is None:
        # Allowed: the row that reads the token's first byte.
        opened = stack.derivation.open
        rows = [row for row in rows if data[0] in reader.following(opened[row].points)][:1]
    return {**packet, "stack": {"sentence": stack.sentence(verdict.prefix + begun), "rows": rows}}


def _about(stack: GrammarStack) -> Packet:
    """The facts about a whole stack."""
    hidden = len(stack) - len(_places(stack))
    return {
        "gap": ENDS[0] if hidden else 0,
        "hidden": hidden,
        "open": len(stack),
        "symbols": stack.depth,
        "state": stack.state,
        "live": stack.live,
        "several": stack.several,
    }


def _same(old: Sequence[OpenRule], new: Sequence[OpenRule]) -> int:
    """The number of waiting rules that two stacks share, from the outermost: each with its call."""
    count = 0
    for place in range(1, min(len(old), len(new))):
        one, other = old[-place], new[-place]
        began = old[-place - 1].start == new[-place - 1].start
        if (one.rule, one.start, one.call) != (other.rule, other.start, other.call) or not began:
            break
        count += 1
    return count


def _row(row: StackRow, data: bytes) -> Packet:
    """One row as the page reads it: spans in its own text, and the span in the editor's."""

    def inner(span: tuple[int, int]) -> list[int]:
        return [span[0] - row.begin, span[1] - row.begin]

    end = row.begin + len(row.text)
    inside = [span for span in row.next if row.begin <= span[0] and span[1] <= end]
    return {
        "rule": row.rule,
        "text": row.text,
        "call": None if row.call is None else inner(row.call),
        "next": [inner(span) for span in inside],
        "spans": [[row.begin, end]] if row.text else [],
        "read": shown_tail(data[row.start :]),
        "expects": row.expects,
        "ends": row.ends,
        "symbol": row.symbol,
    }


def shown_tail(data: bytes) -> str:
    """The end of the text that a rule has read, readable.

    Example:
        >>> shown_tail(b"(12")
        '(12'
    """
    whole, rest = split_tail(data)
    text = whole.decode(errors="replace") + show_bytes(rest)
    return text if len(text) <= TAIL else "…" + text[-TAIL:]


def _tree(derivation: Derivation, data: bytes) -> list[list[object]]:
    """The rules so far, each after the rule around it: depth, name, whether it is open, and the
    text that it has read."""
    lines: list[list[object]] = []
    opened = derivation.open[::-1]
    first = max(0, len(opened) - MOST_BRANCHES // 2)
    if first:
        lines.append([0, f"… {first:,} more open rules", True, ""])
    for depth, here in enumerate(opened[first:]):
        lines.append([depth, here.rule, True, shown_tail(data[here.start :])])
        left_out = max(0, len(here.closed) - MOST_CLOSED)
        if left_out:
            lines.append([depth + 1, f"… {left_out:,} more closed rules", False, ""])
        for closed in here.closed[left_out:]:
            _closed(lines, closed, depth + 1, data, 2)
    return lines


def _closed(
    lines: list[list[object]], rule: ClosedRule, depth: int, data: bytes, deeper: int
) -> None:
    lines.append([depth, rule.rule, False, shown_tail(data[rule.start : rule.end])])
    if deeper and len(lines) < MOST_BRANCHES:
        for inner in rule.closed[:MOST_CLOSED]:
            _closed(lines, inner, depth + 1, data, deeper - 1)
        if len(rule.closed) > MOST_CLOSED:
            lines.append([depth + 1, f"… {len(rule.closed) - MOST_CLOSED:,} more", False, ""])
