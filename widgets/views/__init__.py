"""The widgets themselves.

Read in this order: `bundle` (their ES modules), `view` (what they share), `explorer` (with its
parts), `compare`, `invasiveness`.
"""
