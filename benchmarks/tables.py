"""From the measured JSON to Markdown; the only place where a figure is rounded for reading."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent
RESULTS: Final = ROOT / "docs" / "benchmarks" / "peers.json"
PAGE: Final = ROOT / "docs" / "benchmarks" / "results.md"
README: Final = ROOT / "README.md"
BEGIN: Final = "<!-- figures: written by `make bench` -->"
END: Final = "<!-- end of figures -->"

OURS: Final = ("explorer", "explorer, lazy")
STEPPED: Final = (*OURS, "outlines-core")
PEERS: Final = ("outlines-core", "xgrammar", "llguidance")


def figure(value: float | None) -> str:
    """Three significant digits, thousands separated; nothing measured is a dash.

    Example:
        >>> figure(0.86123), figure(21.34), figure(1234.5), figure(None)
        ('0.86', '21', '1,234', '–')
    """
    if value is None:
        return "–"
    if value < 1:
        return f"{value:.2f}"
    if value < 10:
        return f"{value:.1f}"
    return f"{value:,.0f}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; every column but the first is aligned right."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def compile_table(results: dict[str, Any], vocabulary: str) -> str:
    """Milliseconds to compile, and how many times faster ours is than outlines-core.

    The ratio is given twice, of the medians and of the fastest rounds: the two differ where other
    work disturbed the measurement.
    """
    rows: list[list[str]] = []
    for case, times in results["compile"][vocabulary].items():
        ours, theirs = times["explorer"], times["outlines-core"]
        rows.append(
            [
                case,
                figure(ours["median"]),
                *(figure(times[name]["median"]) for name in PEERS),
                f"{theirs['median'] / ours['median']:.0f} × "
                f"({theirs['fastest'] / ours['fastest']:.0f} ×)",
            ]
        )
    ratio = "outlines-core ÷ explorer (fastest rounds)"
    return table(["milliseconds", "explorer", *PEERS, ratio], rows)


def readme_block(results: dict[str, Any]) -> str:
    """The text in the README between the two marks."""
    held = results["held"]["outlines-core"]["bytes"]
    ours = results["tables"]["bytes"]
    return "\n\n".join(
        [
            BEGIN,
            compile_table(results, "131k"),
            f"The finished tables of the JSON object: {figure(ours / 1e6)} MB here, "
            f"{figure(held / 1e6)} MB in outlines-core ({held / ours:.0f} × as much).",
            END,
        ]
    )


def page(results: dict[str, Any]) -> str:
    """The page with every table."""
    about = results["about"]
    parts = [
        "# Figures",
        "Written by `make bench` from `peers.json`; how they are made stands in "
        "[README.md](README.md).",
        f"{about['date']}, {about['processor']}, {about['cores']} cores, Python "
        f"{about['python']}; "
        + ", ".join(f"{name} {version}" for name, version in about["versions"].items())
        + f". Medians of {about['repeats']} interleaved rounds, one thread; load average at the "
        f"start {about['load']:.1f}.",
    ]
    for vocabulary, size in about["vocabularies"].items():
        parts += [
            f"## From pattern to result, {vocabulary} vocabulary ({size:,} ids)",
            compile_table(results, vocabulary),
        ]
    parts += [
        "What is left after a compile differs: a closed form in explorer (trimmed, with token "
        "classes) and in outlines-core (one entry per state and token); a matcher with stored "
        "masks in xgrammar; a lazy matcher in llguidance, which works as masks are asked for.",
        "## Where the languages were compared",
        table(
            [
                "vocabulary, case",
                "texts",
                "masks",
                "ids allowed at the start",
                "narrowed",
                "set aside",
            ],
            [
                [
                    f"{vocabulary}, {case}",
                    *(
                        f"{counts[key]:,}"
                        for key in ("texts", "masks", "allowed_at_start", "narrowed", "aside")
                    ),
                ]
                for vocabulary, cases in results["languages"].items()
                for case, counts in cases.items()
            ],
        ),
        "All engines accepted and rejected the same texts, and every mask was the same in all "
        "of them but for the *narrowed* ones, where one text only can follow and llguidance allows "
        "one way to write it in tokens and masks the others, and for tokens *set aside*, which "
        "write white space beyond the ASCII one: `\\s` holds it for some engines only.",
        "## Unicode classes",
        table(
            ["milliseconds, 131k", "explorer", *PEERS],
            [
                [case, *(figure(times[name]["median"]) for name in ("explorer", *PEERS))]
                for case, times in results["unicode"].items()
            ],
        ),
        "Not the same languages: `\\d` and `\\w` are those of Python's `re` here; the peers have "
        "editions of their own, and xgrammar reads both as ASCII.",
        "## Time to the first mask",
        table(
            ["microseconds, 131k", *OURS, *PEERS],
            [
                [case, *(figure(1e3 * times[name]["median"]) for name in (*OURS, *PEERS))]
                for case, times in results["first_mask"].items()
            ],
        ),
        "After the compile, and the first that is asked for. outlines-core gives a list of ids, "
        "the others one bit per id. With the compile before it, from pattern to first mask:",
        table(
            ["milliseconds, 131k", *OURS, *PEERS],
            [
                [case, *(figure(times[name]["median"]) for name in (*OURS, *PEERS))]
                for case, times in results["to_first_mask"].items()
            ],
        ),
        "## One step",
        "As Koo et al. measure it (C.3): the valid tokens of the start state as a vector, then the "
        "state after the first of them. The first time after a compile, and again.",
        table(
            ["microseconds, 131k", *OURS, "outlines-core", *(f"{n}, again" for n in STEPPED)],
            [
                [
                    case,
                    *(figure(1e3 * times["first"][name]["median"]) for name in STEPPED),
                    *(figure(1e3 * times["again"][name]["median"]) for name in STEPPED),
                ]
                for case, times in results["steps"].items()
            ],
        ),
        "A mask of a visited state, made and applied to 131,072 float32 logits on the CPU. The "
        "words are of one layout, so xgrammar applies ours as they are:",
        table(
            ["microseconds, 131k", *next(iter(results["apply"].values()))],
            [
                [case, *(figure(1e3 * entry["median"]) for entry in times.values())]
                for case, times in results["apply"].items()
            ],
        ),
        "## The textbook's composition",
        '`compile(..., method="pynini")`: compose, project, remove ε, determinize, by pynini from '
        "end to end, then tabulated; the same machine. One run each, the character FSA at hand.",
        table(
            ["milliseconds, 131k", "explorer", "pynini"],
            [
                [case, figure(times["explorer"]), figure(times["pynini"])]
                for case, times in results["textbook"].items()
            ],
        ),
        "## Cold start: a fresh process, the JSON object, 131k",
        table(
            ["milliseconds", "import", "prepare the vocabulary", "first compile", "sum"],
            [
                [
                    name,
                    *(figure(spent[stage]) for stage in ("import", "prepare", "compile")),
                    figure(sum(spent[stage] for stage in ("import", "prepare", "compile"))),
                ]
                for name, spent in results["cold"].items()
            ],
        ),
        "The last row is paid once per installation: the machine code of the inner loops is made "
        "and kept on disk.",
        "## Memory held by the finished JSON object, 131k",
        table(
            ["", "MB"],
            [[name, figure(entry["bytes"] / 1e6)] for name, entry in results["held"].items()],
        ),
        f"Growth of resident memory per result; our arrays themselves are "
        f"{figure(results['tables']['bytes'] / 1e6)} MB "
        f"({results['tables']['states']:,} states × {results['tables']['classes']:,} token "
        f"classes, and the class of each id), outlines-core's index has "
        f"{results['tables']['outlines_core_transitions']:,} transitions.",
        "## Growth with the vocabulary (the JSON object)",
        table(
            ["ids", "token classes", "explorer, ms", "outlines-core, ms", "ratio"],
            [
                [
                    f"{row['tokens']:,}",
                    f"{row['token_classes']:,}",
                    figure(row["explorer"]),
                    figure(row["outlines-core"]),
                    f"{row['outlines-core'] / row['explorer']:.0f} ×",
                ]
                for row in results["growth"]["vocabulary"]
            ],
        ),
        "## Growth with the states (131k)",
        table(
            [
                "family",
                "states",
                "token classes",
                "table entries of one per token",
                "our kB",
                "explorer, ms",
                "outlines-core, ms",
            ],
            [
                [
                    row["family"],
                    f"{row['states']:,}",
                    f"{row['token_classes']:,}",
                    f"{row['entries']:,}",
                    f"{row['kilobytes']:,}",
                    figure(row["explorer"]),
                    figure(row["outlines-core"]),
                ]
                for row in results["growth"]["states"]
            ],
        ),
        "A dash: not tried, because a table of one entry per state and token would be too large "
        "or the size before took more than a second.",
    ]
    return "\n\n".join(parts) + "\n"


def with_figures(readme: str, results: dict[str, Any]) -> str:
    """The README with its block of figures replaced.

    Raises:
        ValueError: The marks are not there, once each and in order.
    """
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"The README lacks {BEGIN!r} … {END!r}.")
    return before + readme_block(results) + after


def write(results: dict[str, Any]) -> None:
    """Write the JSON, the page and the README's block."""
    RESULTS.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    PAGE.write_text(page(results), encoding="utf-8")
    text = README.read_text(encoding="utf-8")
    README.write_text(with_figures(text, results), encoding="utf-8")


def read() -> dict[str, Any]:
    """The measured JSON."""
    return json.loads(RESULTS.read_text(encoding="utf-8"))
