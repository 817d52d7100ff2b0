"""The widgets themselves.

Read in this order: `bundle` (their ES modules), `view` (what they share), `explorer`, `parts`,
`compare`,
`invasiveness`.
"""
