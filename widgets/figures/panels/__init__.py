"""The panels beside the machines: what each shows of a position, as data for the page.

Read in this order: `mask` (with other engines beside it), `tokens` (bars, rows of tokens, the line
of tokens), `along` (the machines on the axis of the text), `phases` (of a run), `ahead` (what comes
after a likely token), `reasons` (why tokens are masked, one explained, traps), `schemes` (the texts
of several schemes), `stack` (of a grammar), `pipeline` (the stages of a constraint, and what a
stage of the tokens refuses), `over_time` (a run as lines, also in a notebook without the page),
`step_figure` (the bars of one position likewise).
"""
