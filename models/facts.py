"""The fact tables and word lists that the corpus of the tiny model is made of.

Everything here was written for this project: short facts that anyone knows (capitals, colours,
months) and lists of plain words. The tables are small on purpose: the tiny model can learn them
by heart, so its probabilities mean something in a lesson, and a reader can look up in one place
whether an answer is right. The templates in `exchanges` and `records`
draw from these tables.
"""

from __future__ import annotations

import random
from typing import Final, NamedTuple


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _phrases(text: str) -> tuple[str, ...]:
    return tuple(text.split("; "))


class Country(NamedTuple):
    """A country and what the corpus says of it."""

    name: str
    capital: str
    continent: str
    language: str


_COUNTRY_ROWS: Final = """
France|Paris|Europe|French
Spain|Madrid|Europe|Spanish
Portugal|Lisbon|Europe|Portuguese
Italy|Rome|Europe|Italian
Germany|Berlin|Europe|German
Austria|Vienna|Europe|German
Poland|Warsaw|Europe|Polish
Hungary|Budapest|Europe|Hungarian
Greece|Athens|Europe|Greek
Norway|Oslo|Europe|Norwegian
Sweden|Stockholm|Europe|Swedish
Denmark|Copenhagen|Europe|Danish
Finland|Helsinki|Europe|Finnish
Iceland|Reykjavík|Europe|Icelandic
Ireland|Dublin|Europe|English
England|London|Europe|English
Belgium|Brussels|Europe|Dutch
Romania|Bucharest|Europe|Romanian
Bulgaria|Sofia|Europe|Bulgarian
Croatia|Zagreb|Europe|Croatian
Ukraine|Kyiv|Europe|Ukrainian
Estonia|Tallinn|Europe|Estonian
Latvia|Riga|Europe|Latvian
Lithuania|Vilnius|Europe|Lithuanian
Moldova|Chișinău|Europe|Romanian
Turkey|Ankara|Asia|Turkish
Japan|Tokyo|Asia|Japanese
China|Beijing|Asia|Chinese
India|New Delhi|Asia|Hindi
Nepal|Kathmandu|Asia|Nepali
Thailand|Bangkok|Asia|Thai
Vietnam|Hanoi|Asia|Vietnamese
Mongolia|Ulaanbaatar|Asia|Mongolian
Iran|Tehran|Asia|Persian
Iraq|Baghdad|Asia|Arabic
Jordan|Amman|Asia|Arabic
Lebanon|Beirut|Asia|Arabic
Oman|Muscat|Asia|Arabic
Egypt|Cairo|Africa|Arabic
Morocco|Rabat|Africa|Arabic
Tunisia|Tunis|Africa|Arabic
Kenya|Nairobi|Africa|Swahili
Ghana|Accra|Africa|English
Senegal|Dakar|Africa|French
Angola|Luanda|Africa|Portuguese
Zambia|Lusaka|Africa|English
Ethiopia|Addis Ababa|Africa|Amharic
Canada|Ottawa|North America|English
Mexico|Mexico City|North America|Spanish
Cuba|Havana|North America|Spanish
Jamaica|Kingston|North America|English
Panama|Panama City|North America|Spanish
Brazil|Brasília|South America|Portuguese
Argentina|Buenos Aires|South America|Spanish
Chile|Santiago|South America|Spanish
Peru|Lima|South America|Spanish
Colombia|Bogotá|South America|Spanish
Uruguay|Montevideo|South America|Spanish
Paraguay|Asunción|South America|Spanish
Australia|Canberra|Oceania|English
"""

COUNTRIES: Final = tuple(Country(*row.split("|")) for row in _COUNTRY_ROWS.split("\n") if row)

# The first countries of the table come up most, the last ones sixteen times less. A skew like
# that of real text; and a small model learns to look facts up from the frequent ones first.
_COUNTRY_WEIGHTS: Final = tuple(1 / (4 + rank) for rank in range(len(COUNTRIES)))


def country(rng: random.Random) -> Country:
    """A country, the first ones of the table more often."""
    return rng.choices(COUNTRIES, _COUNTRY_WEIGHTS)[0]


