"""The checks of the course: the notebooks ask, and `check` answers.

    from explorer import course
    course.check("spellings", 8)

A wrong answer gets a hint that does not give the right one away. Reading order: `verdict` (what
`check` says), `exercise` (kinds of answers), `foundations` (the exercises of the notebooks 01 to
04), `masked` (those of 00 and 05), `cases` (those of 06), `structured` (those of 07 and 08),
`pitfalls` (those of 09a to 09g), `own` (those of 20), `checking` (the two functions that a notebook
calls).
"""

from explorer.course.checking import check, reveal

__all__ = ["check", "reveal"]
