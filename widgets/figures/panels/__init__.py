"""The panels beside the machines: what each shows of a position, as data for the page.

Read in this order: `distribution` (bars), `mask`, `engines` (other engines beside it),
`token_rows` (rows of tokens, which the next two share), `reasons`, `why` (one token explained),
`strip` (the line of tokens), `schemes` (the texts of several schemes), `stack` (of a grammar),
`traps`, `pipeline` (the stages of a constraint), `neighbours` (what a stage of the tokens
refuses), `over_time` (a run as lines), `plotly_figure` (the bars in a notebook without the page).
"""
