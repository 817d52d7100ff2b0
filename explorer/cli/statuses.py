"""The exit status of a command that did not come to its own end."""

from __future__ import annotations

from typing import Final

INTERRUPTED: Final = 128 + 2
"""The exit status after Ctrl-C: that of a process that SIGINT ended."""

UNREAD: Final = 128 + 13
"""The exit status where nobody reads the output any more: that of one that SIGPIPE ended."""
