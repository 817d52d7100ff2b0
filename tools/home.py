"""``python -m tools.home``: write the address of the project's home where a page needs it.

The home is one variable, `HOME`. While it is empty, no page shows an address or a badge.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

HOME: Final = ""
"""The owner and the name of the repository on GitHub, such as ``"someone/constraint-explorer"``."""

ROOT: Final = Path(__file__).resolve().parents[1]
QUICKSTART: Final = "notebooks/00_quickstart.ipynb"
_PLACE: Final = re.compile(r"<!-- badge -->.*?<!-- end of badge -->", re.DOTALL)


def binder(home: str) -> str:
    """The address at which Binder opens the quickstart.

    Example:
        >>> binder("someone/explorer")
        'https://mybinder.org/v2/gh/someone/explorer/HEAD?urlpath=lab/tree/notebooks/00_quickstart.ipynb'
    """
    return f"https://mybinder.org/v2/gh/{home}/HEAD?urlpath=lab/tree/{QUICKSTART}"


def with_badge(page: str, home: str) -> str:
    """A page with Binder's badge at its marked place; without one if there is no home.

    Example:
        >>> with_badge("<!-- badge --><!-- end of badge -->", "")
        '<!-- badge --><!-- end of badge -->'
    """
    badge = f"[![Open the quickstart on Binder](docs/images/binder.svg)]({binder(home)})"
    return _PLACE.sub(f"<!-- badge -->{badge if home else ''}<!-- end of badge -->", page)


if __name__ == "__main__":
    readme = ROOT / "README.md"
    readme.write_text(with_badge(readme.read_text("utf-8"), HOME), "utf-8")
