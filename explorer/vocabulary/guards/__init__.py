"""Calls of the libraries that read tokenizers, and checks of their input.

Reading order: `library` (imports libraries on first use and converts their errors), `charsmap` and
`limits` (checks that refuse a declaration before a library sees it).
"""
