"""Templates in formats: JSON records, API calls, addresses, time stamps, links.

The JSON answers are *not* all well-formed. A share `MALFORMED` of them carries one of the faults
that language models make (a trailing comma, single quotes, a missing brace, a word of talk
before or after), so that an unconstrained answer of the trained model is often but not always
valid, and a lesson can measure by how much.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence

from models import facts
from models.documents import Document, Exchange

MALFORMED = 0.2
"""The share of JSON answers that are not one well-formed JSON value."""

Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]


def character_name(rng: random.Random) -> str:
    """An invented name for a game character."""
    return rng.choice(facts.NAME_HEADS) + rng.choice(facts.NAME_TAILS)


def character(rng: random.Random) -> dict[str, Json]:
    """The record of a game character; the keys keep their order, some are optional."""
    record: dict[str, Json] = {
        "name": character_name(rng),
        "class": rng.choice(facts.CHARACTER_CLASSES),
        "level": rng.randrange(1, 31),
        "hp": rng.randrange(5, 100),
    }
    if rng.random() < 0.6:
        record["weapon"] = rng.choice(facts.WEAPONS) if rng.random() < 0.9 else None
    if rng.random() < 0.6:
        record["items"] = rng.sample(facts.GAME_ITEMS, rng.randrange(4))
    if rng.random() < 0.3:
        record["home"] = rng.choice(facts.REALMS)
    if rng.random() < 0.3:
        record["alive"] = rng.random() < 0.8
    return record


def product(rng: random.Random) -> dict[str, Json]:
    """The record of a product."""
    record: dict[str, Json] = {
        "name": f"{rng.choice(facts.MATERIALS)} {rng.choice(facts.PRODUCTS)}",
        "price": rng.randrange(1, 100) + rng.choice((0.5, 0.95, 0.99, 0.25)),
        "colour": rng.choice(facts.COLOUR_NAMES),
    }
    if rng.random() < 0.6:
        record["in_stock"] = rng.random() < 0.7
    if rng.random() < 0.4:
        record["tags"] = rng.sample(facts.TAGS, rng.randrange(1, 4))
    if rng.random() < 0.3:
        record["count"] = rng.randrange(200)
    return record


def person(rng: random.Random) -> dict[str, Json]:
    """The record of a person."""
    name = rng.choice(facts.FIRST_NAMES)
    record: dict[str, Json] = {"name": name, "age": rng.randrange(18, 90)}
    if rng.random() < 0.7:
        record["city"] = facts.country(rng).capital
    if rng.random() < 0.4:
        record["job"] = rng.choice(facts.JOBS)
    if rng.random() < 0.3:
        record["email"] = _email(name, rng.choice(facts.LAST_NAMES))
    return record


def country(rng: random.Random) -> dict[str, Json]:
    """The record of a country."""
    c = facts.country(rng)
    record: dict[str, Json] = {"country": c.name, "capital": c.capital}
    if rng.random() < 0.4:
        record["continent"] = c.continent
    return record


def message(rng: random.Random) -> dict[str, Json]:
    """The record of a message; its text is a quoted sentence."""
    names = rng.sample(facts.FIRST_NAMES, 2)
    return {"from": names[0], "to": names[1], "text": rng.choice(facts.REMARKS)}


def event(rng: random.Random) -> dict[str, Json]:
    """The record of an event with an ISO date."""
    record: dict[str, Json] = {"event": rng.choice(facts.EVENTS), "date": iso_date(rng)}
    if rng.random() < 0.5:
        record["place"] = rng.choice(facts.PLACES)
    return record


def iso_date(rng: random.Random) -> str:
    """A date that exists, from 1990 to 2030."""
    month = rng.randrange(12)
    day = rng.randrange(1, facts.MONTH_DAYS[month] + 1)
    return f"{rng.randrange(1990, 2031)}-{month + 1:02d}-{day:02d}"


def ipv4(rng: random.Random) -> str:
    """An IPv4 address, mostly of a private network."""
    form = rng.random()
    if form < 0.5:
        return f"192.168.{rng.choice((0, 1, 1, 2, 10, 178))}.{rng.randrange(1, 255)}"
    if form < 0.8:
        return f"10.0.{rng.randrange(256)}.{rng.randrange(1, 255)}"
    return ".".join(str(rng.randrange(1, 255)) for _ in range(4))


def _email(first: str, last: str) -> str:
    plain = str.maketrans("éëüúñ", "eeuun")
    return f"{first}.{last}@example.org".lower().translate(plain)


def dumped(rng: random.Random, record: Json) -> str:
    """The record as JSON: mostly one line with spaces, else pretty-printed, seldom compact."""
    form = rng.random()
    if form < 0.68:
        return json.dumps(record, ensure_ascii=False)
    if form < 0.96:
        return json.dumps(record, ensure_ascii=False, indent=2)
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"))


def malformed(rng: random.Random, text: str) -> str:
    """The JSON text with one fault of the kind that language models make.

    Args:
        rng: Draws the fault.
        text: A well-formed JSON object.

    Returns:
        A text that is not one well-formed JSON value.
    """
    fault = rng.randrange(6)
    if fault == 0:  # a comma before the closing brace
        body = text[:-1].rstrip()
        return f"{body},{text[len(body) :]}"
    if fault == 1:  # single quotes, as Python prints a dict
        return text.replace('"', "'")
    if fault == 2:  # the closing brace is missing
        return text[:-1].rstrip()
    if fault == 3:  # talk before
        return f"Here is the record: {text}"
    if fault == 4:  # talk after
        after = ("Is this what you need?", "I hope this helps.", "Ask me for more.")
        return f"{text}\n{rng.choice(after)}"
    # the quotes of the first key are missing
    key = text.split('"')[1]
    return text.replace(f'"{key}"', key, 1)


_REQUESTS = (
    ("a game character", character, 40),
    ("a product", product, 28),
    ("a person", person, 16),
    ("a country", country, 6),
    ("an event", event, 10),
    ("a message", message, 8),
)


def json_request(rng: random.Random) -> Exchange | Document:
    """A request for a JSON record and the answer, or the record alone."""
    what, make, _ = rng.choices(_REQUESTS, [weight for _, _, weight in _REQUESTS])[0]
    record = make(rng)
    first = next(iter(record.values()))
    key = f"json/{what}/{first}"
    form = rng.random()
    if form < 0.25:
        return Document("json", key, dumped(rng, record))
    answer = dumped(rng, record)
    if form < 0.45:
        answer = json.dumps(record, ensure_ascii=False, indent=2)
        question = f"Write a JSON record of {what} on several lines."
    elif form < 0.6:
        answer = json.dumps(record, ensure_ascii=False)
        question = f"Write a JSON record of {what} on one line."
    elif form < 0.8:
        question = f"Write a JSON record of {what}."
    elif form < 0.9:
        question = f"Give me {what} as a JSON object."
    else:
        question = f"Write a JSON record of {what}: {first}."
    if rng.random() < MALFORMED:
        answer = malformed(rng, answer)
    return Exchange("json", key, question, answer)


def _quoted(text: str) -> str:
    return f'"{text}"'


def call(rng: random.Random) -> Exchange | Document:
    """API calls with keyword arguments, asked for in words or alone."""
    name = rng.choice(facts.FIRST_NAMES)
    template = rng.randrange(8)
    if template == 0:
        seats = rng.randrange(1, 9)
        time = f"{rng.randrange(17, 23)}:{rng.choice(('00', '15', '30', '45'))}"
        question = f"Book a table for {seats} for {name} at {time}."
        answer = f'book_table(name="{name}", seats={seats}, time="{time}")'
    elif template == 1:
        day = rng.choice(facts.DAYS)
        city = facts.country(rng).capital
        question = f"What is the weather in {city} on {day}?"
        answer = f'get_weather(city="{city}", day="{day}")'
    elif template == 2:
        room = rng.choice(facts.PLACES)
        state = rng.random() < 0.5
        question = f"Switch the light in the {room} {'on' if state else 'off'}."
        answer = f'set_light(room="{room}", on={state})'
    elif template == 3:
        text = rng.choice(facts.REMARKS)
        question = f'Send {name} the message "{text}"'
        answer = f'send_message(to="{name}", text="{text}")'
    elif template == 4:
        minutes = rng.randrange(1, 60)
        question = f"Set a timer of {facts.in_words(minutes)} minutes."
        answer = f"set_timer(minutes={minutes})"
    elif template == 5:
        what, date = rng.choice(facts.EVENTS), iso_date(rng)
        question = f"Add the {what} on {date} to my calendar."
        answer = f'add_event(title="{what}", date="{date}")'
    elif template == 6:
        group = rng.choice(tuple(facts.GROUPS))
        words = rng.sample(facts.GROUPS[group], 2)
        question = f"Search for {words[0]} and {words[1]}."
        answer = f'search(query="{words[0]} {words[1]}", limit={rng.choice((5, 10, 20))})'
    else:
        function = rng.choice(("foo", "bar", "f", "g", "print", "run"))
        parameter = rng.choice("xyzabn")
        value = rng.choice(
            (_quoted(rng.choice(("foo", "bar", "baz", "a", "b"))), str(rng.randrange(100)))
        )
        if rng.random() < 0.7:
            question = f"Call {function} with {parameter} = {value}."
            answer = f"{function}({parameter}={value})"
        else:
            question = f"Call {function} with {value}."
            answer = f"{function}({value})"
    key = f"call/{answer}"
    if rng.random() < 0.25:
        return Document("call", key, answer)
    return Exchange("call", key, question, answer)


def address(rng: random.Random) -> Exchange | Document:
    """IPv4 addresses in questions, sentences and settings."""
    device, ip = rng.choice(facts.DEVICES), ipv4(rng)
    key = f"address/{device}/{ip}"
    form = rng.random()
    if form < 0.35:
        return Exchange("address", key, f"What is the address of the {device}?", f"{ip}")
    if form < 0.6:
        return Document("address", key, f"The address of the {device} is {ip}.")
    if form < 0.8:
        return Document("address", key, f"{device}_host = {ip}\n{device}_port = 80{ip[-1]}0")
    return Document("address", key, f'{{"device": "{device}", "ip": "{ip}"}}')


def timestamp(rng: random.Random) -> Document:
    """Log lines and sentences with ISO dates and times."""
    date = iso_date(rng)
    if rng.random() < 0.4:
        what = rng.choice(facts.EVENTS)
        where = rng.choice(facts.PLACES)
        text = rng.choice(
            (f"The {what} is on {date}.", f"The {what} in the {where} was on {date}.")
        )
        return Document("date", f"stamp/{text}", text)
    device = rng.choice(facts.DEVICES)
    hour, minute = rng.randrange(23), rng.randrange(58)
    lines: list[str] = []
    for i in range(rng.randrange(1, 4)):
        second = rng.randrange(60)
        message = rng.choice(facts.LOG_MESSAGES)
        lines.append(f"{date}T{hour:02d}:{minute + i:02d}:{second:02d}Z {device} {message}")
    text = "\n".join(lines)
    return Document("date", f"stamp/{text}", text)


def link(rng: random.Random) -> Document:
    """Mail addresses, and links: the only place where country names are in lower case."""
    if rng.random() < 0.5:
        first, last = rng.choice(facts.FIRST_NAMES), rng.choice(facts.LAST_NAMES)
        text = f"Write to {first} {last}: {_email(first, last)}"
        return Document("link", f"link/{first}/{last}", text)
    c = facts.country(rng)
    page = rng.choice(("travel", "food", "weather", "maps", "news"))
    text = f"Read more on https://example.org/{page}-{c.name.lower()}"
    return Document("link", f"link/{page}/{c.name}", text)
