"""Explanations: a verdict with everything that follows from it.

Read in this order: `answer` (what every explanation has), `text` (without a tokenizer),
`limits` (the token budget and the sampler), `explanation` (one token), `groups` (a whole mask),
`step` (at a position of a session or a trace).
"""
