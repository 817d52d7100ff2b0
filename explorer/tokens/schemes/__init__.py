"""Schemes of constraining that see less than the text: machines to compare with.

After Beurer-Kellner, Fischer, Vechev, "Guiding LLMs The Right Way" (2024). Read in this order:
`terminals` (a grammar over terminals, each a regex, its parser, and two examples), `subterminals`
(tokens cut at the borders of terminals, as a tree), `lookahead` (tokens that cross at most k
borders), `fixed` (templates whose text is tokenized outside of the model), `templates` (from a
template to such a machine, optionally with its white space left to the model). Each scheme is a
language and a filter over its tokens (`explorer.tokens.filtered`), so all its texts are texts of
the language.
"""
