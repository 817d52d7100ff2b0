"""Token-level machines: the composition with a vocabulary, and what decoding asks of it.

Reading order: `states`, `trie`, `functions` (the fast walk), `rows` (the plain one),
`assemble` (trim and tabulate), `compile`, `token_dfa`; without a table `numbered_places` and
`lazy`; then `lost`, `report` and `store`.
"""
