"""Items that come once, where there are too many to draw a state for each set of them.

Reading order: `reading` (the JSON of open arrays, read byte by byte, and its values) and `machine`
(the kind of a discovered machine that remembers them).
"""
