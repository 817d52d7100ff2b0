"""What goes to the page, for one machine and model: the packets of `widgets.figures`.

What is large is worked out when the page asks for it: the vocabulary's text once per page, the
machines and their layouts once per constraint, the figures around a position after its numbers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from explorer.analysis.step import explain_trace
from explorer.decoding.measure import measure
from explorer.decoding.session import Session
from explorer.decoding.trace import Trace
from explorer.tokens.states import DONE
from widgets.figures.ahead import ahead
from widgets.figures.detokenizing_figure import detokenizing_figure, relevant_tokens
from widgets.figures.labels import token_text
from widgets.figures.layout import lay_out
from widgets.figures.over_time import over_time
from widgets.figures.packets import drawn_states, machine_packet, vocabulary_packet
from widgets.figures.position import position_packet
from widgets.figures.reasons import short_reason
from widgets.figures.stages import stage_figures
from widgets.figures.strip import strip_packet
from widgets.figures.walk import walk_packet
from widgets.toy import ToyModel

MOST_FOUND: Final = 12
"""How many tokens a search lists."""

ALL_TOKENS: Final = 16
"""Up to so many tokens a vocabulary's detokenizing FST is shown whole."""

Packet = dict[str, object]


class PageData:
    """What the page can be told about one machine and model.

    Args:
        session: Whose machine and model they are.
    """

    def __init__(self, session: Session) -> None:
        self.dfa = session.dfa
        self.lm = session.lm
        self.vocabulary = session.vocabulary
        self._machine: Packet | None = None

    @property
    def about(self) -> str:
        """The model in some words, for the title line."""
        if isinstance(self.lm, ToyModel):
            return f"toy preset: {len(self.vocabulary) - 1} tokens + EOS, hand-set probabilities"
        name = "a run from elsewhere" if self.lm is None else f"model {self.lm.name}"
        return f"{name}: {len(self.vocabulary):,} tokens"

    def report(self) -> str:
        """Sizes and milliseconds of the compilation, in one line."""
        if self.dfa is None:
            return "no constraint"
        found = self.dfa.report
        return (
            f"{found.character_states:,} → {found.token_states:,} states, "
            f"{found.token_classes:,} token classes, {found.total_milliseconds:.1f} ms"
        )

    def vocabulary_name(self) -> Packet:
        """What names the vocabulary; its text is `vocabulary_packet`."""
        return {"fingerprint": self.vocabulary.fingerprint, "size": len(self.vocabulary)}

    def words(self) -> Packet:
        """The readable text of every token."""
        return vocabulary_packet(self.vocabulary)

    def key(self) -> str:
        """A name for the machine: the same constraint over the same vocabulary has the same."""
        if self.dfa is None:
            return ""
        text = f"{self.dfa.vocabulary.fingerprint} {self.dfa.constraint.source!r}"
        return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]

    def machine(self) -> Packet:
        """The classes of the tokens, and the machines where they can be drawn whole."""
        if self.dfa is None:
            return {"key": ""}
        if self._machine is None:
            self._machine = machine_packet(self.dfa, key=self.key())
        return self._machine

    def around(self, trace: Trace, k: int, also: Iterable[int] = ()) -> Packet:
        """What is drawn anew at a position: T_V for the tokens that matter, and large machines.

        Args:
            trace: The record.
            k: A position.
            also: Tokens that the user wants to see.
        """
        tokens = self._shown(trace, k, also)
        figure = detokenizing_figure(self.vocabulary, tokens)
        figures = {"detokenizing_fst": figure}
        layouts = lay_out(figures)
        if self.dfa is not None and not self.whole:
            machine = self.dfa.constraint.dfa
            states = [machine.start]
            for byte in trace.positions[k].data:
                states.append(int(machine.table[states[-1], machine.symbol_class[byte]]))
            near, places = ahead(self.dfa, states)
            figures |= near
            layouts |= places
        return {
            "key": f"{k if len(figures) > 1 else ''}:{','.join(map(str, tokens))}",
            "machines": {name: found.to_dict() for name, found in figures.items()},
            "layouts": {name: found.to_dict() for name, found in layouts.items()},
        }

    def stages(self, trace: Trace, k: int) -> list[Packet]:
        """The construction over the tokens that are shown, stage by stage.

        Args:
            trace: The record.
            k: A position.
        """
        if self.dfa is None:
            return []
        found: list[Packet] = []
        for figure in stage_figures(self.dfa, self._shown(trace, k)):
            layout = lay_out({"stage": figure})["stage"]
            found.append({"figure": figure.to_dict(), "layout": layout.to_dict()})
        return found

    def _shown(self, trace: Trace, k: int, also: Iterable[int] = ()) -> Sequence[int]:
        """The tokens of the detokenizing FST: all of a small vocabulary, else those that matter."""
        if len(self.vocabulary) <= ALL_TOKENS:
            return [t for t, data in enumerate(self.vocabulary.tokens) if data]
        return relevant_tokens(trace, k, also)

    @property
    def whole(self) -> bool:
        """Whether the machines are drawn whole."""
        return self.dfa is not None and drawn_states(self.dfa) <= 300

    def position(self, trace: Trace, k: int) -> Packet:
        """Everything the page shows of a position.

        Args:
            trace: The record.
            k: A position.
        """
        return position_packet(trace, k, self.dfa)

    def line(
        self,
        trace: Trace,
        k: int,
        generation: int,
        lines: Sequence[tuple[str, Session]],
        current: int,
    ) -> Packet:
        """The tokens of the current line and of those beside it, and what the charts show.

        Args:
            trace: The record of the whole line.
            k: Where the cursor is.
            generation: Of the session; the page sends it back with its requests.
            lines: All lines.
            current: Which of them this is.
        """
        strip = strip_packet(trace, self.vocabulary)
        rows: list[Packet] = []
        if len(lines) > 1:
            for number, (name, session) in enumerate(lines):
                own = trace if number == current else session.trace
                packet = strip_packet(own, self.vocabulary)
                rows.append(
                    {"name": name, "current": number == current, "tokens": packet["tokens"]}
                )
        strip["forks"] = rows
        return {
            "index": k,
            "length": len(trace),
            "generation": generation,
            "strip": strip,
            "states": [position.char_state for position in trace.positions],
            "history": over_time(trace).to_dict(),
        }

    def walk(self, trace: Trace, k: int, token: int) -> Packet:
        """What a token does in all three machines, byte by byte.

        Args:
            trace: The record.
            k: A position.
            token: An id.
        """
        if self.dfa is None:
            data = self.vocabulary.tokens[token] if token < len(self.vocabulary) else None
            return {"token": token, "bytes": list(data or b""), "path": [], "failed_at": None}
        position = trace.positions[k]
        return walk_packet(self.dfa, position.state, token, text=position.data, explanation=False)

    def explanation(
        self, session: Session, trace: Trace, k: int, token: int, *, hints: bool = True
    ) -> Packet:
        """Why a token is allowed or masked at a position.

        Args:
            session: For the model's logits.
            trace: The record.
            k: A position.
            token: An id.
            hints: Also what must be searched for.
        """
        if self.dfa is None:
            return {"allowed": True, "message": "There is no constraint.", "hints": []}
        ended = trace.positions[k].state == DONE
        logits = None if session.lm is None or ended else session.logits(k)
        found = explain_trace(self.dfa, trace, token, k, logits=logits)
        return {
            "allowed": found.allowed,
            "stage": found.stage,
            "message": found.message,
            # The nearest tokens are shown as tokens, not in words.
            "hints": [h for h in found.hints if not h.startswith("Near it")] if hints else [],
            "spans": [list(span) for span in found.spans],
            "nearest": list(found.nearest) if hints else [],
        }

    def search(self, session: Session, trace: Trace, k: int, query: str) -> list[Packet]:
        """Tokens by text, bytes or id, the likeliest first.

        Args:
            session: For the model's logits.
            trace: The record.
            k: A position.
            query: Part of a token's readable text, an id, or bytes in hexadecimal (``0x66``).
        """
        found = self._matching(query)
        position = trace.positions[k]
        allowed = trace.allowed(k)
        weights = np.zeros((3, len(self.vocabulary)))
        if session.lm is not None and position.state != DONE:
            measured = measure(session.logits(k), allowed, trace.sampler, 1)
            for row, logs in enumerate((measured.model, measured.filtered, measured.constrained)):
                known = np.exp(logs[: weights.shape[1]])
                weights[row, : len(known)] = known
        best = sorted(found, key=lambda token: (-weights[0, token], token))[:MOST_FOUND]
        rows: list[Packet] = []
        for token in best:
            reason = None
            if not allowed[token] and self.dfa is not None:
                reason = short_reason(self.dfa, position.state, token, position.data)
            rows.append(
                {
                    "id": token,
                    "text": token_text(self.vocabulary, token),
                    "allowed": bool(allowed[token]),
                    "reason": reason,
                    "model": float(weights[0, token]),
                    "filtered": float(weights[1, token]),
                    "constrained": float(weights[2, token]),
                }
            )
        return rows

    def _matching(self, query: str) -> list[int]:
        wanted = query.replace(" ", "␣")
        found = [int(query)] if query.isdecimal() and int(query) < len(self.vocabulary) else []
        data = None
        if query.lower().startswith("0x"):
            try:
                data = bytes.fromhex(query[2:])
            except ValueError:
                data = None
        for token, piece in enumerate(self.vocabulary.tokens):
            if data is not None:
                if piece is not None and data in piece:
                    found.append(token)
            elif wanted in token_text(self.vocabulary, token):
                found.append(token)
        return list(dict.fromkeys(found))
