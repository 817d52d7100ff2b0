"""Bytes as a person reads them.

Read in this order: `display` (whole and half characters, sets in few words), `view` (the
characters that a byte machine can read), `kinds` (letters, digits, white space).
"""
