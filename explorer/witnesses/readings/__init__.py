"""The constraint as another engine may read it: written anew with one change, for us and for it.

Read in this order: `rust_classes` (classes of Rust in Python's syntax), `spelled_out` (a pattern
that every engine reads alike), `variants` (the changes that are tried).
"""
