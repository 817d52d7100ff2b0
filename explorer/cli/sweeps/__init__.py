"""The commands for many prompts: `sweep` (also ``explorer report``)."""
