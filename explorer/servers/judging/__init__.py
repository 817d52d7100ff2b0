"""From a run to a verdict: what was written, how far the constraint follows it, and in words.

Read in this order: `identifying` (which ids a run has, or that its text is what is known),
`following` (how far a token machine follows it), `reasoning` (the markers of reasoning in a text),
`sentences` (the outcome in words), `verdict` (all of it, and the session that shows it).
"""
