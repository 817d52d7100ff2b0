"""Language models: what the toolkit asks of one, and where one comes from.

Read in this order: `model` (the protocol), `arguments` (prompts, ids and logits, checked), `prefix`
(what an answer begins with), `huggingface` and `key_values` (a transformer and its cache),
`row_by_row` and `huggingface_batch` (a batch), `settings`, `checkpoint` and `misfits` (a
configuration and weights, checked), `opening` (one at a time, and once), `load` (find one and open
it), `embedded`, `tiny`, `tiny_sp` and `tiny_draft` (the models that travel with the package),
`compression` (a model without weights).
"""
