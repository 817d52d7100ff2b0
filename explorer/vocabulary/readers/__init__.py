"""One reader for each format of a vocabulary.

Reading order: `huggingface` (every ``tokenizer.json``), `sentencepiece_file`, `rank_files`,
`converted` (all others, by way of transformers).
"""
