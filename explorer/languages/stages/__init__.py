"""The stages of a constraint: machines and relations with which it is composed.

    pattern → stages of the text → the vocabulary's tokens → stages of the tokens

Reading order: `stage` (what a stage is, and the one registry of them), `staged` (a source with a
stage around it), `methods` (what users call), then one file per kind of stage. Of the text:
`restricted`, `normalized` (`forms` has the normal forms of all of Unicode) and `preprocessed`
(`declared` reads a tokenizer's steps, `relation` is a step as a transducer, `normalizing` one that
is asked for each text). Of the tokens: `tokens`.
"""
