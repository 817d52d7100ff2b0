"""Constraints compiled in a process of its own, which a cancel or a limit can end."""
