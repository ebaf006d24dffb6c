import pytest

from winnow import errors
from winnow.model.load import load
from winnow.model.prompts import encode_prompt
from winnow.rollout import Prompt

TEMPLATE = (
    "{% for m in messages %}<{{ m['role'][0] }}>{{ m['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}<a>{% endif %}"
)


@pytest.fixture(scope="module")
def tokenizer():
    return load(None, device="cpu").tokenizer


def chat(*turns):
    return Prompt("train:0", [{"role": role, "content": content} for role, content in turns])


def test_plain_text_is_encoded_as_it_stands(tokenizer):
    ids = encode_prompt(tokenizer, Prompt("train:0", "4-1="))
    assert len(ids) == 4
    assert tokenizer.decode(ids) == "4-1="


def test_a_trailing_end_token_is_dropped(tokenizer):
    class Closing:
        eos_token_id, eos_token = tokenizer.eos_token_id, tokenizer.eos_token

        def __call__(self, text, **settings):
            return {"input_ids": [*tokenizer(text)["input_ids"], self.eos_token_id]}

    assert encode_prompt(Closing(), Prompt("train:0", "4-1=")) == tokenizer("4-1=")["input_ids"]


def test_messages_go_through_the_template(tokenizer):
    ids = encode_prompt(tokenizer, chat(("user", "hi")), template=TEMPLATE)
    assert tokenizer.decode(ids) == "<u>hi\n<a>"


def test_text_goes_through_the_template_when_asked(tokenizer):
    ids = encode_prompt(tokenizer, Prompt("train:0", "hi"), template=TEMPLATE, chat=True)
    assert tokenizer.decode(ids) == "<u>hi\n<a>"


def test_system_message_is_put_first_unless_there_is_one(tokenizer):
    settings = {"template": TEMPLATE, "system": "short"}
    assert tokenizer.decode(encode_prompt(tokenizer, chat(("user", "hi")), **settings)) == "<s>short\n<u>hi\n<a>"
    own = chat(("system", "long"), ("user", "hi"))
    assert tokenizer.decode(encode_prompt(tokenizer, own, **settings)) == "<s>long\n<u>hi\n<a>"


def test_no_template_names_three_ways_out(tokenizer):
    with pytest.raises(errors.ConfigError) as caught:
        encode_prompt(tokenizer, chat(("user", "hi")))
    for way in ("instruction-tuned", "template", "plain text"):
        assert way in str(caught.value)


def test_system_or_template_for_plain_text_is_refused(tokenizer):
    for settings in ({"system": "short"}, {"template": TEMPLATE}):
        with pytest.raises(errors.ConfigError, match="chat=true"):
            encode_prompt(tokenizer, Prompt("train:0", "hi"), **settings)


@pytest.mark.parametrize(
    ("prompt", "words"),
    [
        (chat(("user", "hi"), ("assistant", "ho")), "ends in an assistant turn"),
        (Prompt("train:0", []), "no messages"),
        (Prompt("train:0", [{"role": "user"}]), "message 1 .* has no content"),
    ],
)
def test_bad_messages(tokenizer, prompt, words):
    with pytest.raises(errors.DataError, match=words):
        encode_prompt(tokenizer, prompt, template=TEMPLATE)


def test_a_template_may_refuse(tokenizer):
    with pytest.raises(errors.DataError, match="roles must alternate"):
        encode_prompt(tokenizer, chat(("user", "hi")), template="{{ raise_exception('roles must alternate') }}")


def test_empty_prompt(tokenizer):
    with pytest.raises(errors.DataError, match="empty"):
        encode_prompt(tokenizer, Prompt("train:0", ""))
