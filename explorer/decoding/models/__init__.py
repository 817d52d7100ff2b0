"""Language models: the protocol, and the implementations that the toolkit has.

Read in this order: `model` (the protocol), `arguments` (prompts, tokens, ids and logits, checked),
`chat` (messages as ids), `replayed` (a step in a CUDA graph), `static` (a batch in fixed buffers),
`huggingface` (a transformer with its key-values, and a batch of texts) and `huggingface_folder`
(opens one), `row_by_row` (a batch that reads text by text), `load` (finds a model and opens it
once), `embedded`, `tiny`, `tiny_sp`, `tiny_draft` and `tiny_chat` (the models shipped with the
package).
"""
