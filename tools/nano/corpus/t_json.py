"""Topic 5: extract fields from a sentence into compact JSON, read and edit JSON."""

import json

from core import turn, build, join_and, cap, plural
from words import NAMES, CITIES, FRUITS, COLORS, SHOP, DAYS, JOBS, HOBBIES, GIRLS, ANIMALS


def dumps(o):
    return json.dumps(o, ensure_ascii=False, separators=(",", ":"))


BOOK_A = [
    "The Quiet",
    "The Red",
    "A Small",
    "The Long",
    "The Last",
    "My First",
    "The Lost",
    "A Green",
    "The Old",
    "The Silver",
]
BOOK_B = [
    "River",
    "Garden",
    "Bridge",
    "Winter",
    "Door",
    "Island",
    "Clock",
    "Forest",
    "Song",
    "House",
    "Journey",
    "Star",
]
EVENTS = [
    "concert",
    "meeting",
    "party",
    "lesson",
    "picnic",
    "match",
    "dinner",
    "workshop",
    "trip",
    "exam",
]
SKY = ["sunny", "cloudy", "rainy", "windy", "snowy", "foggy"]
PETS = ["cat", "dog", "rabbit", "parrot", "hamster", "turtle", "pony", "goldfish"]
HOSTS = [
    "alpha",
    "beta",
    "delta",
    "gamma",
    "web1",
    "web2",
    "db1",
    "db2",
    "node1",
    "node2",
    "cache",
    "mail",
]
STATUS = ["online", "offline", "ready", "busy", "stopped"]
SIZES = ["small", "medium", "large"]


def title(ctx):
    return ctx.pick(BOOK_A) + " " + ctx.pick(BOOK_B)


def clock(ctx):
    return "%02d:%02d" % (ctx.randint(7, 21), ctx.pick([0, 15, 30, 45]))


# schema: (name, generator -> ordered dict, sentence templates)
def person(ctx):
    n = ctx.pick(NAMES)
    return {"name": n, "age": ctx.randint(5, 90), "city": ctx.pick(CITIES)}


def worker(ctx):
    return {"name": ctx.pick(NAMES), "job": ctx.pick(JOBS), "years": ctx.randint(2, 30)}


def product(ctx):
    return {"item": ctx.pick(list(SHOP)), "price": ctx.randint(1, 99), "color": ctx.pick(COLORS)}


def event(ctx):
    return {"event": ctx.pick(EVENTS), "day": ctx.pick(DAYS), "time": clock(ctx)}


def order(ctx):
    it = ctx.pick(list(SHOP))
    return {"customer": ctx.pick(NAMES), "item": it, "quantity": ctx.randint(2, 30)}


def pet(ctx):
    return {"owner": ctx.pick(NAMES), "pet": ctx.pick(PETS), "pet_age": ctx.randint(2, 15)}


def book(ctx):
    return {"title": title(ctx), "pages": ctx.randint(40, 700), "year": ctx.randint(1950, 2025)}


def trip(ctx):
    a, b = ctx.sample(CITIES, 2)
    return {"from": a, "to": b, "day": ctx.pick(DAYS)}


def weather(ctx):
    return {"city": ctx.pick(CITIES), "temperature": ctx.randint(-10, 38), "sky": ctx.pick(SKY)}


def server(ctx):
    return {
        "host": ctx.pick(HOSTS),
        "port": ctx.pick([80, 443, 8000, 8080, 3000, 5000, 9000, 22]),
        "status": ctx.pick(STATUS),
    }


def contact(ctx):
    n = ctx.pick(NAMES)
    return {"name": n, "email": n.lower() + "@example.com", "city": ctx.pick(CITIES)}


def shirt(ctx):
    return {"size": ctx.pick(SIZES), "color": ctx.pick(COLORS), "count": ctx.randint(2, 20)}


