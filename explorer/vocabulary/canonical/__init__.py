"""Which token sequences a tokenizer itself would write: its canonical sequences.

Reading order: `merges` (byte-pair encoding as a relation between neighbours), `patterns` (the
pattern that cuts a text into words, as a small program), `marked` (texts with the cuts marked, as
an automaton) and `rules` (what of a tokenizer decides, read from the tokenizer).
"""
