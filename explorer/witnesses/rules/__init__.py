"""What a rule of a class says, and the rules that are longer than a page.

Read in this order: `recognised` (tokens, a reason and what shows it), `past_a_match` (masked past a
whole match of the engine's own pattern), `spellings` (one value of JSON in two spellings).
"""
