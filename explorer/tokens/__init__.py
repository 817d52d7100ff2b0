"""Token-level machines: the composition of a constraint with a vocabulary, as decoding uses it.

Reading order: `words` (sentinel states, packed masks), `machine` (the protocol),
`walks` (the vocabulary as a trie, and walks over it), `saturation` (the reductions of a push-down
automaton that tokens can finish), `closed_form` (compose, trim, tabulate) with `token_dfa`; `lazy`
(without a table, and without a constraint); `filtered` (masks that depend on the tokens before),
then `lost`, `report`, `control` (control tokens looked up
by name), `through` (a transducer in place of the usual one) and `compile` (constraint and
vocabulary in, machine out), `shared` (one machine for equal constraints); `masks` (on a device) and
`schemes` (machines to compare with).
"""
