"""The front end of schemas: everything that is read before a machine is built.

Read in this order: `text` (from JSON text to data, and the places in a text), `folder` (the schemas
to which references may lead), `subschemas` (a part of a schema, checked: its keywords, its address,
its references; equal parts are made one object), `openapi` (schemas of OpenAPI 3.0 as those of
draft 4), `cases` (what the keywords of a draft say, and the alternatives of a part, each without
choices).
"""
