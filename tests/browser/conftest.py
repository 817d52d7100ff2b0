"""A real JupyterLab and a real browser, started once per test session, and one page for most tests.

A page loads JupyterLab in five seconds of computing, and shows another notebook in one and a half.
So a test leaves the page as it found it, without notebooks and kernels, and the next test goes on
with it. A page on which a test has failed, or which is no longer JupyterLab's, is thrown away; a
test that measures the page, or is about how it begins, opens its notebook ``anew``.

Nothing of the user's is read or written: every folder that Jupyter knows of lies in a fresh one.
The browser talks to the loopback address only; each page records every request and every error of
the console, and at the end of each test `Notebook.check` looks at them. Where chromium or a library
is missing the tests skip and say what is missing; `EXPLORER_NEED_BROWSER=1`, as in continuous
integration, makes that an error.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

try:
    from playwright.sync_api import Error as PageError
    from playwright.sync_api import TimeoutError as TooLate
except ImportError:  # The fixture says so.
    PageError = TooLate = OSError

from explorer.cli.lab import EXTENSION
from tests.browser.acting import TOY
from tests.browser.forked_kernel import ForkedKernels
from tests.browser.replays import opened, written

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page, ViewportSize

__all__ = ["Lab", "Notebook", "opened", "written"]  # The last two are fixtures.

REPOSITORY = Path(__file__).resolve().parents[2]
PATIENCE = 60_000  # Milliseconds; for a busy machine, never part of a result.
CHROMIUM = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
SIZE: ViewportSize = {"width": 1280, "height": 1000}
LIGHT = "JupyterLab Light"
# JupyterLab says this of each request that a kernel has not answered when its notebook is closed.
OF_A_CLOSING_KERNEL = re.compile(r"Error: Canceled future for \w+ message before replies were done")
CLOSE = """
    const app = window.jupyterapp;
    for (const panel of [...app.shell.widgets('main')]) {
        if (panel.context) panel.context.model.dirty = false;
        panel.dispose();
    }"""
OPEN = f"""async (path) => {{{CLOSE}
    await app.commands.execute('docmanager:open', {{path, factory: 'Notebook'}});
}}"""
# A timer removes JupyterLab's splash 200 ms after a theme has come: a theme that is changed again
# before that removes it twice, and the host throws an error.
THEME = """async (theme) => {
    const {commands} = window.jupyterapp;
    const until = async (holds) => {
        while (!holds()) await new Promise((again) => setTimeout(again, 20));
    };
    if (document.body.dataset.jpThemeName !== theme)
        await commands.execute('apputils:change-theme', {theme});
    await until(() => document.body.dataset.jpThemeName === theme);
    await until(() => !document.querySelector('#jupyterlab-splash'));
}"""
LEAVE = f"""async (theme) => {{{CLOSE}
    await ({THEME})(theme);
    app.shell.expandLeft('filebrowser');
    await app.serviceManager.sessions.shutdownAll();
    return !document.querySelector('.jp-Dialog, .jp-NotebookPanel');
}}"""
IDLE = """() => {
    const panel = window.jupyterapp && window.jupyterapp.shell.currentWidget;
    const session = panel && panel.sessionContext && panel.sessionContext.session;
    const kernel = session && session.kernel;
    return !!kernel && kernel.status === 'idle' && kernel.connectionStatus === 'connected';
}"""


def missing(reason: str) -> None:
    if os.environ.get("EXPLORER_NEED_BROWSER"):
        pytest.fail(reason)
    pytest.skip(reason)


class Lab:
    """A running JupyterLab over a folder of notebooks.

    Args:
        folder: For all that it reads and writes.
        forked: Whether kernels are forked from one process; see `tests.browser.forked_kernel`.
    """

    def __init__(self, folder: Path, *, forked: bool = False) -> None:
        self.folder = folder
        self.work = folder / "work"
        self.work.mkdir(parents=True)
        self.token = secrets.token_hex(16)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        settings = folder / "settings" / "@jupyterlab"
        for name, value in {
            "apputils-extension/notification": {"fetchNews": "false"},
            "notebook-extension/tracker": {"windowingMode": "none"},
        }.items():
            target = settings / f"{name}.jupyterlab-settings"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(json.dumps(value))
        environment = {k: v for k, v in os.environ.items() if not k.startswith("JUPYTER")}
        for name in ("CONFIG_DIR", "DATA_DIR", "RUNTIME_DIR"):
            environment[f"JUPYTER_{name}"] = str(folder / name.lower())
        environment["JUPYTERLAB_SETTINGS_DIR"] = str(folder / "settings")
        environment["JUPYTERLAB_WORKSPACES_DIR"] = str(folder / "workspaces")
        environment["IPYTHONDIR"] = str(folder / "ipython")
        environment["PYTHONPATH"] = str(REPOSITORY)
        environment["OMP_NUM_THREADS"] = "1"
        environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
        environment["JUPYTER_PATH"] = str(folder / "described")  # Before those of the environment.
        self.kernels = ForkedKernels(folder, environment) if forked else None
        self.log = (folder / "server.log").open("w")
        self.process = subprocess.Popen(
            [
                sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root",
                f"--ServerApp.port={self.port}", "--ServerApp.port_retries=0",
                "--ServerApp.ip=127.0.0.1", f"--ServerApp.root_dir={self.work}",
                f"--IdentityProvider.token={self.token}",
                "--LabApp.extension_manager=readonly", "--LabApp.expose_app_in_browser=True",
                "--JupyterNotebookApp.expose_app_in_browser=True",
                f"--ServerApp.jpserver_extensions={EXTENSION}=True",  # As `explorer lab` does.
            ],
            env=environment, stdout=self.log, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        self._wait()

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def is_shown_in(self, page: Page) -> bool:
        """Whether a page is JupyterLab's, and can be shown another notebook."""
        return page.url.startswith(f"{self.origin}/lab")

    def _wait(self) -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                with urllib.request.urlopen(f"{self.origin}/api?token={self.token}", timeout=2):
                    return
            except OSError:
                if self.process.poll() is not None:
                    break
                time.sleep(0.2)
        self.process.kill()  # Nobody else would end what did not begin in time.
        self.process.wait()
        raise RuntimeError(self.said()[-3000:])

    def said(self) -> str:
        """The server's log."""
        return (self.folder / "server.log").read_text()

    def put(self, name: str, notebook: dict[str, Any]) -> str:
        (self.work / name).write_text(json.dumps(notebook))
        return name

    def code(self, name: str, *cells: str, kernel: str = "python3") -> str:
        """A notebook of these code cells, for one of the two kernels of `forked_kernel`."""
        return self.put(
            name,
            {
                "nbformat": 4, "nbformat_minor": 5,
                "metadata": {"kernelspec": {"name": kernel, "display_name": "Python 3"}},
                "cells": [
                    {
                        "cell_type": "code", "id": f"cell-{k}", "metadata": {}, "outputs": [],
                        "execution_count": None, "source": source,
                    }
                    for k, source in enumerate(cells)
                ],
            },
        )  # fmt: skip

    def ask(self, method: str, path: str) -> Any:
        """One request to the server."""
        request = urllib.request.Request(
            f"{self.origin}/{path}",
            method=method,
            headers={"Authorization": f"token {self.token}"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            data = answer.read()
        return json.loads(data) if data else None

    def shut_down(self) -> None:
        """End every kernel, with the session that it is of."""
        for kind in ("sessions", "kernels"):
            for found in self.ask("GET", f"api/{kind}"):
                # One that is just ending, or whose kernel is, says that it is not there.
                with suppress(urllib.error.HTTPError):
                    self.ask("DELETE", f"api/{kind}/{found['id']}")

    def stop(self) -> None:
        """End the server and its kernels, which are in its own process group."""
        os.killpg(self.process.pid, signal.SIGTERM)
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(timeout=10)
        self.log.close()
        if self.kernels:
            self.kernels.stop()


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    pytest.importorskip("jupyterlab", reason="jupyterlab is not installed")
    server = Lab(tmp_path_factory.mktemp("lab"), forked=True)
    yield server
    server.stop()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("playwright is not installed: pip install playwright")
        raise
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        missing("chromium is not installed: apt-get install chromium fonts-dejavu-core")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(CHROMIUM))
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def one_page(chromium: Browser) -> Iterator[Page]:
    """The page of `bare`."""
    made = chromium.new_page()
    yield made
    made.close()


@pytest.fixture
def bare(one_page: Page) -> Iterator[Page]:
    """A page with nothing in it, for a script by itself: it is opened once, not for each test."""
    errors: list[str] = []

    def note(error: Any) -> None:
        errors.append(str(error))

    one_page.goto("about:blank")  # Whatever the test before has left goes.
    one_page.on("pageerror", note)
    yield one_page
    one_page.remove_listener("pageerror", note)
    assert errors == []


class Window:
    """The page that one test after another uses, and its browser's profile.

    Args:
        browser: Chromium.
        lab: The server.
    """

    def __init__(self, browser: Browser, lab: Lab) -> None:
        self.browser = browser
        self.lab = lab
        self.opened: Page | None = None

    @property
    def page(self) -> Page:
        """The page; a new one where the last was thrown away."""
        if self.opened is None:
            context = self.browser.new_context(viewport=SIZE)
            context.set_default_timeout(PATIENCE)
            self.opened = context.new_page()
        return self.opened

    def leave(self) -> None:
        """Close every notebook, with its kernel, and put the page back as it was."""
        with suppress(PageError):
            if self.lab.is_shown_in(self.page) and self.page.evaluate(LEAVE, LIGHT):
                self.page.set_viewport_size(SIZE)
                return
        self.throw_away()

    def throw_away(self) -> None:
        """Close the page with its profile."""
        if self.opened:
            self.opened.context.close()
            self.opened = None


class Notebook:
    """A notebook in the browser, with what the page said and asked for."""

    def __init__(self, page: Page, lab: Lab) -> None:
        self.page = page
        self.lab = lab
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.known: set[str] = set()
        self.listeners: dict[str, Callable[[Any], None]] = {
            "console": lambda m: self.errors.append(m.text) if m.type == "error" else None,
            "pageerror": lambda error: self.errors.append(str(error)),
            "request": lambda request: self.requests.append(request.url),
            "websocket": lambda socket: self.requests.append(socket.url),
        }
        for event, listener in self.listeners.items():
            page.on(event, listener)  # type: ignore[call-overload]

    def let_go(self) -> None:
        """Stop listening: later messages belong to another test."""
        for event, listener in self.listeners.items():
            self.page.remove_listener(event, listener)

    def host_alone(self) -> None:
        """The messages and requests of the page so far are the host's own, without any of ours."""
        self.known |= {*self.errors, *self.requests}

    def check(self) -> None:
        """The page had no error of its own, and sent requests only to the loopback address."""
        errors = [words for words in self.errors if not OF_A_CLOSING_KERNEL.fullmatch(words)]
        assert [words for words in errors if words not in self.known] == []
        # Blobs and data are of the page itself.
        asked = [url for url in self.requests if urlsplit(url).scheme not in ("blob", "data")]
        away = [url for url in asked if urlsplit(url).hostname != "127.0.0.1"]
        assert [url for url in away if url not in self.known] == []

    def open(self, name: str, *, anew: bool = False) -> Notebook:
        """Show a notebook whose kernel is ready; nothing of ours has run in it before.

        Now and then the server refuses a page its kernel's socket (500), because the page has
        closed the one before while it was being opened, and the page then waits for ever. That is
        between the two of them: the page is loaded again, and what it said is not ours.

        Args:
            name: The notebook.
            anew: Whether JupyterLab is loaded for it, though it is there already.
        """
        for left in (2, 1, 0):
            if left == 2 and not anew and self.lab.is_shown_in(self.page):
                self.page.evaluate(OPEN, name)
            else:
                self.page.goto(f"{self.lab.origin}/lab/tree/{name}?reset&token={self.lab.token}")
            try:
                self.page.wait_for_function(IDLE, timeout=PATIENCE / 2 if left else PATIENCE)
            except TooLate:
                if not left:
                    raise
                self.host_alone()
                self.lab.shut_down()
            else:
                break
        return self

    def theme(self, name: str) -> None:
        """Show JupyterLab in a theme, and wait until its colours have faded in."""
        self.page.evaluate(THEME, name)
        self.page.wait_for_timeout(800)

    def run_all(self) -> bool:
        """Run every cell; false if one failed."""
        return bool(
            self.page.evaluate(
                "async () => await window.jupyterapp.commands.execute('notebook:run-all-cells')"
            )
        )

    def explorer(self, number: int = 0, *, along: bool = False) -> Locator:
        """The n-th explorer of the notebook, drawn.

        Args:
            along: Whether a large vocabulary stays drawn along the text; else each machine is drawn
                by itself.
        """
        root = self.page.locator(".jp-NotebookPanel:not(.lm-mod-hidden) .lmx-root").nth(number)
        drawn = root.locator(".lmx-machines svg .n").first
        drawn.wait_for(state="attached", timeout=PATIENCE)
        other = root.get_by_role("button", name="as machines", exact=True)
        if not along and other.count():
            other.click()
            root.locator(".lmx-machine svg .n").first.wait_for(state="attached", timeout=PATIENCE)
        return root


FAILED: pytest.StashKey[bool] = pytest.StashKey()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    item.stash[FAILED] = item.stash.get(FAILED, False) or report.failed
    return report


@pytest.fixture(scope="session")
def window(lab: Lab, chromium: Browser) -> Iterator[Window]:
    made = Window(chromium, lab)
    yield made
    made.throw_away()


@pytest.fixture
def notebook(window: Window, request: pytest.FixtureRequest) -> Iterator[Notebook]:
    made = Notebook(window.page, window.lab)
    yield made
    if request.node.stash.get(FAILED, False):
        window.throw_away()
    else:
        window.leave()
    window.lab.shut_down()
    made.let_go()
    made.check()


@pytest.fixture
def toy(notebook: Notebook, lab: Lab) -> Locator:
    """An explorer of the toy, in a notebook of its own."""
    notebook.open(lab.code("toy.ipynb", TOY))
    assert notebook.run_all()
    return notebook.explorer()
