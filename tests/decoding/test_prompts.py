"""Messages as ids: chat templates, tools, and templates that raise or try to get out."""

from __future__ import annotations

from typing import Any

import pytest
from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerFast

import explorer
from explorer import Session
from explorer.decoding.models.huggingface import HuggingFaceModel
from explorer.errors import ExplorerError
from tests.decoding.models import language_model, tokenizer

HELLO = [{"role": "user", "content": "yes"}]
TOOL = {"type": "function", "function": {"name": "now", "parameters": {"properties": {}}}}


def with_template(template: Any) -> HuggingFaceModel:
    own = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(tokenizer().backend_tokenizer.to_str()),
        bos_token="<s>",
        eos_token="</s>",
    )
    own.chat_template = template
    return HuggingFaceModel(language_model("llama").model, own, "other")


def test_a_prompt_is_what_a_session_reads_of_messages() -> None:
    lm = language_model("llama")
    ids = lm.prompt(HELLO)
    assert ids == lm.encode_prompt(HELLO)
    without = lm.prompt(HELLO, add_generation_prompt=False)
    assert lm.tokenizer.decode(without) == "<s>[user]yes\n"
    of_ids, of_messages = (
        Session(lm, explorer.regex("no"), prompt).run() for prompt in (ids, HELLO)
    )
    assert of_ids.prompt_ids == of_messages.prompt_ids == ids and of_ids.ids == of_messages.ids
    assert of_ids.prompt == "<s>[user]yes\n[assistant]"
    assert Session(lm, None, of_ids.prompt).trace.prompt_ids == ids
    session = Session(lm, explorer.regex("no"), "other")
    session.edit(prompt=ids)
    assert session.trace.prompt_ids == ids


def test_ids_are_a_prompt_of_a_batch_too() -> None:
    lm = language_model("llama")
    ids = lm.prompt(HELLO)
    (alone,) = explorer.generate(lm, ids, explorer.regex("[a-z]{3}"))
    both = explorer.generate(lm, [ids, HELLO], explorer.regex("[a-z]{3}"))
    assert [one.text for one in both] == [alone.text] * 2
    assert explorer.probability(lm, ids, [5]) == explorer.probability(lm, HELLO, [5])


def test_tools_and_names_of_templates() -> None:
    lm = with_template(
        {"default": "<s>{{ tools | length if tools else 0 }}", "other": "<s>{{ messages[0].role }}"}
    )
    text = lm.tokenizer.decode
    assert text(lm.prompt(HELLO, tools=[TOOL, TOOL])) == "<s>2"
    assert text(lm.prompt(HELLO)) == text(lm.prompt(HELLO, tools=[])) == "<s>0"
    assert text(lm.prompt(HELLO, template="other")) == "<s>user"
    with pytest.raises(ExplorerError, match="This tokenizer has 'default', 'other'"):
        lm.prompt(HELLO, template="third")
    with pytest.raises(ExplorerError, match="has only one, without a name"):
        language_model("llama").prompt(HELLO, template="{{ messages }}")
