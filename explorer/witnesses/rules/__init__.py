"""The rules of the classes of differences; each puts its reason to the engine itself.

Read in this order: `by_masks` (the constraint read in another way, what a token leads to, what is
masked past a whole match), `by_texts` (whole texts and single characters, put to the engine and to
a judge), `classes` (the registry, and the order in which the rules are asked).
"""
