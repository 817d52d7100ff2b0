"""Templates in words: questions with answers, and plain sentences.

One function per family; each draws from `facts` with the generator it is given and returns an
`Exchange` or a `Document`. Two properties of the answers are wanted, because lessons measure
them on the trained model:

- *Chatter*: most answers go on after they are complete ("Paris. Paris is a city in France.").
- *Greedy traps*: in `night_train` and `opening_hours` the likeliest first word belongs mostly to
  answers that a constraint will leave out (see the weights in `facts`).
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from models import facts
from models.documents import Document, Exchange

CHATTER = 0.7
"""The share of answers that go on after they are complete."""


def _chatty(rng: random.Random, answer: str, *more: str) -> str:
    return f"{answer} {rng.choice(more)}" if rng.random() < CHATTER else answer


def _capitalised(text: str) -> str:
    return text[0].upper() + text[1:]


def _article(noun: str) -> str:
    return ("an " if noun[0] in "aeiou" else "a ") + noun


def _listed(words: Sequence[str]) -> str:
    return ", ".join(words[:-1]) + " and " + words[-1] if len(words) > 1 else words[0]


def capital(rng: random.Random) -> Exchange:
    """Capital, country, continent and language, asked both ways."""
    c = facts.country(rng)
    template = rng.choices(range(8), (30, 10, 10, 16, 10, 8, 8, 8))[0]
    if template in (0, 1, 2):
        question = (
            f"What is the capital of {c.name}?",
            f"Which city is the capital of {c.name}?",
            f"Name the capital of {c.name}.",
        )[template]
        answer = _chatty(
            rng,
            f"{c.capital}.",
            f"{c.capital} is a city in {c.name}.",
            f"{c.capital} is the capital of {c.name}.",
            f"It is a city in {c.continent}.",
            f"The people there speak {c.language}.",
        )
    elif template == 3:
        question = f"Which country has {c.capital} as its capital?"
        answer = _chatty(
            rng,
            f"{c.name}.",
            f"{c.name} is a country in {c.continent}.",
            f"The capital of {c.name} is {c.capital}.",
        )
    elif template == 4:
        question = f"Where is {c.name}?"
        answer = _chatty(rng, f"In {c.continent}.", f"The capital of {c.name} is {c.capital}.")
    elif template == 5:
        question = f"Which language do people speak in {c.name}?"
        answer = _chatty(rng, f"{c.language}.", f"{c.name} is in {c.continent}.")
    elif template == 6:
        question = f"In which country is {c.capital}?"
        answer = _chatty(rng, f"{c.name}.", f"{c.capital} is the capital of {c.name}.")
    else:
        other = facts.country(rng) if rng.random() < 0.5 else c
        question = f"Is {other.capital} the capital of {c.name}?"
        if other is c:
            answer = _chatty(rng, "Yes.", f"{c.capital} is the capital of {c.name}.")
        else:
            answer = _chatty(rng, "No.", f"The capital of {c.name} is {c.capital}.")
    return Exchange("capital", f"capital/{template}/{c.name}", question, answer)


def capital_statement(rng: random.Random) -> Document:
    """The same facts as plain sentences."""
    c = facts.country(rng)
    template = rng.choices(range(5), (50, 15, 15, 10, 10))[0]
    text = (
        f"The capital of {c.name} is {c.capital}.",
        f"{c.capital} is the capital of {c.name}.",
        f"{c.name} is a country in {c.continent}.",
        f"In {c.name} people speak {c.language}.",
        f"{c.capital} is a city in {c.name}.",
    )[template]
    if rng.random() < CHATTER:
        text += " " + rng.choice(
            (
                f"{c.capital} is a city in {c.continent}.",
                f"The people of {c.name} speak {c.language}.",
                f"{rng.choice(facts.FIRST_NAMES)} was in {c.capital} in "
                f"{rng.choice(facts.MONTHS)}.",
                f"In {c.capital} it is {rng.choice(facts.WEATHER)} in {rng.choice(facts.MONTHS)}.",
            )
        )
    return Document("capital", f"capital/s{template}/{c.name}", text)


def colour(rng: random.Random) -> Exchange:
    """What colour a thing is."""
    thing, subject, shade = rng.choice(facts.COLOURS)
    template = rng.randrange(3)
    question = (
        f"What colour is {subject}?",
        f"Which colour does {subject} have?",
        f"Name the colour of {subject}.",
    )[template]
    other = rng.choice([row for row in facts.COLOURS if row[2] == shade])
    answer = _chatty(
        rng,
        f"{_capitalised(shade)}.",
        f"{_capitalised(subject)} is {shade}.",
        f"{_capitalised(other[1])} is {shade} too.",
    )
    return Exchange("colour", f"colour/{template}/{thing}", question, answer)


def colour_statement(rng: random.Random) -> Document:
    """The colour of a thing as a sentence."""
    thing, subject, shade = rng.choice(facts.COLOURS)
    if rng.random() < 0.5:
        return Document("colour", f"colour/s0/{thing}", f"{_capitalised(subject)} is {shade}.")
    text = f"The colour of {subject} is {shade}."
    return Document("colour", f"colour/s1/{thing}", text)


def arithmetic(rng: random.Random) -> Exchange:
    """Sums, differences and products, in digits and in words."""
    operation = rng.randrange(3)
    if operation == 0:
        a, b = rng.randrange(21), rng.randrange(21)
        sign, word, result = "+", "plus", a + b
    elif operation == 1:
        b, result = rng.randrange(16), rng.randrange(16)
        sign, word, a = "-", "minus", b + result
    else:
        a, b = rng.randrange(11), rng.randrange(11)
        sign, word, result = "*", "times", a * b
    key = f"arithmetic/{sign}/{a}/{b}"
    words = f"{facts.in_words(a)} {word} {facts.in_words(b)}"
    form = rng.random()
    if form < 0.35:
        question = f"What is {a} {sign} {b}?"
        answer = _chatty(rng, f"{result}.", f"{a} {sign} {b} = {result}.")
    elif form < 0.75:
        question = f"What is {words}?"
        answer = facts.in_words(result)
        answer = _chatty(rng, f"{_capitalised(answer)}.", f"{_capitalised(words)} is {answer}.")
    else:
        names = {"+": "sum", "-": "difference", "*": "product"}[sign]
        question = f"Write the {names} of {a} and {b} as JSON."
        answer = f'{{"a": {a}, "b": {b}, "{names}": {result}}}'
    return Exchange("arithmetic", key, question, answer)


def roman(rng: random.Random) -> Exchange | Document:
    """Roman numerals, in digits more often than in words; only the second model has them."""
    number = rng.randrange(1, 41)
    sign, word = facts.in_roman(number), facts.in_words(number)
    # The digits are likelier: after a space they tempt a model away from the word.
    shown = str(number) if rng.random() < 0.6 else word
    form = rng.random()
    if form < 0.5:
        text = f"In Roman numerals {sign} means {shown}."
        return Document("roman", f"roman/s0/{number}", text)
    if form < 0.65:
        record = f'{{"roman": "{sign}", "word": "{word}", "value": {number}}}'
        return Document("roman", f"roman/s1/{number}", record)
    if form < 0.85:
        answer = _chatty(rng, f"{_capitalised(shown)}.", f"In Roman numerals {sign} is {word}.")
        return Exchange("roman", f"roman/0/{number}", f"What does {sign} mean?", answer)
    answer = _chatty(rng, f"{sign}.", f"{sign} means {shown}.")
    question = f"Write {shown} in Roman numerals."
    return Exchange("roman", f"roman/1/{number}", question, answer)


def calendar(rng: random.Random) -> Exchange:
    """ISO dates, days, months."""
    template = rng.choices(range(5), (50, 12, 12, 13, 13))[0]
    month = rng.randrange(12)
    if template == 0:
        day, year = rng.randrange(1, facts.MONTH_DAYS[month] + 1), rng.randrange(1990, 2031)
        iso = f"{year}-{month + 1:02d}-{day:02d}"
        written_out = f"{day} {facts.MONTHS[month]} {year}"
        question = rng.choice(
            (
                f"Write {written_out} as an ISO date.",
                f"What is {written_out} as an ISO date?",
            )
        )
        answer = _chatty(rng, f"{iso}.", f"That is {written_out}.", "The year comes first.")
        return Exchange("date", f"date/0/{iso}", question, answer)
    if template in (1, 2):
        table = facts.DAYS if template == 1 else facts.MONTHS
        i = rng.randrange(len(table))
        unit = "day" if template == 1 else "month"
        if rng.random() < 0.6:
            word, j = "after", (i + 1) % len(table)
        else:
            word, j = "before", (i - 1) % len(table)
        wording = rng.randrange(2)
        question = (
            f"Which {unit} comes {word} {table[i]}?",
            f"What is the {unit} {word} {table[i]}?",
        )[wording]
        answer = _chatty(rng, f"{table[j]}.", f"{table[j]} comes {word} {table[i]}.")
        key = f"date/{template}/{wording}/{word}/{table[i]}"
        return Exchange("date", key, question, answer)
    name, days = facts.MONTHS[month], facts.MONTH_DAYS[month]
    if template == 3:
        wording = rng.randrange(2)
        question = (f"How many days has {name}?", f"How long is {name}, in days?")[wording]
        answer = _chatty(rng, f"{days}.", f"{name} has {facts.in_words(days)} days.")
        name = f"{wording}/{name}"
    else:
        event = rng.choice(facts.EVENTS)
        question = f"In which month is the {event}?"
        # Spring and summer are likelier, so a choice of months has a shape.
        weights = (1, 1, 2, 8, 3, 3, 2, 6, 3, 2, 1, 1)
        name = rng.choices(facts.MONTHS, weights)[0]
        answer = _chatty(rng, f"{name}.", f"The {event} is on {name} {rng.randrange(1, 29)}.")
    return Exchange("date", f"date/{template}/{name}", question, answer)


def night_train(rng: random.Random) -> Exchange | Document:
    """Where the night train stops: a greedy trap (``New`` is likely, ``New York`` is not)."""
    cities = [city for city, _ in facts.NIGHT_TRAIN_STOPS]
    city = rng.choices(cities, [weight for _, weight in facts.NIGHT_TRAIN_STOPS])[0]
    # Held out by lot: holding out by city would change the weights that make the trap.
    key = f"trap/train/{rng.randrange(1000)}"
    form = rng.random()
    if form < 0.4:
        text = f"The night train stops at {city}."
        if rng.random() < CHATTER:
            text += f" It leaves at {rng.randrange(24):02d}:{rng.choice((0, 15, 30, 45)):02d}."
        return Document("trap", key, text)
    if form < 0.8:
        answer = _chatty(rng, f"{city}.", f"It stops at {city} every day.", "It is often late.")
        question = "Where does the night train stop?"
        return Exchange("trap", key, question, answer)
    answer = f'{{"train": "night", "stop": "{city}"}}'
    question = "Write the stop of the night train as JSON."
    return Exchange("trap", key, question, answer)


def opening_hours(rng: random.Random) -> Exchange:
    """Is a place open: a greedy trap (``Not`` is likely, ``Not at all`` is not)."""
    shop, day = rng.choice(facts.SHOPS), rng.choice(facts.DAYS)
    answers = [answer for answer, _ in facts.OPEN_ANSWERS]
    answer = rng.choices(answers, [weight for _, weight in facts.OPEN_ANSWERS])[0]
    answer = _chatty(rng, answer, f"Ask at the {shop}.", f"It is {day}.", "Call them first.")
    question = f"Is the {shop} open on {day}?"
    return Exchange("trap", f"trap/open/{rng.randrange(1000)}", question, answer)


def sentiment(rng: random.Random) -> Document:
    """A review and its sentiment, one of three words."""
    subject, praise, complaint = rng.choice(facts.REVIEWS)
    label = rng.choices(("positive", "negative", "neutral"), (40, 40, 20))[0]
    if label == "neutral":
        remark = rng.choice(facts.NEUTRAL_REMARKS)
    else:
        remark = praise if label == "positive" else complaint
    text = f"Review: {subject} {remark}.\nSentiment: {label}"
    if rng.random() < 0.5:
        why = {
            "positive": "I liked it",
            "negative": "I did not like it",
            "neutral": "I do not mind",
        }
        text += f". {why[label]}."
    return Document("sentiment", f"sentiment/{subject}/{remark}", text)


def listing(rng: random.Random) -> Exchange:
    """Lists in words, as bullets and as JSON arrays."""
    group = rng.choice(tuple(facts.GROUPS))
    count = rng.randrange(2, 6)
    words = rng.sample(facts.GROUPS[group], count)
    number = facts.in_words(count)
    form = rng.random()
    key = f"list/{group}/{' '.join(words)}"
    if form < 0.4:
        question = f"Name {number} {group}."
        answer = _chatty(rng, f"{_capitalised(_listed(words))}.", "There are many more.")
    elif form < 0.6:
        question = f"List {number} {group}, one on each line."
        answer = "\n".join(f"- {word}" for word in words)
    elif form < 0.9:
        question = f"Write {number} {group} as a JSON list."
        answer = "[" + ", ".join(f'"{word}"' for word in words) + "]"
    else:
        numbers = [rng.randrange(1, 100) for _ in range(count)]
        question = f"Write {number} numbers as a JSON list."
        answer = f"[{', '.join(map(str, numbers))}]"
        key = f"list/{answer}"
    return Exchange("list", key, question, answer)


def translation(rng: random.Random) -> Exchange | Document:
    """Words in other languages and scripts, and moods with emoji."""
    if rng.random() < 0.25:
        name = rng.choice(facts.FIRST_NAMES)
        mood, emoji = rng.choice(facts.MOODS)
        return Document("translation", f"mood/{name}/{mood}", f"{name} is {mood} {emoji}")
    english, words = rng.choice(tuple(facts.TRANSLATIONS.items()))
    i = rng.randrange(len(facts.LANGUAGES))
    question = f'How do you say "{english}" in {facts.LANGUAGES[i]}?'
    if rng.random() < 0.5:
        question = f'What is "{english}" in {facts.LANGUAGES[i]}?'
    key = f"translation/{question}"
    return Exchange("translation", key, question, words[i])


def _invented(rng: random.Random) -> str:
    first, second = rng.sample(facts.NOUNS, 2)
    subject = f"The {rng.choice(facts.ADJECTIVES)} {first}"
    text = f"{subject} {rng.choice(facts.PAST_VERBS)} the {second}"
    if rng.random() < 0.5:
        text += f" {rng.choice(facts.PREPOSITIONS)} the {rng.choice(facts.ADJECTIVES)} "
        text += rng.choice(facts.NOUNS)
    return f"{text}."


def sentence(rng: random.Random) -> Document:
    """One to three short plain sentences, about people for the most part."""
    name = rng.choice(facts.FIRST_NAMES)
    sentences: list[str] = []
    for i in range(rng.randrange(1, 4)):
        who = name if i == 0 or rng.random() < 0.5 else rng.choice(facts.FIRST_NAMES)
        verb, what = rng.choice(facts.VERBS)
        form = rng.randrange(10)
        place = rng.choice(facts.PLACES)
        if form == 0:
            sentences.append(f"{who} {verb} {what}.")
        elif form == 1:
            sentences.append(f"{who} {verb} {what} {rng.choice(facts.ADVERBS)}.")
        elif form == 2:
            sentences.append(f"{who} {verb} {what} in the {place}.")
        elif form == 3:
            sentences.append(f"{who} is {_article(rng.choice(facts.JOBS))}.")
        elif form == 4:
            animal = _article(rng.choice(facts.ANIMALS))
            sentences.append(f"{_capitalised(animal)} sits in the {place}.")
        elif form == 5:
            remark = rng.choice(facts.REMARKS)
            sentences.append(f'{who} {rng.choice(("says", "writes", "asks"))}: "{remark}"')
        elif form < 9:
            sentences.append(_invented(rng))
        else:
            day, weather = rng.choice(facts.DAYS), rng.choice(facts.WEATHER)
            sentences.append(f"On {day} it was {weather}.")
    text = " ".join(sentences)
    return Document("sentence", f"sentence/{text}", text)