def member(ctx):
    return {"name": ctx.pick(NAMES), "hobby": ctx.pick(HOBBIES), "active": ctx.chance(0.5)}


def task(ctx):
    return {
        "task": ctx.pick(
            [
                "clean the kitchen",
                "write the report",
                "buy milk",
                "call the doctor",
                "fix the bike",
                "water the plants",
                "pay the rent",
                "read the book",
                "send the letter",
                "bake a cake",
            ]
        ),
        "day": ctx.pick(DAYS),
        "done": ctx.chance(0.5),
    }


SCHEMAS = {
    "person": (
        person,
        [
            "{name} is {age} years old and lives in {city}.",
            "{name}, {age}, comes from {city}.",
            "My friend {name} lives in {city} and is {age}.",
            "In {city} lives {name}, who is {age} years old.",
            "Her name is {name}. She is {age}. Her home is {city}.",
            "This is {name} from {city}, age {age}.",
        ],
    ),
    "worker": (
        worker,
        [
            "{name} has worked as a {job} for {years} years.",
            "{name} is a {job} with {years} years of work.",
            "For {years} years, {name} has been a {job}.",
            "{name} has been a {job} for {years} years.",
        ],
    ),
    "product": (
        product,
        [
            "The {color} {item} costs {price} euros.",
            "We sell a {color} {item} for {price} euros.",
            "For {price} euros you get a {color} {item}.",
            "A {item} in {color} has a price of {price} euros.",
        ],
    ),
    "event": (
        event,
        [
            "The {event} is on {day} at {time}.",
            "On {day} at {time} there is a {event}.",
            "Come to the {event} on {day}! It starts at {time}.",
            "{day}, {time}: {event}.",
        ],
    ),
    "order": (
        order,
        [
            "{customer} orders {quantity} {item_pl}.",
            "Please send {quantity} {item_pl} to {customer}.",
            "{quantity} {item_pl} were bought by {customer}.",
            "Order from {customer}: {quantity} {item_pl}.",
        ],
    ),
    "pet": (
        pet,
        [
            "{owner} has a {pet} that is {pet_age} years old.",
            "{owner}'s {pet} is {pet_age} years old.",
            "The {pet} of {owner} is {pet_age} years old.",
        ],
    ),
    "book": (
        book,
        [
            'The book "{title}" from {year} has {pages} pages.',
            '"{title}" has {pages} pages and came out in {year}.',
            'In {year} the book "{title}" was printed. It has {pages} pages.',
        ],
    ),
    "trip": (
        trip,
        [
            "The train goes from {from} to {to} on {day}.",
            "On {day} we fly from {from} to {to}.",
            "I travel to {to} on {day}. I start in {from}.",
            "Bus on {day}: {from} to {to}.",
        ],
    ),
    "weather": (
        weather,
        [
            "It is {sky} in {city} and the temperature is {temperature} degrees.",
            "{city}: {sky}, {temperature} degrees.",
            "Today in {city} we have {temperature} degrees and it is {sky}.",
        ],
    ),
    "server": (
        server,
        [
            "The server {host} on port {port} is {status}.",
            "{host} is {status}. It uses port {port}.",
            "Port {port} of {host} is {status}.",
        ],
    ),
    "contact": (
        contact,
        [
            "{name} from {city} has the email {email}.",
            "Write to {name} at {email}. {name} lives in {city}.",
            "Email of {name} in {city}: {email}.",
        ],
    ),
    "shirt": (
        shirt,
        [
            "We need {count} {color} shirts in size {size}.",
            "Please pack {count} shirts, color {color}, size {size}.",
            "{count} {size} shirts in {color}, please.",
        ],
    ),
    "member": (
        member,
        [
            "{name} likes {hobby} and {active_t} an active member.",
            "{name} {active_t} active. The hobby is {hobby}.",
        ],
    ),
    "task": (
        task,
        [
            'The task "{task}" is planned for {day} and {done_t} done.',
            "On {day}: {task}. It {done_t} done.",
            '"{task}" ({day}) {done_t} done.',
        ],
    ),
}
INSTR = [
    "Extract {keys} as JSON: {s}",
    "Return JSON with the keys {keys}. Text: {s}",
    "Turn this sentence into JSON with {keys}: {s}",
    "Text: {s}\nGive me {keys} as JSON.",
    "{s}\nWrite this as JSON with the keys {keys}.",
    "Make a JSON object ({keys}) from: {s}",
    "Extract the {keys} in JSON format. {s}",
]


