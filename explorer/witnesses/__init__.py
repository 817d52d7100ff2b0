"""Other engines at the same state: their masks beside ours, and every difference explained.

Read in this order: `engines` (how each of the others is spoken to), `messages` (what goes to a
process and back), `engine_process` (what runs in it), `process` (started, asked, limited, ended),
`asking` (a constraint as the others read it), `answers` (masks side by side as a value),
`gbnf_recognizer` and `judging` (who is right about a text), `comparison` (ours and one engine's at
a state), `readings` (a constraint as another engine may read it), `rules` (what recognises a
difference, each tested on the engine), `classes` (the registry of classes of differences),
`witness` (one state), `table` (the value as text); then `shrinking` (a shorter constraint with the
same difference), `script`, `script_runs` and `report` (a difference for an issue tracker), and
`disagreements` (the walk that looks for them).
"""
