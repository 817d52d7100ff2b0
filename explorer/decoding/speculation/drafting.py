"""The second model of speculative decoding, and how its proposals are taken: one value.

Leviathan, Kalman, Matias, "Fast inference from transformers via speculative decoding" (2023), and
Koo, Liu, He (2024), section 5.3: a constraint is a machine over token ids, so both models use one
machine and one cache of masks, and going back after a rejection is to use an earlier state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, cast, get_args

from explorer.arguments import flag, named_way, whole_number, wrong
from explorer.decoding.models.arguments import checked_model
from explorer.decoding.models.model import LanguageModel
from explorer.errors import ExplorerError
from explorer.vocabulary import Vocabulary

Accept = Literal["same", "ratio"]
"""How a proposal is judged: by whether the model draws the same token with the same random number,
or with the ratio of the two probabilities."""

MOST_AHEAD: Final = 64
"""How many tokens are proposed before the model reads them, at most."""


@dataclass(frozen=True, eq=False)
class Drafting:
    """A model that proposes tokens for another one.

    Either way of judging leaves the distribution of the texts as it is without a draft. Where the
    sampler is greedy, so does the text.

    ``"same"``: the draft draws with the random number that the model will draw with, and the
    proposal is taken if both draw the same. So the text is the one that the same seed gives without
    a draft, as far as the model's own arithmetic gives a pass of several tokens the same logits.

    ``"ratio"``: a proposal x is taken with the probability min(1, p(x)/q(x)), p being what the
    model draws from and q what the draft drew from; after a rejection the token is drawn from
    max(0, p − q), divided by its sum. No other way takes more: 1 − the total variation of p and q.

    A draft does not always pay. A round costs one pass of the model and up to ``ahead`` of the
    draft, so it is faster only where it gives more tokens a pass than 1 + ahead · (a pass of the
    draft / a pass of the model); `explorer.decoding.speculation.acceptance.measured_acceptance`
    gives the tokens a pass. With ``"tiny"`` and ``"tiny-draft"``, whose passes take 3.1 and 0.9 ms
    of CPU, that is 2.2 at the default: a record in JSON under a constraint has 3.3 and is written
    1.4 times as fast; the same prompt without a constraint has 1.0 and takes 1.7 times as long.

    Args:
        model: The draft: any language model with the vocabulary of the one it proposes for.
        ahead: How many tokens it proposes before the model reads them in one pass, 1 to 64.
        masked: Whether the draft is constrained too. If not, it may propose what is not allowed;
            that is rejected, and nothing behind it is proposed.
        accept: ``"same"`` or ``"ratio"``.

    Raises:
        ExplorerError: An argument is something else.

    Example:
        >>> from explorer import choice, load_model, Session
        >>> lm = load_model("tiny")
        >>> session = Session(lm, choice([" Paris", " Rome"]), "The capital of France is",
        ...                   draft=Drafting(lm, ahead=2))  # A model agrees with itself.
        >>> step = session.step()
        >>> step.text, step.proposal.accepted
        (' Paris', True)
    """

    model: LanguageModel
    ahead: int = 4
    masked: bool = True
    accept: Accept = "same"

    @property
    def name(self) -> str:
        """Its name in a trace: that of the draft."""
        return self.model.name

    def __post_init__(self) -> None:
        object.__setattr__(self, "model", checked_model(self.model))
        object.__setattr__(self, "ahead", whole_number("ahead", self.ahead, 1, MOST_AHEAD))
        flag("masked", self.masked)
        ways = 'a way to take proposals: "same" or "ratio"'
        accept = named_way("accept", self.accept, get_args(Accept), ways)
        object.__setattr__(self, "accept", accept)


Draft = Drafting | LanguageModel | None
"""What a caller gives as ``draft``."""


def checked_draft(draft: object, lm: LanguageModel) -> Drafting | None:
    """The draft that a caller gave; a language model proposes as `Drafting` has it by default.

    Raises:
        ExplorerError: It is something else, or has another vocabulary.
    """
    if draft is None:
        return None
    if not isinstance(draft, Drafting):
        try:
            draft = Drafting(cast("LanguageModel", draft))
        except ExplorerError as error:
            remedy = 'Give one, such as load_model("tiny-draft"), or None.'
            raise wrong("draft", draft, "a language model", remedy=remedy) from error
    own, other = draft.model.vocabulary, lm.vocabulary
    if own is not other and _text(own) != _text(other):
        raise ExplorerError(
            f"The draft {draft.model.name!r} has another vocabulary than {lm.name!r}: the same "
            "ids would mean other text.",
            remedy="Give a draft with the same tokenizer and the same ends of text.",
            evidence={"draft": own.fingerprint, "model": other.fingerprint},
        )
    return draft


def _text(vocabulary: Vocabulary) -> tuple[Sequence[bytes | None], tuple[int, ...]]:
    """The tokens without the empty places at the end, which depend on the width of a model."""
    tokens = vocabulary.tokens
    end = len(tokens)
    while end and tokens[end - 1] is None:
        end -= 1
    return tokens[:end], vocabulary.eos_ids
