"""Calls of tools: OpenAI's ``tools`` and ``tool_choice`` in the markup of a model.

Reading order: `markups` (a model's structural tag, from xgrammar), `source` (the kind of source),
`functions` (what users call).
"""
