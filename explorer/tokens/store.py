"""A token DFA as one file: a zip of plain numpy arrays and a JSON header.

The file is data only; nothing in it is executed, and object arrays are refused. It names the
fingerprint of the vocabulary it was compiled for, because token ids mean nothing without it.
The constraint is stored twice: as what it was written as, so that it can be explained, and as
its byte machine, so that loading compiles nothing.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

import numpy as np

from explorer.automata.constraint import Constraint
from explorer.automata.machine import Dfa
from explorer.automata.serial import source_from_dict, source_to_dict
from explorer.errors import DamagedFile, ExplorerError
from explorer.tokens.lost import find_lost
from explorer.tokens.report import FIGURES, Report
from explorer.tokens.states import DEAD, DONE, NUM_FIXED_CLASSES
from explorer.tokens.token_dfa import TokenDFA
from explorer.vocabulary import Vocabulary

_KIND: Final = "explorer.TokenDFA"
_VERSION: Final = 1
_ARRAYS: Final = ("table", "token_class", "char_state", "accepting", "distance", "stuck")
_FSA_ARRAYS: Final = ("fsa_symbol_class", "fsa_table", "fsa_accepting")


# What zipfile, zlib, numpy and json raise on damaged input.
_UNREADABLE: Final = (
    OSError,
    ValueError,
    KeyError,
    EOFError,
    NotImplementedError,
    RuntimeError,
    zipfile.BadZipFile,
    zlib.error,
)


def save(dfa: TokenDFA, path: str | Path) -> None:
    """Write a token DFA to a file; see `TokenDFA.save`."""
    machine = dfa.constraint.dfa
    header = {
        "kind": _KIND,
        "version": _VERSION,
        "fingerprint": dfa.vocabulary.fingerprint,
        "source": source_to_dict(dfa.constraint.source),
        "report": dfa.report.to_dict(),
    }
    arrays = {name: getattr(dfa, name) for name in _ARRAYS}
    arrays |= {
        "fsa_symbol_class": machine.symbol_class,
        "fsa_table": machine.table,
        "fsa_accepting": machine.accepting,
        "header": np.frombuffer(json.dumps(header).encode(), np.uint8),
    }
    with open(path, "wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)


def load(path: str | Path, vocabulary: Vocabulary) -> TokenDFA:
    """Read a token DFA from a file; see `TokenDFA.load`."""
    try:
        with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as file:
            header = json.loads(bytes(file["header"]).decode())
            arrays = {name: file[name] for name in (*_ARRAYS, *_FSA_ARRAYS)}
    except FileNotFoundError:
        raise
    except _UNREADABLE as error:
        raise DamagedFile(
            f"{path} is not a saved token DFA, or it is damaged: {error}.",
            remedy="Compile the constraint again and save it.",
            evidence={"path": str(path)},
        ) from error
    header = cast("dict[str, Any]", header if isinstance(header, dict) else {})
    if header.get("kind") != _KIND or header.get("version") != _VERSION:
        raise DamagedFile(
            f"{path} is of kind {header.get('kind')!r}, version {header.get('version')!r}; this "
            f"release reads {_KIND!r}, version {_VERSION}.",
            remedy="Compile the constraint again and save it with this release.",
        )
    if header["fingerprint"] != vocabulary.fingerprint:
        raise DamagedFile(
            f"{path} was compiled for a vocabulary with fingerprint "
            f"{header['fingerprint'][:12]}…; this one is {vocabulary.fingerprint[:12]}…. The same "
            f"ids would mean other text.",
            remedy="Load it with the vocabulary that it was compiled for (narrowed with "
            "with_width(...) if it was compiled for a width), or compile again.",
            evidence={"file": header["fingerprint"], "vocabulary": vocabulary.fingerprint},
        )
    try:
        machine = Dfa(
            arrays["fsa_symbol_class"],
            arrays["fsa_table"],
            arrays["fsa_accepting"],
            0,
        )
        constraint = Constraint(source_from_dict(header["source"]), machine)
        figures = {name: header["report"][name] for name in FIGURES}
        lost = partial(find_lost, machine, vocabulary, arrays["char_state"])
        dfa = TokenDFA(
            constraint=constraint,
            vocabulary=vocabulary,
            report=Report(**figures, find_lost=lost),
            **{name: arrays[name] for name in _ARRAYS},
        )
        _check(dfa, path)
    except DamagedFile:
        raise
    except (ExplorerError, TypeError, KeyError, ValueError, AttributeError) as error:
        raise DamagedFile(
            f"{path} holds parts that do not fit together: {error}.",
            remedy="Compile the constraint again and save it.",
        ) from error
    return dfa


def _check(dfa: TokenDFA, path: str | Path) -> None:
    """Refuse arrays that would send an index out of its table."""
    states, classes = dfa.table.shape if dfa.table.ndim == 2 else (0, 0)
    machine = dfa.constraint.dfa
    numbers = (
        dfa.table,
        dfa.token_class,
        dfa.char_state,
        dfa.distance,
        dfa.stuck,
        machine.table,
        machine.symbol_class,
    )
    fits = (
        all(array.dtype.kind in "iu" for array in numbers)
        and dfa.accepting.dtype == machine.accepting.dtype == np.bool_
        and machine.accepting.shape == (machine.num_states,)
        and dfa.stuck.ndim == 1
        and all(0 <= s < machine.num_states for s in (*dfa.stuck[:1], *dfa.stuck[-1:]))
        and int(dfa.distance.min()) >= 1
        and states > 0
        and classes >= NUM_FIXED_CLASSES
        and dfa.token_class.shape == (len(dfa.vocabulary),)
        and int(dfa.token_class.max()) < classes
        and dfa.char_state.shape == dfa.accepting.shape == dfa.distance.shape == (states,)
        and int(dfa.table.min()) >= DONE
        and int(dfa.table.max()) < states
        and machine.table.ndim == 2
        and machine.symbol_class.shape == (256,)
        and int(machine.symbol_class.min()) >= 0
        and int(machine.symbol_class.max()) < machine.num_classes
        and int(machine.table.min()) >= DEAD
        and int(machine.table.max()) < machine.num_states
        and int(dfa.char_state.min()) >= 0
        and int(dfa.char_state.max()) < machine.num_states
    )
    if not fits:
        raise DamagedFile(
            f"{path} holds tables that do not fit together.",
            remedy="Compile the constraint again and save it.",
        )