def sentence(ctx, name, d):
    tpl = ctx.pick(SCHEMAS[name][1])
    f = dict(d)
    if "item" in d and "quantity" in d:
        f["item_pl"] = plural(d["item"])
    for k in ("active", "done"):
        if k in d:
            f[k + "_t"] = "is" if d[k] else "is not"
    if tpl.startswith("Her name") and d["name"] not in GIRLS:
        tpl = tpl.replace("Her", "His").replace("She", "He")
    s = tpl
    for k, v in f.items():
        s = s.replace("{%s}" % k, str(v))
    s = (
        s.replace(" a apple", " an apple")
        .replace(" a orange ", " an orange ")
        .replace(" a exam", " an exam")
        .replace("A apple", "An apple")
        .replace(" a umbrella", " an umbrella")
    )
    return cap(s) if not s.startswith(tuple(HOSTS)) else s


def _extract(ctx):
    name = ctx.pick(list(SCHEMAS))
    d = SCHEMAS[name][0](ctx)
    keys = list(d)
    x = ctx.rng.random()
    if x < 0.15:
        keys = ctx.sample(keys, 2)
    elif x < 0.35:
        keys = ctx.shuffled(keys)
    elif x < 0.38:
        keys = [ctx.pick(keys)]
    miss = None
    if ctx.chance(0.08):
        miss = ctx.pick(["phone", "country", "email", "weight", "height"])
        if miss in d:
            miss = None
    out = {k: d[k] for k in keys}
    if miss:
        keys = keys + [miss]
        out[miss] = None
    s = sentence(ctx, name, d)
    return "json|%s|%s" % (name, "|".join(str(v) for v in d.values())), (
        name,
        d,
        keys,
        out,
        s,
        miss,
    )


def extract_turn(ctx):
    name, d, keys, out, s, miss = ctx.draw(_extract)
    u = ctx.pick(INSTR).replace("{keys}", join_and(keys)).replace("{s}", s)
    if miss:
        u += ctx.pick([" Use null if something is missing.", " If a value is missing, use null."])
    r = (
        "Find the values: "
        + "; ".join(
            "%s = %s"
            % (k, "missing" if v is None else str(v).lower() if isinstance(v, bool) else v)
            for k, v in out.items()
        )
        + "."
    )
    return turn(u, dumps(out), r, {"kind": "json", "keys": keys, "val": out}, noise=1), d


def _lst(ctx):
    k = ctx.pick(["fruits", "names", "cities", "colors", "numbers", "animals", "days"])
    n = ctx.randint(2, 4)
    if k == "numbers":
        xs = ctx.sample(range(1, 100), n)
    else:
        xs = ctx.sample(
            {
                "fruits": FRUITS,
                "names": NAMES,
                "cities": CITIES,
                "colors": COLORS,
                "animals": ANIMALS,
                "days": DAYS,
            }[k],
            n,
        )
    return "jl|%s|%s" % (k, xs), (k, xs)


