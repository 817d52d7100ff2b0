"""Other engines at the same state: their masks beside ours, and every difference explained.

Read in this order: `engines` (one adapter for each of the others), `messages` (requests to an
engine's process, and its replies), `engine_process` (the program that runs there), `process`
(starts, asks, limits and ends it; runs scripts as well), `asking` (a constraint as the others read
it), `rollbacks` (drafts that are accepted and rolled back), `answers` (masks side by side as values
and as text), `judging` (independent parsers that say who is right about a text), `comparison` (our
mask and one engine's at a state), `plain_patterns` and `variants` (a constraint as another engine
may read it), `rules` (each recognises one reason for a difference and tests it on the engine),
`witness` (one state); then `shrinking` (a shorter constraint with the same difference), `report` (a
difference for an issue tracker, with its script), and `disagreements` (a random walk that looks for
differences).
"""
