"""What a rule of a class says, and the rules; each puts its reason to the engine itself.

Read in this order: `recognised` (tokens, a reason and what shows it), `by_readings` (the constraint
read in another way), `forced_and_trim` (what a token leads to), `past_a_match` (masked past a whole
match of the engine's own pattern), `spellings` (one value of JSON in two spellings), `by_texts`
(whole texts and single characters, put to the engine and to a judge).
"""
