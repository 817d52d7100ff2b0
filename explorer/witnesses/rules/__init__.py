"""The rules that recognise the reason for a difference; each tests its reason on the engine.

Read in this order: `by_masks` (rules that ask for further masks: another reading of the constraint,
the states after a token, tokens masked past a whole match), `by_texts` (rules that give whole texts
or single characters to the engine and to a judge), `classes` (the registry and the order of the
rules).
"""
