"""The site: pages gathered from the repository, built with mkdocs, and checked for lost links.

`make docs` runs `python -m tools.site`. Reading order: `pages` (which file becomes which page, and
how its links are rewritten), `marked` (the differences between GitHub's Markdown and mkdocs'),
`words` (the glossary), `lessons` (notebooks, executed, as pages), `gallery` (runs as replay pages),
`reference` (the pages of the public names), `config` (what mkdocs is told, the navigation
included), `links` (the check of the built pages), and `__main__`, which calls them in this order.
"""
