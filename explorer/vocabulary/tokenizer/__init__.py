"""A tokenizer's own steps: how it cuts a text, and what one piece of it writes.

Reading order: `byte_alphabet` (GPT-2's characters for bytes), `decoder` (the bytes of one piece),
`preprocessing` (what is done to a text before its model cuts it), `model_facts` (what the model
says about itself), `encoder` (added tokens and all of that, on a text).
"""
