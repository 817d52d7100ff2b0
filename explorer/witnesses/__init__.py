"""Other engines at the same state: their masks beside ours, and every difference explained.

Read in this order: `engines` (one adapter for each of the others), `messages` (requests to an
engine's process, and its replies), `engine_process` (the program that runs there), `process`
(starts, asks, limits and ends it), `asking` (a constraint as the others read it), `answers` (masks
side by side as values and as text), `judging` (independent parsers that say who is right about a
text), `readings` (a constraint as another engine may read it), `reasons` (each reading tested on
the engine), `witness` (one state), `disagreements` (a random walk that looks for differences).
"""
