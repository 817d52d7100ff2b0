"""Token-level machines: the composition with a vocabulary, and what decoding asks of it.

Reading order: `words` (states that are not in a machine, and masks as packed words), `machine` (the
protocol), `walks` (the vocabulary as a trie, and walks over it), `saturation` (what can be finished
on a stack), `closed_form` (trim and tabulate) with `token_dfa`; without a table `numbered_places`
(without a constraint as well) and `lazy`; `filtered` (by what the tokens before allow), then
`lost`, `report`, `control` (control tokens looked up in a vocabulary), `through` (another
transducer in place of the usual one) and `compile` (constraint and vocabulary in, machine out),
`shared` (one machine for equal constraints); `masks` (on a device) and `schemes` (machines to
compare with).
"""
