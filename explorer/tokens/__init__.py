"""Token-level machines: the composition of a constraint with a vocabulary, as decoding uses it.

Reading order: `words` (sentinel states, and masks as packed words), `machine` (the protocol),
`walks` (the vocabulary as a trie, and walks over it), `saturation` (the reductions of a push-down
automaton that tokens can finish), `closed_form` (trim and tabulate) with `token_dfa`; without a
table `numbered_places` (which also has the machine without a constraint) and `lazy`; `filtered`
(masks that depend on the tokens before), then `lost`, `report`, `control` (control tokens looked up
by name), `through` (a transducer in place of the usual one) and `compile` (constraint and
vocabulary in, machine out), `shared` (one machine for equal constraints); `masks` (on a device) and
`schemes` (machines to compare with).
"""