def list_turn(ctx):
    k, xs = ctx.draw(_lst)
    t = join_and([str(x) for x in xs])
    s = {
        "fruits": ["I bought %s.", "In the bowl there are %s."],
        "names": ["%s came to the party.", "I met %s today."],
        "cities": ["We visited %s.", "The train stops in %s."],
        "colors": ["The flag is %s.", "I like the colors %s."],
        "numbers": ["The numbers are %s.", "He wrote %s on the board."],
        "animals": ["At the zoo we saw these animals: %s.", "The farm has these animals: %s."],
        "days": ["The shop is open on %s.", "She works on %s."],
    }[k]
    s = ctx.pick(s) % t
    u = ctx.pick(
        [
            "Put all %s into a JSON list: %s",
            "Extract the %s as a JSON array. Text: %s",
            "List the %s as a JSON array: %s",
        ]
    ) % (k, s)
    if ctx.chance(0.4):
        u = ctx.pick(
            [
                "Extract the %s as JSON with the key %s: %s" % (k, k, s),
                "Return a JSON object with a list called %s. Text: %s" % (k, s),
            ]
        )
        return turn(u, dumps({k: xs}), None, {"kind": "json", "val": {k: xs}}, noise=1)
    return turn(u, dumps(xs), None, {"kind": "json", "val": xs}, noise=1)


def _read(ctx):
    name = ctx.pick(list(SCHEMAS))
    d = SCHEMAS[name][0](ctx)
    k = ctx.pick(list(d))
    return "jr|%s|%s" % (dumps(d), k), (name, d, k)


def _js(v):
    return v if isinstance(v, str) else dumps(v)


def read_turn(ctx):
    name, d, k = ctx.draw(_read)
    x = ctx.rng.random()
    if x < 0.45:
        u = ctx.pick(
            [
                'What is the value of "%s" in %s?',
                'Read the field "%s" from %s',
                'Give me "%s" from this JSON: %s',
            ]
        ) % (k, dumps(d))
        return turn(u, _js(d[k]), None, {"kind": "field", "val": _js(d[k])}, noise=1)
    if x < 0.55:
        return (
            turn("Which keys are in %s?" % dumps(d), cap(join_and(list(d))) + ".", None, noise=1)
            if ctx.chance(0.5)
            else turn(
                "How many keys does %s have?" % dumps(d),
                "It has %d keys: %s." % (len(d), join_and(list(d))),
                None,
                noise=1,
            )
        )
    if x < 0.75:
        d2 = dict(d)
        other = SCHEMAS[name][0](ctx)
        while other[k] == d[k]:
            other = SCHEMAS[name][0](ctx)
        d2[k] = other[k]
        u = ctx.pick(['Change "%s" to %s in %s', 'Set "%s" to %s in this JSON: %s']) % (
            k,
            dumps(other[k]),
            dumps(d),
        )
        return turn(u, dumps(d2), None, {"kind": "json", "val": d2}, noise=1)
    if x < 0.87:
        d2 = {a: b for a, b in d.items() if a != k}
        u = ctx.pick(['Remove the key "%s" from %s', 'Delete "%s" from this JSON: %s']) % (
            k,
            dumps(d),
        )
        return turn(u, dumps(d2), None, {"kind": "json", "val": d2}, noise=1)
    nk, nv = ctx.pick(
        [
            ("id", ctx.randint(1, 99)),
            ("active", True),
            ("level", ctx.randint(1, 9)),
            ("tag", ctx.pick(["new", "old", "hot", "sale"])),
            ("ok", False),
        ]
    )
    if nk in d:
        nk, nv = "id", 7
    d2 = dict(d)
    d2[nk] = nv
    u = ctx.pick(['Add the key "%s" with the value %s to %s', 'Add "%s": %s to this JSON: %s']) % (
        nk,
        dumps(nv),
        dumps(d),
    )
    return turn(u, dumps(d2), None, {"kind": "json", "val": d2}, noise=1)


def _valid(ctx):
    name = ctx.pick(list(SCHEMAS))
    d = SCHEMAS[name][0](ctx)
    how = ctx.pick(["ok", "ok", "brace", "quote", "comma", "colon"])
    return "jv|%s|%s" % (dumps(d), how), (d, how)


