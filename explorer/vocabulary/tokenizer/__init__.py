"""A tokenizer's own steps: cutting a text, and the bytes of one piece.

Reading order: `byte_alphabet` (GPT-2's characters for bytes), `decoder` (the bytes of one piece),
`preprocessing` (the normalizer and the pre-tokenizer), `model_facts` (properties of the model),
`encoder` (all steps together, with added tokens).
"""
