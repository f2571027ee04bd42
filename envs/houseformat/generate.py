"""Writes the tasks of the houseformat environment: short questions whose answers have to be in a house format.

A small model knows most of the answers; what it cannot know is the form: lower case, words joined by hyphens, and two
slashes at the end (`new-delhi //`). A rule that says so helps; examples help less.

Run `python generate.py --seed N --out DIR` for fresh splits. The same seed gives the same bytes with any Python: only
`random.Random(str).random()` is used, the one sequence that Python promises to keep.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator
from pathlib import Path

SIZES = {"train": 40, "val": 40, "test": 80}

CAPITALS = (
    "Argentina:Buenos Aires, Australia:Canberra, Austria:Vienna, Belgium:Brussels, Brazil:Brasilia, Canada:Ottawa, "
    "Chile:Santiago, China:Beijing, Colombia:Bogota, Costa Rica:San Jose, Cuba:Havana, Denmark:Copenhagen, "
    "Egypt:Cairo, Ethiopia:Addis Ababa, Finland:Helsinki, France:Paris, Germany:Berlin, Greece:Athens, "
    "Guatemala:Guatemala City, Hungary:Budapest, Iceland:Reykjavik, India:New Delhi, Indonesia:Jakarta, Iran:Tehran, "
    "Iraq:Baghdad, Ireland:Dublin, Italy:Rome, Japan:Tokyo, Kenya:Nairobi, Kuwait:Kuwait City, Malaysia:Kuala Lumpur, "
    "Mexico:Mexico City, Morocco:Rabat, Nepal:Kathmandu, Norway:Oslo, Panama:Panama City, Peru:Lima, "
    "Philippines:Manila, Poland:Warsaw, Portugal:Lisbon, Qatar:Doha, Romania:Bucharest, Russia:Moscow, "
    "Saudi Arabia:Riyadh, South Korea:Seoul, Spain:Madrid, Sweden:Stockholm, Thailand:Bangkok, Turkey:Ankara, "
    "Ukraine:Kyiv, Uruguay:Montevideo, Vietnam:Hanoi"
)
OPPOSITES = (
    "hot:cold, big:small, early:late, open:closed, rich:poor, strong:weak, wet:dry, young:old, fast:slow, heavy:light, "
    "high:low, long:short, loud:quiet, full:empty, near:far, soft:hard, thick:thin, true:false, wide:narrow, "
    "happy:sad, sweet:sour, day:night, up:down, left:right, first:last, inside:outside, before:after, always:never, "
    "buy:sell, win:lose, push:pull, love:hate"
)
YOUNG = "dog:puppy, cat:kitten, cow:calf, horse:foal, sheep:lamb, goat:kid, duck:duckling, goose:gosling, frog:tadpole"
PLURALS = (
    "mouse:mice, goose:geese, foot:feet, tooth:teeth, child:children, man:men, woman:women, leaf:leaves, wolf:wolves, "
    "knife:knives, wife:wives, life:lives, half:halves, ox:oxen, city:cities, baby:babies, lady:ladies, box:boxes, "
    "bus:buses, church:churches, hero:heroes, potato:potatoes, tomato:tomatoes, shelf:shelves, thief:thieves"
)
PAST = (
    "go:went, see:saw, eat:ate, take:took, give:gave, write:wrote, speak:spoke, run:ran, swim:swam, drink:drank, "
    "sing:sang, break:broke, buy:bought, bring:brought, catch:caught, teach:taught, think:thought, feel:felt, "
    "find:found, lose:lost, make:made, pay:paid, say:said, sell:sold, send:sent, sit:sat, sleep:slept, stand:stood, "
    "tell:told, win:won, build:built, choose:chose, drive:drove, fall:fell, fly:flew, forget:forgot, grow:grew, "
    "know:knew, ride:rode, ring:rang"
)
MONTHS = (
    "January:February, February:March, March:April, April:May, May:June, June:July, July:August, August:September, "
    "September:October, October:November, November:December, December:January"
)
DAYS = (
    "Monday:Tuesday, Tuesday:Wednesday, Wednesday:Thursday, Thursday:Friday, Friday:Saturday, Saturday:Sunday, "
    "Sunday:Monday"
)
FAMILIES = (
    ("What is the capital of {}?", CAPITALS),
    ("What is the opposite of {}?", OPPOSITES),
    ("What is a young {} called?", YOUNG),
    ("What is the plural of {}?", PLURALS),
    ("What is the past tense of {}?", PAST),
    ("Which month comes after {}?", MONTHS),
    ("Which day comes after {}?", DAYS),
)


def house(answer: str) -> str:
    """The house format."""
    return answer.lower().replace(" ", "-") + " //"


def questions() -> Iterator[tuple[str, str]]:
    """Every question with its answer in the house format."""
    for form, pairs in FAMILIES:
        for pair in pairs.split(", "):
            asked, answer = pair.split(":")
            yield form.format(asked), house(answer)


def generate(seed: int) -> dict[str, list[dict[str, str]]]:
    """The three splits. No question occurs twice."""
    rng = random.Random(f"houseformat {seed}")
    known = list(questions())
    marks = sorted((rng.random(), index) for index in range(len(known)))
    supply = iter([known[index] for _, index in marks])
    splits: dict[str, list[dict[str, str]]] = {}
    for split, size in SIZES.items():
        rows = [next(supply) for _ in range(size)]
        splits[split] = [
            {"id": f"{split}-{number:03d}", "input": question, "answer": answer}
            for number, (question, answer) in enumerate(rows, start=1)
        ]
    return splits


def write(seed: int, out: Path) -> None:
    """Write `train.jsonl`, `val.jsonl` and `test.jsonl` into a folder that is made if needed."""
    out.mkdir(parents=True, exist_ok=True)
    for split, rows in generate(seed).items():
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (out / f"{split}.jsonl").write_text(lines, encoding="utf-8", newline="\n")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Write fresh houseformat splits.")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    write(arguments.seed, arguments.out)


if __name__ == "__main__":
    main()