def valid_turn(ctx):
    d, how = ctx.draw(_valid)
    good = dumps(d)
    bad, why = good, ""
    if how == "brace":
        bad, why = good[:-1], "the closing brace is missing"
    elif how == "quote":
        k = list(d)[0]
        bad, why = good.replace('"%s":' % k, '%s":' % k, 1), "a quote is missing before %s" % k
    elif how == "comma":
        i = good.index(',"')
        bad, why = good[:i] + good[i + 1 :], "a comma is missing"
    elif how == "colon":
        k = list(d)[0]
        bad, why = good.replace('"%s":' % k, '"%s"' % k, 1), 'a colon is missing after "%s"' % k
    u = ctx.pick(["Is this valid JSON? %s", "Check this JSON: %s"]) % bad
    if how == "ok":
        return turn(
            u,
            "Yes, this is valid JSON.",
            None,
            {"kind": "jsoncheck", "src": bad, "ok": True},
            noise=0,
        )
    if ctx.chance(0.4):
        return turn(
            "Fix this JSON: %s" % bad, good, cap(why) + ".", {"kind": "json", "val": d}, noise=0
        )
    return turn(u, "No, %s." % why, None, {"kind": "jsoncheck", "src": bad, "ok": False}, noise=0)


def _many(ctx):
    name = ctx.pick(["person", "product", "pet", "weather", "worker", "order"])
    ds = [SCHEMAS[name][0](ctx) for _ in range(2)]
    return "jm|%s" % dumps(ds), (name, ds)


def many_turn(ctx):
    name, ds = ctx.draw(_many)
    s = " ".join(sentence(ctx, name, d) for d in ds)
    u = ctx.pick(
        [
            "Make a JSON list of objects with %s: %s",
            "Extract all entries as a JSON array with %s. Text: %s",
        ]
    ) % (join_and(list(ds[0])), s)
    return turn(u, dumps(ds), "There are two entries.", {"kind": "json", "val": ds}, noise=1)


def _tosent(ctx):
    name = ctx.pick(["person", "event", "trip", "weather", "product", "server"])
    d = SCHEMAS[name][0](ctx)
    return "js|%s" % dumps(d), (name, d)


def tosent_turn(ctx):
    name, d = ctx.draw(_tosent)
    tpl = SCHEMAS[name][1][0]
    s = tpl
    for k, v in d.items():
        s = s.replace("{%s}" % k, str(v))
    u = ctx.pick(
        [
            "Write a sentence from this JSON: %s",
            "Say this in words: %s",
            "Turn this JSON into a sentence: %s",
        ]
    ) % dumps(d)
    return turn(u, s, None, None, noise=1)


def one(ctx):
    x = ctx.rng.random()
    if x < 0.52:
        return extract_turn(ctx)[0]
    return ctx.wpick(
        [(16, list_turn), (34, read_turn), (14, valid_turn), (10, many_turn), (10, tosent_turn)]
    )(ctx)


def sample(ctx):
    n = ctx.wpick([(52, 1), (30, 2), (18, 3)])
    system = None
    turns = []
    for _ in range(n):
        if not turns and ctx.chance(0.25):
            t, d = extract_turn(ctx)
            turns.append(t)
            if t["m"]["kind"] == "json" and ctx.chance(0.8):
                out = t["m"]["val"]
                k = ctx.pick(list(out))
                if out[k] is not None:
                    turns.append(
                        turn(
                            ctx.pick(["What is the %s?" % k, "Give me only the %s." % k]),
                            _js(out[k]),
                            None,
                            {"kind": "field", "val": _js(out[k])},
                        )
                    )
            continue
        turns.append(one(ctx))
    if all(t["m"] and t["m"]["kind"] == "json" for t in turns) and ctx.chance(0.15):
        system = ctx.pick(
            [
                "Answer only with JSON.",
                "You extract data. Reply with valid JSON only.",
                "Output JSON, no other text.",
            ]
        )
    return build(ctx, "json", turns, system=system)
