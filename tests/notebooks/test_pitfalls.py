"""The notebooks on the pitfalls of tokens run, and show the numbers that their text speaks of."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.notebooks.running import Shown

Show = Callable[[str], Shown]
PICTURE = {"image/svg+xml", "text/plain"}
WIDGET = "application/vnd.jupyter.widget-view+json"


def test_isolated_spaces(show: Show) -> None:
    shown = show("09e_isolated_spaces")
    # All ways to write the text, and the tokenizer's own.
    assert shown.kinds("fused") == PICTURE
    assert shown.value("spellings_of(tokens, ' sev').count") == 32
    assert "32 ways to write ' sev'" in shown.plain("fused")
    assert "It is 8132." in shown.printed("words")
    # Table 3: the fused word far before the two that begin with a lone space; digits before all.
    fused, whole, parts, digits = shown.value("totals")
    assert fused == pytest.approx(-1.63, abs=0.01)
    assert whole == pytest.approx(-20.78, abs=0.05)
    assert parts == pytest.approx(-41.56, abs=0.05)
    assert digits == pytest.approx(-0.27, abs=0.01)
    assert "total -1.63" in shown.plain("table")
    # The mask that allows any spelling lets the model take the lone space.
    assert shown.value("token_names(tokens, plain_ids)")[0] == "␣"
    assert "It is five" in shown.printed("greedy")
    assert shown.value("token_names(tokens, fused_ids)") == ["␣seventeen"]
    assert shown.value("sum(fused_scores) - sum(plain_scores)") > 10
    assert WIDGET in shown.kinds("widget")
    assert "they write only ' seventeen'" in shown.printed("why")
    assert shown.value("course.check('spaces-digits', [' ', '1', '7']).right")
