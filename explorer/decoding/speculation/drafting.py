"""The draft model of speculative decoding and its options, as one value.

Leviathan, Kalman, Matias, "Fast inference from transformers via speculative decoding" (2023), and
Koo, Liu, He (2024), section 5.3: a constraint is a machine over token ids, so both models share one
machine and one cache of masks, and a rejection just returns to an earlier state.
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
"""The way of acceptance: if the model draws the same token with the same random number, or by the
ratio of the two probabilities."""

MOST_AHEAD: Final = 64
"""The most tokens that are proposed before the model reads them."""


@dataclass(frozen=True, eq=False)
class Drafting:
    """A model that proposes tokens for another one.

    Either way of acceptance gives the same distribution of texts as without a draft, and with a
    greedy sampler the same text.

    ``"same"``: the draft draws with the random number that the model will use, and the proposal is
    accepted if both draw the same token. So the text is the one that the same seed gives without a
    draft, provided that the model computes the same logits in a pass of several tokens.

    ``"ratio"``: a proposal x is accepted with the probability min(1, p(x)/q(x)), where p is the
    distribution of the model and q that of the draft; after a rejection the token is drawn from
    max(0, p − q), normalised. The rate of acceptance, 1 − the total variation of p and q, is the
    highest possible.

    A draft does not always pay. A round costs one pass of the model and up to ``ahead`` of the
    draft, so it is faster only with more tokens per pass than 1 + ahead · (time of a draft pass /
    time of a model pass); `explorer.decoding.speculation.acceptance.measured_acceptance` measures
    the tokens per pass. With ``"tiny"`` and ``"tiny-draft"``, whose passes take 3.1 and 0.9 ms of
    CPU, the threshold is 2.2 at the default: a JSON record under a constraint reaches 3.3 and is
    generated 1.4 times as fast; the same prompt without a constraint reaches 1.0 and takes 1.7
    times as long.

    Args:
        model: The draft: any language model with the same vocabulary.
        ahead: The number of tokens proposed before the model reads them in one pass, 1 to 64.
        masked: Whether the draft is constrained too. If not, it may propose a token that is not
            allowed; that is rejected, and nothing after it is proposed.
        accept: ``"same"`` or ``"ratio"``.

    Raises:
        ExplorerError: An argument is invalid.

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
        """The name of the draft in a trace."""
        return self.model.name

    def __post_init__(self) -> None:
        object.__setattr__(self, "model", checked_model(self.model))
        object.__setattr__(self, "ahead", whole_number("ahead", self.ahead, 1, MOST_AHEAD))
        flag("masked", self.masked)
        ways = 'a way to take proposals: "same" or "ratio"'
        accept = named_way("accept", self.accept, get_args(Accept), ways)
        object.__setattr__(self, "accept", accept)


Draft = Drafting | LanguageModel | None
"""The type of the argument ``draft``."""


def checked_draft(draft: object, lm: LanguageModel) -> Drafting | None:
    """The caller's draft; a language model is wrapped in a `Drafting` with its defaults.

    Raises:
        ExplorerError: It is not a draft, or has another vocabulary.
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
    """The tokens without trailing ids that are not text, and the ends of text.

    The number of trailing ids depends on the width of a model's logits.
    """
    tokens = vocabulary.tokens
    end = len(tokens)
    while end and tokens[end - 1] is None:
        end -= 1
    return tokens[:end], vocabulary.eos_ids
