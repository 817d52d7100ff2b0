"""The parts that drawings are made of.

In reading order: `labels` (words), `palette`, `geometry` (shapes), `dot`, `columns` and `tree`
(where states stand), `placing` and `routing` (labels and curves), `frame` and `layout` (a whole
drawing), `svg` (as a picture).
"""