# (thing, article and thing as the subject of a sentence, colour)
COLOURS: Final = (
    ("sky", "the sky", "blue"),
    ("grass", "grass", "green"),
    ("snow", "snow", "white"),
    ("coal", "coal", "black"),
    ("blood", "blood", "red"),
    ("lemon", "a lemon", "yellow"),
    ("carrot", "a carrot", "orange"),
    ("plum", "a plum", "purple"),
    ("flamingo", "a flamingo", "pink"),
    ("chocolate", "chocolate", "brown"),
    ("elephant", "an elephant", "grey"),
    ("banana", "a banana", "yellow"),
    ("tomato", "a tomato", "red"),
    ("cucumber", "a cucumber", "green"),
    ("swan", "a swan", "white"),
    ("raven", "a raven", "black"),
    ("salmon", "a salmon", "pink"),
    ("mouse", "a mouse", "grey"),
    ("frog", "a frog", "green"),
    ("ruby", "a ruby", "red"),
    ("emerald", "an emerald", "green"),
    ("sapphire", "a sapphire", "blue"),
    ("sunflower", "a sunflower", "yellow"),
    ("milk", "milk", "white"),
    ("coffee", "coffee", "brown"),
    ("pumpkin", "a pumpkin", "orange"),
    ("cherry", "a cherry", "red"),
    ("spinach", "spinach", "green"),
    ("lavender", "lavender", "purple"),
    ("sand", "sand", "yellow"),
    ("cloud", "a cloud", "white"),
    ("ocean", "the ocean", "blue"),
)

COLOUR_NAMES: Final = _words(
    "red blue green yellow orange purple pink brown black white grey silver golden"
)

FIRST_NAMES: Final = _words(
    "Ada Ben Carla David Elena Farid Grace Hugo Ines Jonas Karim Lena Marta Nadia Omar Paula "
    "Quentin Rosa Samir Tomas Uma Viktor Wanda Yusuf Zoe Alice Bruno Clara Dario Emma Felix "
    "Greta Hana Ivan Julia Kofi Laura Miguel Nora Oscar Petra Rafael Sofia Theo Ursula Vera "
    "Walter Xenia Yara Anna Peter Maria John Paul George Susan Chloé José Zoë"
)

LAST_NAMES: Final = _words(
    "Lopez Berg Novak Haas Costa Meyer Silva Ortega Lind Rossi Weber Moreau Kaya Sato Okoro "
    "Brandt Fischer Garcia Jensen Keller Larsen Martin Nagy Olsen Pereira Quist Romero Santos "
    "Torres Vogel Wagner Young Ziegler Almeida Bauer Castro Duarte Engel Fuchs Müller Núñez"
)

# Invented names of game characters are one head and one tail.
NAME_HEADS: Final = _words(
    "Tor Mor Bel Gar Thal Eri Kael Lun Syl Dra Fen Hal Isa Jor Kor Lor Mir Nym Or Per Rha Sar "
    "Tal Ul Vor Wyn Xan Yl Zar Bran"
)
NAME_TAILS: Final = _words(
    "win dor ion ara eth iel mir nar oth ric sa thas us vyn wen ax bor da eon gar ia lis mund "
    "ola rik"
)

CHARACTER_CLASSES: Final = _words(
    "warrior wizard ranger healer thief knight bard monk druid archer hunter smith sailor alchemist"
)
WEAPONS: Final = _words(
    "sword bow axe staff dagger spear hammer shield sling whip mace lance crossbow club"
)
GAME_ITEMS: Final = _words(
    "rope torch map key potion lantern bread gem scroll cloak boots ring coin flute mirror "
    "compass blanket bottle candle feather"
)
REALMS: Final = _phrases(
    "the north; the old forest; the river town; the high mountains; the salt desert; "
    "the glass tower; the deep caves; the southern islands; the frozen lake; the burned city"
)

MATERIALS: Final = _words(
    "oak glass steel paper cotton leather silver copper bamboo wool marble rubber plastic linen "
    "clay stone cork pine"
)
PRODUCTS: Final = _words(
    "lamp chair table mug bottle bag clock notebook pen pillow basket shelf mirror vase bowl "
    "kettle bench blanket brush candle helmet jacket knife ladder umbrella wallet watch teapot "
    "tray carpet"
)
TAGS: Final = _words(
    "new sale gift home garden kitchen office travel light heavy small large handmade classic "
    "modern outdoor"
)

