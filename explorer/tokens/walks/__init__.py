"""The vocabulary as a trie, and the walks over it.

Reading order: `trie` (the vocabulary, and the symbols that a token writes), `walk` (the walk from
one state: the target of each word, or its failing byte), `finishing` (the states that can finish),
`failing` (the bytes at which words fail), `rows` (a table, state by state), `functions` (the fast
walk, for all states at once), `lettered` (the vocabulary with the letters of its words, for masks
of one machine), `spelling` (bytes as tokens), `tokenizations` (a text as tokens that a machine
allows).
"""
