"""Tools as people have them: OpenAI's ``tools`` and ``tool_choice`` in the markup of a model.

Reading order: `markups` (a model's structural tag, from xgrammar), `source` (what it becomes),
`functions` (what users call).
"""
