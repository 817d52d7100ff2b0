"""The reading of a schema, before a machine is made of it.

Read in this order: `text` (from JSON text to data), `subschemas` (a part of a schema, its address,
its references), `addresses` (the fault that keeps addresses from being read), `keywords` (one part,
read by the rules of its draft; equal parts are one), `apart` (two parts that have no value in
common), `cases` (the alternatives of a part, each without choices).
"""
