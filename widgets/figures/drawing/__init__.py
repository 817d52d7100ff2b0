"""The parts of drawings.

In reading order: `labels` (words), `geometry` (shapes, and a drawing in its frame), `columns`
(the places of states, with Graphviz), `placing` and `routing` (labels and curves), `layout` (a
whole drawing, and the tree of prefixes), `svg` (the picture).
"""
