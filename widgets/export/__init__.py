"""The lasting forms of an explorer: the still below it, and the stand-alone page.

Read in this order: `still`, `export`.
"""
