"""The verdict on one token: allowed or masked, at which stage, at which byte.

Read in this order: `asked` (checks of a user's question), `background` (the shared data of a
machine's explanations), `verdict`.
"""
