"""The dialogue between a page and its kernel: the messages of a page, and their answers.

Read in this order: `messages` (the messages as types), `dialogue` (the table of messages, and the
path of each to the session), `handlers` (one function per message), `later` (answers that take
long, computed on a thread and cancelled when no longer wanted).
"""
