"""See constrained decoding: constraints as automata, tokenizers as transducers, masks as rows.

The pipeline, as data: a constraint becomes a character FSA, a tokenizer becomes a detokenizing
FST, their composition is a token DFA, and a row of that is a mask. See ``docs/tour.md`` for a tour.

Every name is imported on first use: compiling constraints needs neither torch nor transformers, and
the command line can be interrupted at once.

Read the folders in this order: `vocabulary`, `automata`, `languages`, `tokens`, `decoding`,
`analysis`, `witnesses`, `sweeps`, `servers`, `course`, `cli`. The files beside this one serve all
of them: `errors`, `arguments`, `budget`, `alphabet`, `files`, `memo`, `hashing`,
`jit`, `machine_code`; and two more facades, `terminals` and `grammars`.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from explorer import errors

if TYPE_CHECKING:
    from explorer.analysis.explaining.explanation import explain, explain_text
    from explorer.analysis.session import Session
    from explorer.automata.textbook.detokenizing import detokenizing_fst
    from explorer.budget import Budget
    from explorer.decoding.batches.generate import generate
    from explorer.decoding.batches.processor import ConstraintLogitsProcessor
    from explorer.decoding.batches.select import select
    from explorer.decoding.models.load import load_model
    from explorer.decoding.probability.mass import probability_mass
    from explorer.decoding.probability.written import probability
    from explorer.decoding.sampling.sampler import Sampler
    from explorer.decoding.trace.trace import Trace
    from explorer.languages.constraint import Constraint, choice, literal, regex
    from explorer.languages.grammar.functions import grammar
    from explorer.languages.phases.functions import (
        any_text,
        any_tokens,
        phase,
        phases,
        structural_tag,
        text_until,
        token,
    )
    from explorer.languages.schema.diagnosis.profiling import profile
    from explorer.languages.schema.free import json
    from explorer.languages.schema.source import json_schema
    from explorer.languages.template.functions import gen, many, template
    from explorer.languages.tools.functions import tools
    from explorer.languages.types.source import from_type
    from explorer.sweeps.report import report
    from explorer.sweeps.sweep import sweep
    from explorer.tokens.compile import compile
    from explorer.tokens.masks.device import DeviceMasks
    from explorer.tokens.token_dfa import TokenDFA
    from explorer.tokens.words import DONE
    from explorer.vocabulary import Vocabulary
    from explorer.witnesses.disagreements import disagreements
    from explorer.witnesses.witness import witness

__all__ = [
    "DONE",
    "Budget",
    "Constraint",
    "ConstraintLogitsProcessor",
    "DeviceMasks",
    "Sampler",
    "Session",
    "TokenDFA",
    "Trace",
    "Vocabulary",
    "any_text",
    "any_tokens",
    "choice",
    "compile",
    "detokenizing_fst",
    "disagreements",
    "errors",
    "explain",
    "explain_text",
    "from_type",
    "gen",
    "generate",
    "grammar",
    "json",
    "json_schema",
    "literal",
    "load_model",
    "many",
    "phase",
    "phases",
    "probability",
    "probability_mass",
    "profile",
    "regex",
    "report",
    "select",
    "structural_tag",
    "sweep",
    "template",
    "text_until",
    "token",
    "tools",
    "witness",
]

__version__ = "1.0.0rc1"

# The module of each name. These names do not need torch, those below do.
_LATER = {
    "DONE": "explorer.tokens.words",
    "Budget": "explorer.budget",
    "Constraint": "explorer.languages.constraint",
    "TokenDFA": "explorer.tokens.token_dfa",
    "Vocabulary": "explorer.vocabulary",
    "any_text": "explorer.languages.phases.functions",
    "any_tokens": "explorer.languages.phases.functions",
    "choice": "explorer.languages.constraint",
    "compile": "explorer.tokens.compile",
    "detokenizing_fst": "explorer.automata.textbook.detokenizing",
    "disagreements": "explorer.witnesses.disagreements",
    "explain": "explorer.analysis.explaining.explanation",
    "explain_text": "explorer.analysis.explaining.explanation",
    "from_type": "explorer.languages.types.source",
    "gen": "explorer.languages.template.functions",
    "grammar": "explorer.languages.grammar.functions",
    "json": "explorer.languages.schema.free",
    "json_schema": "explorer.languages.schema.source",
    "literal": "explorer.languages.constraint",
    "many": "explorer.languages.template.functions",
    "profile": "explorer.languages.schema.diagnosis.profiling",
    "regex": "explorer.languages.constraint",
    "structural_tag": "explorer.languages.phases.functions",
    "template": "explorer.languages.template.functions",
    "phase": "explorer.languages.phases.functions",
    "phases": "explorer.languages.phases.functions",
    "text_until": "explorer.languages.phases.functions",
    "token": "explorer.languages.phases.functions",
    "tools": "explorer.languages.tools.functions",
    "witness": "explorer.witnesses.witness",
}
_WITH_TORCH = {
    "ConstraintLogitsProcessor": "explorer.decoding.batches.processor",
    "DeviceMasks": "explorer.tokens.masks.device",
    "Sampler": "explorer.decoding.sampling.sampler",
    "Session": "explorer.analysis.session",
    "Trace": "explorer.decoding.trace.trace",
    "generate": "explorer.decoding.batches.generate",
    "load_model": "explorer.decoding.models.load",
    "probability": "explorer.decoding.probability.written",
    "probability_mass": "explorer.decoding.probability.mass",
    "select": "explorer.decoding.batches.select",
    "report": "explorer.sweeps.report",
    "sweep": "explorer.sweeps.sweep",
}
# Modules of further functions, such as `explorer.terminals.escape`.
_ROOMS = ("grammars", "servers", "terminals")


if find_spec("torch") is None:  # A star import then brings only the names that work.
    globals()["__all__"] = [name for name in __all__ if name not in _WITH_TORCH]


def __getattr__(name: str) -> object:
    if name in _ROOMS:
        return import_module(f"explorer.{name}")
    module = _LATER.get(name) or _WITH_TORCH.get(name)
    if module is None:
        raise AttributeError(f"module 'explorer' has no attribute {name!r}")
    try:
        value: object = getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] == "explorer":
            raise
        raise errors.MissingDependency(
            f"explorer.{name} needs the library {error.name!r}, which is not installed.",
            remedy="Install the extra `models`: pip install 'constraint-explorer[models]'.",
            evidence={"library": error.name},
        ) from error
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_ROOMS})
