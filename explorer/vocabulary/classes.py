"""The tokenizer classes of transformers: the files that each reads, and the names it reserves.

A folder names its class, and the class determines its files. Other files in the folder are left
over from another model, or the class's own were not downloaded; reading them would give every id
the bytes of another model. So a reader calls `check_files` first.

A class that is not listed here (a model's own code) may read anything and is not checked. Nor are
``tokenizer.json``, ``tekken.json`` and RWKV's list, which define the bytes of each id themselves.

Source: transformers, the classes of these names: their ``vocab_files_names`` and default arguments;
``models/auto/tokenization_auto.py`` for the class of each type of model.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from explorer.errors import UnsupportedTokenizer

SENTENCEPIECE: Final = "a SentencePiece model"
TABLE: Final = "a table of ids beside a SentencePiece model"
BYTE_MERGES: Final = "byte-level pieces with their merges"
ENDED_MERGES: Final = "pieces that end a word in '</w>', with their merges"
CONTINUED_MERGES: Final = "pieces marked with '@@', with their merges"
SPACED_MERGES: Final = "pieces with '▁' for a space, with their merges"
LINES: Final = "one piece a line"
RANKS: Final = "tiktoken's list of byte pairs"

_FILES: Final[Mapping[str, str]] = {
    SENTENCEPIECE: "a SentencePiece model such as spiece.model, tokenizer.model or "
    "sentencepiece.bpe.model",
    TABLE: "vocab.json beside a SentencePiece model",
    BYTE_MERGES: "byte-level vocab.json with merges.txt",
    ENDED_MERGES: "vocab.json with merges.txt, where '</w>' ends a word",
    CONTINUED_MERGES: "pieces marked with '@@' and their merges",
    LINES: "vocab.txt",
}

_READERS: Final[Mapping[str, str]] = {
    SENTENCEPIECE: "Albert Baichuan Barthez Bartpho BertGeneration BigBird Camembert ChatGLM "
    "CodeLlama Cpm DebertaV2 FNet GPTSw3 Gemma InternLM InternLM2 Lasr LayoutXLM Llama MBart "
    "MBart50 MLuke MT5 Nllb PLBart Parakeet Pegasus Reformer RemBert SeamlessM4T Siglip Siglip2 "
    "SpeechT5 T5 Tipsv2 Udop VideoPrism XGLM XLMProphetNet XLMRoberta XLMRobertaXL XLNet Yi",
    TABLE: "ErnieM M2M100 Marian SMALL100 Speech2Text",
    BYTE_MERGES: "Bart Blenderbot Bloom CodeGen Cohere Deberta GPT2 GPTNeoX LED LayoutLMv3 "
    "Longformer Luke MarkupLM Mvp Nougat Qwen2 Qwen3_5 Roberta Whisper",
    ENDED_MERGES: "BioGpt CLIP FSMT Flaubert Herbert OpenAIGPT XLM",
    CONTINUED_MERGES: "BlenderbotSmall CTRL",
    SPACED_MERGES: "CodeLlama Gemma Llama",
    LINES: "Bert BertJapanese Bertweet ConvBert CpmAnt DPRContextEncoder DPRQuestionEncoder "
    "DPRReader DistilBert Electra ErnieM Esm Funnel GPTNeoXJapanese LayoutLM LayoutLMv2 Lxmert "
    "MPNet MobileBert Nystromformer Phobert Realm RetriBert RoCBert RoFormer Splinter SqueezeBert "
    "Tapas TransfoXL",
    RANKS: "Bart Bloom ChatGLM CodeGen CodeLlama Cohere GPT2 GPTNeoX Llama Qwen2 Qwen3_5 Roberta "
    "Whisper",
}

_LETTERS: Final = (
    "its decoder merges letters that are repeated and drops the blank one, so an id has no bytes "
    "of its own"
)
_BYTES: Final = "it reads no files: its ids are bytes, after a few special tokens"
UNREAD_CLASSES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "ByT5Tokenizer": _BYTES,
        "CanineTokenizer": "it reads no files: its ids are the code points of characters",
        "ClvpTokenizer": "it reads text aloud, and writes spaces as '[SPACE]'",
        "DiaTokenizer": _BYTES,
        "EsmcTokenizer": "its pieces are letters of proteins",
        "FastSpeech2ConformerTokenizer": "its pieces are sounds",
        "MgpstrTokenizer": "its table of characters does not say what stands between two of them",
        "MyT5Tokenizer": "its ids are bytes of a text that was rewritten by byte_maps.json",
        "PerceiverTokenizer": _BYTES,
        "Pop2PianoTokenizer": "its pieces are notes of music",
        "ProphetNetTokenizer": "its file prophetnet.tokenizer is of a format of its own",
        "VitsTokenizer": "its pieces are sounds",
        "Wav2Vec2CTCTokenizer": _LETTERS,
        "Wav2Vec2PhonemeCTCTokenizer": _LETTERS,
    }
)
"""The classes whose files are not supported, each with the reason."""

# The default special tokens of a class.
_NAMES: Final[Mapping[str, str]] = {
    "bos=[CLS] eos=[SEP] unk=<unk> sep=[SEP] pad=<pad> cls=[CLS] mask=[MASK]": "Albert FNet "
    "RemBert",
    "bos=<s> eos=</s> unk=<unk> sep=</s> pad=<pad> cls=<s> mask=<mask>": "Bart Barthez Bartpho "
    "Bertweet Blenderbot Camembert LED LayoutLMv3 LayoutXLM Longformer Luke MBart MLuke MarkupLM "
    "Mvp Nllb PLBart Phobert Roberta XLMRoberta XLMRobertaXL",
    "bos=<s> eos=</s> unk=<unk> sep=<::::> pad=<pad>": "BertGeneration",
    "unk=[UNK] sep=[SEP] pad=[PAD] cls=[CLS] mask=[MASK]": "Bert BertJapanese ConvBert "
    "DPRContextEncoder DPRQuestionEncoder DPRReader DistilBert Electra LayoutLM LayoutLMv2 Lxmert "
    "MobileBert Nystromformer Realm RetriBert RoCBert RoFormer Splinter SqueezeBert Tapas",
    "bos=<s> eos=</s> unk=<unk> sep=[SEP] pad=<pad> cls=[CLS] mask=[MASK]": "BigBird",
    "bos=<s> eos=</s> unk=<unk> sep=</s> pad=<pad>": "BioGpt M2M100 SMALL100",
    "bos=__start__ eos=__end__ unk=__unk__ pad=__null__": "BlenderbotSmall",
    "eos=</s> unk=<unk> pad=<pad>": "Lasr MT5 Marian T5 VideoPrism",
    "bos=<|startoftext|> eos=<|endoftext|> unk=<|endoftext|> pad=<|endoftext|>": "CLIP "
    "GPTNeoXJapanese",
    "unk=<unk>": "CTRL OpenAIGPT",
    "bos=<|endoftext|> eos=<|endoftext|> unk=<|endoftext|>": "CodeGen GPT2 Whisper",
    "bos=<s> eos=</s> unk=<unk>": "CodeLlama Llama",
    "bos=<BOS_TOKEN> eos=<|END_OF_TURN_TOKEN|> unk=<UNK> sep=<SEP> pad=<PAD> cls=<CLS> "
    "mask=<MASK_TOKEN>": "Cohere",
    "bos=<s> eos=</s> unk=<unk> pad=<pad>": "CpmAnt Nougat Speech2Text SpeechT5",
    "bos=<s> eos=</s> unk=<unk> sep=<sep> pad=<pad> cls=<cls> mask=<mask>": "Cpm Funnel XLNet",
    "bos=[CLS] eos=[SEP] unk=[UNK] sep=[SEP] pad=[PAD] cls=[CLS] mask=[MASK]": "Deberta DebertaV2",
    "eos=<eos> unk=<unk> pad=<pad> cls=<cls> mask=<mask>": "Esm",
    "bos=<s> unk=<unk> sep=</s> pad=<pad>": "FSMT",
    "bos=<s> unk=<unk> sep=</s> pad=<pad> cls=</s> mask=<special1>": "Flaubert XLM",
    "bos=<|endoftext|> eos=<|endoftext|> unk=<|endoftext|> pad=<|padding|>": "GPTNeoX",
    "bos=<bos> eos=<eos> unk=<unk> pad=<pad> mask=<mask>": "Gemma Siglip2",
    "unk=<unk> sep=</s> pad=<pad> cls=<s> mask=<mask>": "Herbert",
    "eos=</s> unk=<unk> sep=</s> pad=<pad> cls=<s> mask=<mask>": "MBart50",
    "bos=<s> eos=</s> unk=[UNK] sep=</s> pad=<pad> cls=<s> mask=<mask>": "MPNet",
    "eos=</s> unk=<unk> pad=<pad> mask=<mask_2>": "Pegasus",
    "eos=<|endoftext|> unk=<|endoftext|> pad=<|endoftext|>": "Qwen2 Qwen3_5",
    "eos=</s> unk=<unk>": "Reformer",
    "bos=<s> eos=</s> unk=<unk> sep=</s> pad=<pad> cls=<s>": "SeamlessM4T XGLM",
    "eos=</s> unk=<unk> pad=</s>": "Siglip",
    "unk=<unk> pad=<pad>": "Tipsv2",
    "eos=</s> unk=<unk> sep=</s> pad=<pad>": "Udop",
}

_TIDIED: Final = (
    "BertGeneration BertJapanese BlenderbotSmall CTRL Flaubert GPTSw3 Luke M2M100 MLuke Marian "
    "PLBart RoCBert SMALL100 Siglip Speech2Text SpeechT5 Tapas XLM"
)

# The class that transformers uses by default for types of models whose folders often lack a
# tokenizer_config.json, or have one that names no class.
_TYPES: Final[Mapping[str, str]] = {
    "Albert": "albert yoso",
    "Bart": "bart florence2",
    "Barthez": "barthez",
    "Bartpho": "bartpho",
    "Bert": "align bark bert blip bros chinese_clip ernie flava git grounding-dino megatron-bert "
    "mm-grounding-dino nezha nomic_bert qdqbert tvp vilt visual_bert",
    "BertGeneration": "bert-generation",
    "BertJapanese": "bert-japanese",
    "Bertweet": "bertweet",
    "BigBird": "big_bird",
    "BioGpt": "biogpt",
    "Blenderbot": "blenderbot",
    "BlenderbotSmall": "blenderbot-small",
    "ByT5": "byt5",
    "CLIP": "aimv2 clip clip_text_model clipseg groupvit omdet-turbo oneformer owlv2 owlvit sam3 "
    "sam3_video xclip",
    "CTRL": "ctrl",
    "Camembert": "camembert",
    "Canine": "canine",
    "Clvp": "clvp",
    "CodeGen": "codegen",
    "CodeLlama": "code_llama",
    "Cohere": "aya_vision cohere cohere2",
    "ConvBert": "convbert",
    "Cpm": "cpm",
    "CpmAnt": "cpmant",
    "DPRQuestionEncoder": "dpr",
    "Deberta": "deberta",
    "DebertaV2": "deberta-v2",
    "Dia": "dia",
    "DistilBert": "distilbert",
    "Electra": "electra",
    "Esm": "esm",
    "FNet": "fnet",
    "FSMT": "fsmt",
    "Flaubert": "flaubert",
    "Funnel": "funnel",
    "GPT2": "blip-2 dbrx emu3 gpt2 gpt_neo gptj instructblip instructblipvideo jais2 opt phi "
    "starcoder2",
    "GPTNeoX": "falcon_mamba gpt_neox mamba mamba2 mpt olmo olmoe xlstm",
    "GPTNeoXJapanese": "gpt_neox_japanese",
    "GPTSw3": "gpt-sw3",
    "Gemma": "gemma gemma2 gemma3 gemma3_text gemma3n gemma3n_text recurrent_gemma shieldgemma2 "
    "t5gemma",
    "Herbert": "herbert",
    "LED": "led",
    "LayoutLM": "layoutlm",
    "LayoutLMv2": "layoutlmv2",
    "LayoutLMv3": "layoutlmv3",
    "LayoutXLM": "layoutxlm",
    "Llama": "idefics idefics2",
    "Longformer": "longformer",
    "Luke": "luke",
    "Lxmert": "lxmert",
    "M2M100": "m2m_100",
    "MBart": "mbart",
    "MBart50": "mbart50",
    "MLuke": "mluke",
    "MPNet": "mpnet",
    "MT5": "mt5",
    "Marian": "marian",
    "MarkupLM": "markuplm",
    "Mgpstr": "mgp-str",
    "MobileBert": "mobilebert",
    "Mvp": "mvp",
    "MyT5": "myt5",
    "Nllb": "nllb nllb-moe",
    "Nougat": "nougat",
    "OpenAIGPT": "openai-gpt",
    "PLBart": "plbart",
    "Pegasus": "pegasus",
    "Perceiver": "perceiver",
    "Phobert": "phobert",
    "ProphetNet": "prophetnet",
    "Qwen2": "qwen2 qwen2_5_omni qwen2_5_vl qwen2_audio qwen2_moe qwen2_vl qwen3 qwen3_moe "
    "qwen3_next qwen3_omni_moe qwen3_vl qwen3_vl_moe",
    "Qwen3_5": "qwen3_5 qwen3_5_moe qwen3_5_moe_text qwen3_5_text",
    "Realm": "realm",
    "Reformer": "reformer",
    "RemBert": "rembert",
    "RetriBert": "retribert",
    "RoCBert": "roc_bert",
    "RoFormer": "roformer",
    "Roberta": "bridgetower clap data2vec-text ibert lilt mega mra roberta roberta-prelayernorm",
    "SeamlessM4T": "seamless_m4t seamless_m4t_v2",
    "Siglip": "siglip",
    "Speech2Text": "speech_to_text",
    "SpeechT5": "speecht5",
    "Splinter": "splinter",
    "SqueezeBert": "squeezebert",
    "T5": "musicgen musicgen_melody switch_transformers t5",
    "Tapas": "tapas",
    "Udop": "udop",
    "Vits": "vits",
    "Wav2Vec2CTC": "data2vec-audio hubert unispeech unispeech-sat wav2vec2 wav2vec2-bert "
    "wav2vec2-conformer",
    "Wav2Vec2PhonemeCTC": "wav2vec2_phoneme",
    "Whisper": "whisper",
    "XGLM": "xglm",
    "XLM": "xlm",
    "XLMRoberta": "gte jina_embeddings_v3 metaclip_2 trocr xlm-roberta xmod",
    "XLNet": "xlnet",
}


def _inverted(grouped: Mapping[str, str], ending: str = "") -> dict[str, tuple[str, ...]]:
    of_property: dict[str, tuple[str, ...]] = {}
    for group, members in grouped.items():
        for member in members.split():
            of_property[member + ending] = (*of_property.get(member + ending, ()), group)
    return of_property


FORMATS_OF_CLASS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {**dict.fromkeys(UNREAD_CLASSES, ()), **_inverted(_READERS, "Tokenizer")}
)
"""The formats that each known class reads, by its name; empty for unsupported classes."""

NAMES_OF_CLASS: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType(
    {
        name: {f"{key}_token": token for key, _, token in (e.partition("=") for e in line.split())}
        for name, (line,) in _inverted(_NAMES, "Tokenizer").items()
    }
)
"""The special tokens of each known class by their role, such as ``mask_token``."""

CLASS_OF_TYPE: Final[Mapping[str, str]] = MappingProxyType(
    {model_type: f"{name}Tokenizer" for model_type, (name,) in _inverted(_TYPES).items()}
)
"""The class of each type of model, if no file names one."""


TIDIED_CLASSES: Final = frozenset(_inverted({"": _TIDIED}, "Tokenizer"))
"""The classes that obey ``clean_up_tokenization_spaces`` even if their model is BPE: those written
in Python, and two that request it."""

CLEANING_CLASSES: Final = frozenset(("PLBartTokenizer", "TapasTokenizer"))
"""The classes that clean up by default."""


def refuse_class(name: str, reasons: Mapping[str, str], what: str) -> None:
    """Refuse a class that follows other rules than its files say.

    Args:
        reasons: By the name of each such class.
        what: What it does, as the beginning of the reason.

    Raises:
        UnsupportedTokenizer: It is one of them.
    """
    if name in reasons:
        raise UnsupportedTokenizer(
            f"tokenizer_class {name}",
            f"{what}: {reasons[name]}",
            remedy="Write the bytes of each id by hand with Vocabulary.from_bytes(...).",
        )


def check_files(name: str, kind: str, where: str) -> None:
    """Refuse files that the class of a folder does not read.

    Raises:
        UnsupportedTokenizer: The class is known and reads other files, or is not supported.
    """
    if name in UNREAD_CLASSES:
        raise UnsupportedTokenizer(
            f"tokenizer_class {name}",
            f"it is not read here: {UNREAD_CLASSES[name]}",
            remedy="Write the bytes of each id by hand with Vocabulary.from_bytes(...). If the "
            "files are another tokenizer's, correct tokenizer_class in tokenizer_config.json (or "
            "model_type in config.json).",
        )
    read = FORMATS_OF_CLASS.get(name, (kind,))
    if kind in read:
        return
    expected = " or ".join(_FILES[one] for one in read if one in _FILES)
    raise UnsupportedTokenizer(
        f"tokenizer_class {name}",
        f"it reads {expected}, but {where} {'hold' if ' with ' in where else 'holds'} {kind}, "
        f"so the ids would be those of another tokenizer",
        remedy="Put the class's own files into the folder, or the tokenizer.json of the same "
        f"model: the download may be incomplete. If {where} is right, correct tokenizer_class in "
        "tokenizer_config.json (or model_type in config.json).",
    )
