"""The stages of a constraint: what happens to a pattern on its way to a token machine.

    pattern → stages of the text → the vocabulary's tokens → stages of the tokens

Reading order: `stage` (what a stage is, and the one registry of them), `staged` (a source with a
stage around it), `methods` (what users call), then one file per kind of stage. Of the text:
`valid`, `restricted`, `normalized` (`characters` and `character_table` write their machines over
bytes, `normal_forms` has those of all of Unicode) and `preprocessed` (`declared` reads a
tokenizer's steps, `relation` is a step as a transducer). Of the tokens: `canonical` and
`spellings`.
"""