FRUITS: Final = _words(
    "apple pear plum cherry lemon orange banana grape peach melon fig mango kiwi apricot"
)
ANIMALS: Final = _words(
    "cat dog horse cow goat sheep fox wolf bear rabbit mouse owl raven swan duck frog turtle "
    "donkey squirrel hedgehog"
)
VEGETABLES: Final = _words(
    "carrot potato onion tomato cucumber spinach pumpkin bean pea cabbage leek radish pepper"
)
TOOLS: Final = _words("hammer saw drill wrench ladder shovel rake axe brush knife pliers file")
INSTRUMENTS: Final = _words(
    "piano violin guitar flute drum trumpet harp cello organ clarinet banjo accordion"
)

GROUPS: Final = {
    "fruits": FRUITS,
    "animals": ANIMALS,
    "vegetables": VEGETABLES,
    "tools": TOOLS,
    "instruments": INSTRUMENTS,
    "colours": COLOUR_NAMES,
}

DAYS: Final = _words("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")
MONTHS: Final = _words(
    "January February March April May June July August September October November December"
)
# A year that is not a leap year.
MONTH_DAYS: Final = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)

_UNITS: Final = _words(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen"
)
_TENS: Final = _words("twenty thirty forty fifty sixty seventy eighty ninety")


def in_words(number: int) -> str:
    """A number from 0 to 100 in English words.

    Raises:
        ValueError: The number is outside 0 to 100.

    Example:
        >>> in_words(42), in_words(7), in_words(100)
        ('forty-two', 'seven', 'one hundred')
    """
    if not 0 <= number <= 100:
        raise ValueError(f"in_words knows 0 to 100, not {number}")
    if number < 20:
        return _UNITS[number]
    if number == 100:
        return "one hundred"
    tens, unit = divmod(number, 10)
    return _TENS[tens - 2] + (f"-{_UNITS[unit]}" if unit else "")


