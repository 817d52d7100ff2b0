"""The making of the embedded model, from a seed to its weights and its card.

Read in this order: `facts`, `documents`, `exchanges`, `records`, `corpus` (the texts),
`train_tokenizer`, `train` (tokenizer and weights), `probe`, `evaluate` (the figures of the card).
"""
