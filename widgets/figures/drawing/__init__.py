"""The parts that drawings are made of.

In reading order: `labels` (words), `geometry` (shapes, and a drawing in its frame), `columns`
(where states stand, with Graphviz), `placing` and `routing` (labels and curves), `layout` (a whole
drawing, and the tree of prefixes), `svg` (as a picture).
"""
