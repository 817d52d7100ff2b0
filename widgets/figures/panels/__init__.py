"""The panels beside the machines: the data of each for a position, for the page.

Read in this order: `mask` (with other engines beside it), `tokens` (bars, rows of tokens, the line
of tokens), `along` (the machines on the axis of the text), `phases` (of a run), `ahead` (the look
after a likely token), `reasons` (the reasons for a mask and for one token, traps), `schemes` (the
texts of several schemes), `stack` (of a grammar), `pipeline` (the stages of a constraint, and the
tokens that a stage refuses), `over_time` (a run as lines, also in a notebook without the page),
`step_figure` (the bars of one position likewise).
"""
