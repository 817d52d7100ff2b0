"""The stages of a constraint: what happens to a pattern on its way to a token machine.

    pattern → stages of the text → the vocabulary's tokens → stages of the tokens

Reading order: `stage` (what a stage is, and the one registry of them), `staged` (a source with a
stage around it), then one file per kind of stage: `valid`,
`restricted` and `normalized` (of the text; `characters` writes their machines over bytes) and
`canonical` and `spellings` (of the tokens), and `methods` (what users call).
"""
