"""Language models: the protocol, and the implementations that the toolkit has.

Read in this order: `model` (the protocol), `arguments` (prompts, tokens, ids and logits, checked),
`chat` (messages as ids), `huggingface` (a transformer and its key-values), `row_by_row`
and `huggingface_batch` (a batch), `checkpoint` (a configuration and weights, checked), `load`
(finds a model and opens it once), `embedded`, `tiny`, `tiny_sp`, `tiny_draft` and `tiny_chat` (the
models shipped with the package), `compression` (a model without weights).
"""
