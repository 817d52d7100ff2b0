"""Sweeps: many prompts through constraints, models, samplers and seeds, into one table.

Read in this order: `models` (what is opened, and its digest), `grid` (what is asked for, and the
key of each row), `batch` (texts that are written and measured abreast), `arrow` (the columns),
`worker` (a batch becomes rows), `places` (where batches run), `known` (what a table knows of its
sweep), `folder` (partitioned Parquet), `progress`, `sweep` (all of that), `plan` (what a large one
will cost); then what a table says: `summary` (its figures), `attribution` (what the parts of a
constraint cost), `report` (as a page).

pyarrow, dask and distributed come with the extra `sweeps`; without them this imports, and the
functions that need them say so.
"""
