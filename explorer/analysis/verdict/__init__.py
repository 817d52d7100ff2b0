"""The verdict on one token: allowed or masked, at which stage, at which byte.

Read in this order: `asked` (what a user asked about, checked), `sorted_tokens` and
`background` (what the explanations of one machine share), `verdict`.
"""
