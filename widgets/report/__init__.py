"""The report of a sweep: one HTML file that shows what many runs say together, and opens the worst.

Read in this order: `figures` (figures as data for plotly, each with its text and its table),
`replays` (a row as a stand-alone replay page), `report_page` (all of it as one file).
"""
