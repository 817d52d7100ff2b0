"""Explanations: a verdict with everything that follows from it.

Read in this order: `answer` (what every explanation has, and a text without a tokenizer),
`searched` (what must be searched for, and what a session's budget and sampler remove),
`explanation` (one token), `groups` (a whole mask), `step` (at a position of a session or a
trace).
"""