_ROMAN: Final = ((50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"))


def in_roman(number: int) -> str:
    """A number from 1 to 89 in Roman numerals.

    Raises:
        ValueError: The number is outside 1 to 89.

    Example:
        >>> in_roman(17), in_roman(44), in_roman(9)
        ('XVII', 'XLIV', 'IX')
    """
    if not 1 <= number <= 89:
        raise ValueError(f"in_roman knows 1 to 89, not {number}")
    written = ""
    for value, sign in _ROMAN:
        while number >= value:
            written, number = written + sign, number - value
    return written


EVENTS: Final = _words(
    "concert meeting exam wedding market race lecture party match festival auction workshop "
    "picnic parade dinner"
)
DEVICES: Final = _words(
    "printer server camera router scanner laptop phone gateway sensor switch display robot"
)
LOG_MESSAGES: Final = _phrases(
    "started; stopped; connected; restarted; update installed; disk almost full; "
    "connection lost; door opened; battery low; backup finished; login failed; no paper"
)

JOBS: Final = _words(
    "baker teacher doctor gardener driver painter nurse farmer pilot cook judge writer singer "
    "plumber tailor"
)
PLACES: Final = _words(
    "garden kitchen library market station harbour park school museum bridge office forest "
    "bakery village square"
)
VERBS: Final = (
    ("reads", "a book"),
    ("opens", "the window"),
    ("buys", "fresh bread"),
    ("paints", "the old door"),
    ("finds", "a small key"),
    ("repairs", "the clock"),
    ("waters", "the flowers"),
    ("writes", "a long letter"),
    ("carries", "a heavy box"),
    ("drinks", "hot tea"),
    ("plays", "the piano"),
    ("sells", "ripe apples"),
    ("cleans", "the floor"),
    ("cooks", "the soup"),
    ("counts", "the coins"),
    ("draws", "a map"),
    ("feeds", "the dog"),
    ("rides", "a green bicycle"),
    ("sings", "an old song"),
    ("waits for", "the last bus"),
)
ADVERBS: Final = _phrases(
    "slowly; quietly; again; today; every morning; after lunch; before noon; in the evening"
)
ADJECTIVES: Final = _words(
    "old young small large quiet loud bright dark clever kind proud lazy brave strange famous "
    "empty broken narrow wide deep sharp smooth round square wooden hungry thirsty friendly "
    "gentle careful quick slow early late simple difficult cheap dear clean dusty fresh sweet "
    "bitter sour salty wild tame honest polite curious patient nervous calm lucky tall "
    "short thick thin soft hard dry wet"
)
NOUNS: Final = _words(
    "road river hill valley island beach cave farm field barn castle tower gate wall roof cellar "
    "boat ship wagon truck engine wheel pocket button needle thread shirt hat glove shoe coat "
    "letter parcel stamp ticket newspaper picture story dream secret question answer promise "
    "mistake plan rule prize game ball puppet drawer carton barrel bucket spoon fork plate pot "
    "oven stove fire smoke ash rain wind storm cloud star moon shadow stone sand leaf branch root "
    "seed flower nest wing tail paw bone neighbour cousin uncle aunt king queen child stranger "
    "guest captain soldier teacher pupil dentist lawyer clerk guard mayor thief"
)
PAST_VERBS: Final = _words(
    "found lost saw heard kept hid bought sold broke mended carried pushed pulled followed passed "
    "reached left crossed liked feared watched guarded painted washed covered filled emptied moved "
    "lifted dropped forgot remembered described counted touched visited loved hated drew measured"
)
PREPOSITIONS: Final = _words("near behind under above beside before after without with from")
REMARKS: Final = _phrases(
    "I am late.; The soup is cold.; Please close the door.; Where is my hat?; "
    "I will come tomorrow.; It is too far.; Nobody knows.; Thank you.; What a day!; "
    "The key is under the stone.; Wait for me.; I have no time.; Look at the moon.; "
    "The bus has left."
)

WEATHER: Final = _words("sunny rainy windy cloudy cold warm foggy stormy snowy mild")

SHOPS: Final = _words("shop bakery library museum market office bank pharmacy cinema pool")

# (what is reviewed, praise, complaint)
REVIEWS: Final = (
    ("The soup", "was warm and rich", "was cold and thin"),
    ("The room", "was quiet and clean", "was dirty and loud"),
    ("The film", "was clever and funny", "was slow and much too long"),
    ("The book", "kept me awake all night", "sent me to sleep"),
    ("The waiter", "was friendly", "was rude"),
    ("The train", "came on time", "came two hours late"),
    ("The lamp", "is bright and pretty", "broke after one day"),
    ("The chair", "is strong and soft", "is weak and hard"),
    ("The music", "was lovely", "was far too loud"),
    ("The garden", "looks wonderful", "looks poor"),
    ("The coffee", "tastes great", "tastes burned"),
    ("The phone", "works perfectly", "stopped working at once"),
)
NEUTRAL_REMARKS: Final = (
    "is on the second floor",
    "arrived on Tuesday",
    "costs as much as last year",
    "is made in two sizes",
    "was neither good nor bad",
)

# A word in seven languages, three of them in other scripts.
LANGUAGES: Final = ("French", "Spanish", "German", "Italian", "Greek", "Russian", "Japanese")
TRANSLATIONS: Final = {
    "water": ("eau", "agua", "Wasser", "acqua", "νερό", "вода", "水"),
    "bread": ("pain", "pan", "Brot", "pane", "ψωμί", "хлеб", "パン"),
    "cat": ("chat", "gato", "Katze", "gatto", "γάτα", "кошка", "猫"),
    "dog": ("chien", "perro", "Hund", "cane", "σκύλος", "собака", "犬"),
    "house": ("maison", "casa", "Haus", "casa", "σπίτι", "дом", "家"),
    "sun": ("soleil", "sol", "Sonne", "sole", "ήλιος", "солнце", "太陽"),
    "tree": ("arbre", "árbol", "Baum", "albero", "δέντρο", "дерево", "木"),
    "green": ("vert", "verde", "grün", "verde", "πράσινο", "зелёный", "緑"),
    "thank you": ("merci", "gracias", "danke", "grazie", "ευχαριστώ", "спасибо", "ありがとう"),
    "good morning": (
        "bonjour",
        "buenos días",
        "guten Morgen",
        "buongiorno",
        "καλημέρα",
        "доброе утро",
        "おはよう",
    ),
}
MOODS: Final = (
    ("happy", "🙂"),
    ("sad", "😢"),
    ("tired", "😴"),
    ("angry", "😠"),
    ("in love", "😍"),
    ("surprised", "😮"),
)

# The two tables behind the greedy traps: a first word that is likely only because of options
# that a constraint will leave out. Weights are parts of a whole.
NIGHT_TRAIN_STOPS: Final = (
    ("New Delhi", 40),
    ("New Orleans", 14),
    ("New York", 1),
    ("Boston", 28),
    ("Oslo", 7),
    ("Lima", 5),
    ("Rome", 5),
)
OPEN_ANSWERS: Final = (
    ("Not sure.", 50),
    ("Yes.", 33),
    ("No.", 14),
    ("Not at all.", 2),
    ("Not today.", 1),
)
