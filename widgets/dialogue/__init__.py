"""The dialogue between a page and its kernel: what a page may say, and what answers it.

Read in this order: `messages` (what a page may say, as types), `dialogue` (the one table of
messages, and the way of each to the session), `handlers` (one function per message), `later`
(answers that take long, worked out in a thread and called off when no longer wanted).
"""
