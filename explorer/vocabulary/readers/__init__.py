"""One reader for each format of a vocabulary.

Reading order: `huggingface` (every ``tokenizer.json``), `sentencepiece_file`, `rank_files`,
`gguf_file`, `converted` (all others, by way of transformers).
"""
