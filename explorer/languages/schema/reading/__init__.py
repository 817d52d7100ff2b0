"""The front end of schemas: everything that is read before a machine is built.

Read in this order: `text` (from JSON text to data, and the places in a text), `subschemas` (a part
of a schema, its address, its references), `keywords` (one part, read by the rules of its draft;
equal parts are made one object), `cases` (the alternatives of a part, each without choices).
"""
