"""Sweeps: many prompts through constraints, models, samplers and seeds, into one table.

Read in this order: `models` (a model and its digest), `grid` (the rows of a sweep, each with its
key), `batch` (texts that are generated and measured together), `worker` (turns a batch into rows),
`folder` (Parquet, written whole), `sweep` (the whole run, here or on Dask), `report` (summary
figures of a table, and the cost of each part of a constraint).

pyarrow, dask and distributed come with the extra `sweeps`; without them this imports, and the
functions that need them say so.
"""
