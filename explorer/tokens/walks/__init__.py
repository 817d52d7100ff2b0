"""The vocabulary as a trie, and the walks over it.

Reading order: `trie` (the vocabulary, and the symbols that a token writes; with the letters of its
words, for the masks of one machine), `walk` (the walk from one state: the target of each word, or
its failing byte), `finishing` (the states that can finish), `failing` (the bytes at which words
fail), `rows` (a table, state by state; `closed_form` has the fast walk for all states at once),
`spelling` (bytes as tokens), `tokenizations` (a text as tokens that a machine allows).
"""
