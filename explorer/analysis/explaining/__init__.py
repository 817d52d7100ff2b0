"""Explanations: a verdict with everything that follows from it.

Read in this order: `answer` (what every explanation has), `text` (without a tokenizer),
`limits` (the token budget and the sampler), `searched` (what must be searched for), `explanation`
(one token), `groups` (a whole mask), `step` (at a position of a session or a trace).
"""
