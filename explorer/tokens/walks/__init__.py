"""The vocabulary as a trie, and the walks over it.

Reading order: `trie` (the vocabulary, and what a token writes), `walk` (the walk from one state:
where each word leads, or at which byte it fails), `finishing` (the states that can finish),
`failing` (where reading fails), `rows` (a table, state by state), `functions` (the fast walk, for
all states at once), `lettered` (the vocabulary with the letters of its words, for the masks of one
machine), `spelling` (bytes as tokens), `tokenizations` (a text as tokens that a machine allows).
"""
