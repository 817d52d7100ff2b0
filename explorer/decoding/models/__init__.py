"""Language models: what the toolkit asks of one, and where one comes from.

Read in this order: `model` (the protocol), `arguments` (prompts, tokens, ids and logits, checked),
`chat` (messages as ids), `huggingface` and `key_values` (a transformer and its cache), `row_by_row`
and `huggingface_batch` (a batch), `checkpoint` (a configuration and weights, checked), `load` (find
one and open it, once), `embedded`, `tiny`, `tiny_sp`, `tiny_draft` and `tiny_chat` (the models that
travel with the package), `compression` (a model without weights).
"""
