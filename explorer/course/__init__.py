"""The checks of the course, which its notebooks call.

    from explorer import course
    course.check("spellings", 8)

A wrong answer gets a hint that does not reveal the right one. Reading order: `exercise` (kinds
of answers, and their grading), `transducers` (an answer that is a machine), `foundations` (the
exercises of the notebooks 00 to 05, 07, 08 and 20), `pitfalls` (those of 06 and of 09a to 09f),
`beyond` (10 to 15 and 30), `checking` (the two functions that a notebook calls).
"""

from explorer.course.checking import check, reveal

__all__ = ["check", "reveal"]
