"""Other engines at the same state: their masks beside ours, and every difference explained.

Read in this order: `engines` (how each of the others is spoken to), `messages` (what goes to a
process and back), `engine_process` (what runs in it), `process` (started, asked, limited, ended;
scripts as well), `asking` (a constraint as the others read it), `rollbacks` (drafts that are taken
and taken back), `answers` (masks side by side as a value and as text), `judging` (who is right
about a text), `comparison` (ours and one engine's at a state), `plain_patterns` and `variants` (a
constraint as another engine may read it), `rules` (what recognises a difference, each tested on the
engine), `witness` (one state); then `shrinking` (a shorter constraint with the same difference),
`report` (a difference for an issue tracker, with its script), and `disagreements` (the walk that
looks for them).
"""
