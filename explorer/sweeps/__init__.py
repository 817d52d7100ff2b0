"""Sweeps: many prompts through constraints, models, samplers and seeds, into one table.

Read in this order: `models` (a model and its digest), `grid` (the rows of a sweep, each with its
key), `batch` (texts that are generated and measured together), `worker` (turns a batch into rows),
`places` (processes, executors and clusters that run batches), `folder` (partitioned Parquet with a
description of its sweep), `sweep` (the whole run, with its progress), `plan` (the cost of a large
sweep), `report` (summary figures of a table, the cost of each part of a constraint, and an HTML
page).

pyarrow, dask and distributed come with the extra `sweeps`; without them this imports, and the
functions that need them say so.
"""
