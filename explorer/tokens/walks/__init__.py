"""The vocabulary as a trie, and the walks over it.

Reading order: `trie`, `written` (what a token writes), `arrays` (a byte machine for the kernels),
`functions` (the fast walk, for all states at once), `rows` (the plain one, state by state),
`lettered` (the vocabulary with the letters of its words, for the walk from one state), `spelling`
(bytes as tokens), `tokenizations` (a text as tokens that a machine allows), `finishing` (which
states can finish), `failing` (where reading fails).
"""
