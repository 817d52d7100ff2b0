"""A source as it was written, and the places in it that a text has reached.

Read in this order: `configuration` (the source as states and arcs that know their origin, and the
configuration after a text: what may be read next, where that was written, and on which stack),
`derivation` (the rules that the text has opened and closed).
"""
