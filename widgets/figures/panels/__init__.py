"""The panels beside the machines: the data of each for a position, for the page.

Read in this order: `mask` (with other engines beside it), `tokens` (bars, rows of tokens, the line
of tokens, the run as lines), `along` (the machines on the axis of the text), `phases` (of a run),
`ahead` (the look after a likely token), `reasons` (the reasons for a mask and for one token,
traps), `schemes` (the texts of several schemes), `stack` (of a grammar), `pipeline` (the stages of
a constraint, and the tokens that a stage refuses), `plotly_figures` (the lines of a run and the
bars of a position in a notebook without the page).
"""
