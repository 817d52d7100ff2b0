"""Presses that come before the last answer: each has its effect, or the page says that it had none.

The page is a real one; the kernel is played by the test, which holds its answers back, gives them
in another order, or never gives them.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from widgets.views import bundle

if TYPE_CHECKING:
    from playwright.sync_api import Page

KERNEL: Final = (Path(__file__).parents[1] / "data" / "kernel.js").read_text("utf-8")


@pytest.fixture
def page(bare: Page) -> Page:
    """A page with the scripts of two views and a kernel that the test plays."""
    both = "".join(
        f"window.{view} = (() => {{{bundle.script(view)}\nreturn {bundle.renderer(view)};}})();\n"
        for view in ("stepper", "distribution", "sampler")
    )
    bare.add_style_tag(content=bundle.style())
    bare.add_script_tag(content=both + KERNEL)
    bare.evaluate("() => { window.kernel = make(stepper); }")
    return bare


def said(page: Page, script: str) -> Any:
    return page.evaluate(f"async () => {{ await frames2(); {script} }}")


LEFT = "Not done: the place had changed before this was asked."


def test_three_presses_before_the_first_answer_are_three_steps(page: Page) -> None:
    script = 'press(kernel, "step"); press(kernel, "step"); press(kernel, "step");'
    asked = said(page, f'{script} return kernel.asked.filter((m) => m.type === "step").length;')
    assert asked == 1  # The others have their turn when it is answered.
    assert said(page, "return answerAll(kernel);") == ["step"] * 3
    assert said(page, "return [kernel.state.k, note(kernel)];") == [3, ""]


@pytest.mark.long
def test_presses_that_wait_are_counted_in_words(page: Page) -> None:
    said(page, 'for (let i = 0; i < 4; i++) press(kernel, "step");')
    page.wait_for_function('() => note(kernel) === "kernel busy… 3 more presses wait."')
    said(page, "kernel.answer(); kernel.answer();")
    assert said(page, "return answerAll(kernel);") == ["step"] * 3
    page.wait_for_function('() => note(kernel) === ""')


def test_more_presses_than_may_wait_are_refused_with_a_word(page: Page) -> None:
    said(page, 'for (let i = 0; i < 40; i++) press(kernel, "step");')
    assert said(page, "return answerAll(kernel);") == ["step"] * 33  # One under way, 32 wait.
    page.wait_for_function(
        '() => note(kernel) === "Not done: 32 presses wait for the kernel already."'
    )
    said(page, 'press(kernel, "step");')
    assert said(page, "return [...await answerAll(kernel), note(kernel)];") == ["step", ""]


def test_a_key_that_is_held_down_does_not_pile_up(page: Page) -> None:
    said(page, 'key(kernel, "ArrowRight"); for (let i = 0; i < 40; i++) '
               'key(kernel, "ArrowRight", true);')  # fmt: skip
    assert said(page, "return answerAll(kernel);") == ["step"] * 2
    # What is pressed each time is kept.
    said(page, 'for (let i = 0; i < 4; i++) key(kernel, "ArrowRight");')
    assert said(page, "return answerAll(kernel);") == ["step"] * 4


def test_back_after_step_goes_back_from_where_the_step_led(page: Page) -> None:
    said(page, 'press(kernel, "step"); key(kernel, "ArrowLeft"); press(kernel, "step");')
    assert said(page, "return answerAll(kernel);") == ["step", "jump", "step"]
    assert said(page, "return kernel.state.k;") == 1


def test_a_press_at_a_place_that_was_left_meanwhile_says_so(page: Page) -> None:
    # Somebody else moves the session; the page hears of it only with the answer.
    said(page, 'press(kernel, "step"); kernel.state.generation++;')
    assert said(page, "return [...await answerAll(kernel), kernel.state.k];") == ["step", 0]
    assert said(page, "return note(kernel);").startswith(LEFT)
    said(page, 'press(kernel, "step");')
    assert said(page, "return answerAll(kernel);") == ["step"]
    assert said(page, "return [kernel.state.k, note(kernel)];") == [1, ""]


def test_a_token_is_taken_where_it_was_seen_or_not_at_all(page: Page) -> None:
    page.evaluate("() => { window.kernel = make(distribution); }")
    said(page, 'key(kernel, "2"); key(kernel, "1");')
    assert said(page, "return answerAll(kernel);") == ["take", "take"]
    assert said(page, "return kernel.state.tokens;") == [8]  # The second was for the place before.
    assert said(page, "return note(kernel);").startswith(LEFT)


def test_a_step_while_a_setting_is_on_its_way_is_made_after_it(page: Page) -> None:
    said(
        page,
        """
        window.other = make(sampler);
        const top = kernel.root.querySelector("button.step");
        top.click();
        kernel.model.get("sampler");
    """,
    )
    # On one widget both share the row of presses; here the setting of the same widget.
    assert said(page, "return answerAll(kernel);") == ["step"]
    said(
        page,
        """
        const field = other.root.querySelector('input[aria-label="temperature"]');
        field.value = "0.5";
        field.dispatchEvent(new Event("input", { bubbles: true }));
    """,
    )
    page.wait_for_function('() => other.asked.some((m) => m.type === "sampler")')
    said(page, 'other.root.querySelector("button").click();')
    again = 'return other.asked.filter((m) => m.type === "again").length;'
    assert said(page, again) == 0
    said(page, "other.answer();")
    assert said(page, again) == 1


def test_an_answer_to_another_page_of_the_same_widget_is_not_taken_for_ones_own(page: Page) -> None:
    said(
        page,
        """
        const el = document.createElement("div");
        document.body.append(el);
        stepper({ model: kernel.model, el });
        kernel.asked.length = 0;
        press(kernel, "step");
        await frames2();
        el.querySelector("button.step").click();
    """,
    )
    numbers = said(page, 'return kernel.asked.filter((m) => m.type === "step").map((m) => m.re);')
    assert len(numbers) == len(set(numbers)) == 2
    assert said(page, "return answerAll(kernel);") == ["step", "step"]


def test_a_comm_that_cannot_send_is_said(page: Page) -> None:
    said(page, 'kernel.state.closed = true; press(kernel, "step");')
    page.wait_for_function('() => note(kernel).startsWith("kernel restarted")')


def test_a_question_about_the_place_that_is_shown_is_asked_again(page: Page) -> None:
    """The generation moves on without the place: nothing that was asked about it is lost."""
    page.evaluate("() => { window.kernel = make(distribution); }")
    said(
        page,
        """
        const find = kernel.root.querySelector("input.lmx-find");
        find.value = "x";
        find.dispatchEvent(new Event("input", { bubbles: true }));
    """,
    )
    page.wait_for_function('() => kernel.asked.some((m) => m.type === "search")')
    again = said(
        page,
        """
        const first = kernel.asked.find((m) => m.type === "search");
        kernel.asked.length = 0;
        kernel.tell({ re: first.re, ok: false, quiet: true, stale: true, generation: 5 });
        await frames2();
        const second = kernel.asked.find((m) => m.type === "search");
        return [second.re === first.re, second.seen];
    """,
    )
    assert again == [True, 5]


def test_what_is_pressed_is_not_drawn_anew_until_it_is_released(page: Page) -> None:
    page.evaluate("() => { window.kernel = make(distribution); }")
    said(page, "return 0;")
    box = page.locator('.lmx-row[data-token="8"]').bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 10, box["y"] + box["height"] / 2)
    page.mouse.down()
    said(page, "kernel.move(1); await frames2();")  # Its rows are to be drawn anew.
    page.mouse.up()
    page.mouse.move(0, 0)
    # The click was of the row that was pressed: its token is selected, not only pointed at.
    said(page, "return 0;")
    page.locator('.lmx-row.sel[data-token="8"]').wait_for()
    assert said(page, 'return kernel.root.querySelectorAll(".lmx-row.sel").length;') == 1
