"""The checks of a walk's requests before anything moves, and the errors for refused ones."""

from __future__ import annotations

from explorer.alphabet import in_quotes
from explorer.arguments import plain, shown, whole_number
from explorer.decoding.models.arguments import meant_token
from explorer.decoding.stepping.tree import StepNode, StepTree
from explorer.errors import ExplorerError
from explorer.tokens.states import DONE


def text_at(node: StepNode) -> str:
    """The text up to a node. Half a character at its end shows as U+FFFD."""
    return bytes(node.written).decode("utf-8", errors="replace")


def checked_position(k: object, length: int, index: int) -> int:
    """A position of a line.

    Raises:
        ExplorerError: There is no such position.
    """
    k = plain(k)
    if isinstance(k, bool) or not isinstance(k, int) or not 0 <= k <= length:
        raise ExplorerError(
            f"There is no position {shown(k)}: this line has positions 0 to {length}, and "
            f"the cursor is at {index}.",
            remedy="Stay within the line, or add tokens with step().",
            evidence={"position": k, "length": length, "index": index},
        )
    return k


def checked_distance(move: str, n: object, most: int) -> int:
    """Check the number of tokens that a cursor is to move.

    Raises:
        ExplorerError: There are fewer, or it is not a whole number.

    Example:
        >>> checked_distance("back", 9, 4)
        Traceback (most recent call last):
        explorer.errors.ExplorerError: back(9) goes too far: there are 4 tokens to go back over. ...
    """
    distance = whole_number("n", n)
    if distance > most:
        tokens = "is 1 token" if most == 1 else f"are {most:,} tokens"
        over = "back over" if move == "back" else "forward over"
        raise ExplorerError(
            f"{move}({shown(distance)}) goes too far: there {tokens} to go {over}.",
            remedy=f"Give n from 0 to {most}.",
            evidence={"n": distance, "most": most},
        )
    return distance


def is_open(node: StepNode, limit: int | None) -> bool:
    """Whether a token can follow."""
    return node.state != DONE and (limit is None or node.index < limit)


def check_open(node: StepNode, limit: int | None) -> None:
    """Refuse to go on where no token can follow.

    Raises:
        ExplorerError: The text has ended, or its tokens are used up.
    """
    if node.state == DONE:
        raise ExplorerError(
            f"The text has ended: {in_quotes(text_at(node))}.",
            remedy="Go back() or fork() to write another one.",
            evidence={"text": text_at(node)},
        )
    if not is_open(node, limit):
        raise ExplorerError(
            f"The {limit} tokens of max_tokens are used up.",
            remedy="Go back(), or make a Session with a larger max_tokens.",
            evidence={"max_tokens": limit},
        )


def permitted(tree: StepTree, node: StepNode, token: int | str) -> int:
    """The id that a user means.

    Raises:
        ExplorerError: The mask does not allow it, or it is not one token.
    """
    rule = tree.setting.rule
    vocabulary = rule.vocabulary
    wanted = meant_token(vocabulary, token)
    allowed = tree.mask(node).allowed
    if 0 <= wanted < len(allowed) and allowed[wanted]:
        return wanted
    known = 0 <= wanted < len(vocabulary)
    data = vocabulary.tokens[wanted] if known else None
    why = "is not allowed"
    if not known:
        why = f"is not an id of the vocabulary, which has {len(vocabulary):,}"
    elif rule.step(node.state, wanted) is not None:
        why = "would not leave enough of max_tokens to end the text"
    said = "" if data is None else in_quotes(data.decode(errors="surrogateescape")) + " "
    raise ExplorerError(
        f"Token {wanted} {said}{why}; after {in_quotes(text_at(node))}, "
        f"in state {node.state}, {int(allowed.sum()):,} ids are allowed.",
        remedy="Choose one of them (Session.allowed()), or ask explain why it is masked.",
        evidence={"token": wanted, "state": node.state, "allowed": int(allowed.sum())},
    )
