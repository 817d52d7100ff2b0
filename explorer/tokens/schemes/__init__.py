"""Ways of constraining that see less than the text: machines to compare with.

After Beurer-Kellner, Fischer, Vechev, "Guiding LLMs The Right Way" (2024). Read in this order:
`terminals` (a grammar over terminals, each a regex, its parser, and two examples), `subterminals`
(how tokens are cut at the borders of terminals, as a tree), `lookahead` (tokens that cross at most
k borders), `fixed` (templates whose text is tokenized outside of the model), `templates` (from a
template to such a machine, also with its white space left to the model). Each scheme is a language
and a filter of the tokens that write it (`explorer.tokens.filtered`): it never writes another text
than the language has.
"""
