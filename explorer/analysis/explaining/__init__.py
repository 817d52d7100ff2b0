"""Explanations: a verdict with its place in the source, its wording and its searches.

Read in this order: `answer` (the common base, HTML, and the explanation of a text without a
tokenizer), `searched` (the results of searches, and what a session's budget and sampler remove),
`explanation` (one token), `groups` (a whole mask), `step` (at a position of a session or a trace).
"""
