"""Libraries that read tokenizers, and what is checked before they do.

Reading order: `library` (imported when first needed, their errors as ours), `charsmap` and `limits`
(declarations that are refused before a library sees them).
"""
