"""Calls of tools: OpenAI's ``tools`` and ``tool_choice`` in the markup of a model.

Reading order: `styles` (markups of our own), `markups` (a model's structural tag), `source` (the
kind of source), `functions` (what users call).
"""
