"""Topic 4: facts, forward and backward questions."""

from core import turn, build, cap, a_an, ORD_WORDS, join_and, plural
from tab_facts import (
    CATEGORIES,
    COUNTRIES,
    ELEMENTS,
    FORMULAS,
    JOBS,
    MIX,
    OPPOSITES,
    PASTS,
    PLANETS,
    PLURALS,
    ROMAN,
    SENSES,
    SINGLE,
    SYNONYMS,
    THING_COLOR,
    TOOLS,
    UNITS,
)
from tab_facts import ANIMALS as AN
from words import DAYS, MONTHS, MONTH_DAYS
import string


def _art(n):
    return a_an(n)


# Every atom returns (key, turn).  The key is "fact|phrasing"; phrasing 0 is
# never held out (key None in training only) so that each fact is learnable.
def keyed(fact, i, t):
    return ("fact|%s|%d" % (fact, i) if i else None), t


def pickq(ctx, fact, forms, answer, reason=None, meta=None):
    """forms: list of question strings; the first one always stays in training"""
    i = ctx.randint(0, len(forms) - 1)
    return keyed(fact, i, turn(forms[i], answer, reason, meta))


def capital(ctx):
    c = ctx.pick(list(COUNTRIES))
    city, cont, lang = COUNTRIES[c]
    k = ctx.wpick(
        [(5, "f"), (3, "b"), (1.2, "y"), (1.2, "n"), (2, "cont"), (1.5, "lang"), (0.8, "where")]
    )
    if k == "f":
        return pickq(
            ctx,
            "cap|" + c,
            [
                "What is the capital of %s?" % c,
                "Which city is the capital of %s?" % c,
                "Capital of %s?" % c,
                "Name the capital of %s." % c,
                "Tell me the capital of %s." % c,
                "What is %s's capital city?" % c,
                "Do you know the capital of %s?" % c,
            ],
            "The capital of %s is %s." % (c, city),
            "Country: %s. Capital: %s." % (cap(c), city),
        )
    if k == "b":
        return pickq(
            ctx,
            "capb|" + c,
            [
                "%s is the capital of which country?" % city,
                "Which country has the capital %s?" % city,
                "What country is %s the capital of?" % city,
                "Of which country is %s the capital?" % city,
            ],
            "%s is the capital of %s." % (city, c),
            "Capital: %s. Country: %s." % (city, cap(c)),
        )
    if k == "y":
        return pickq(
            ctx,
            "capy|" + c,
            [
                "Is %s the capital of %s?" % (city, c),
                "True or false: %s is the capital of %s." % (city, c),
            ][:1]
            + ["Is the capital of %s %s?" % (c, city)],
            "Yes, %s is the capital of %s." % (city, c),
        )
    if k == "n":
        o = ctx.pick(list(COUNTRIES))
        while o == c:
            o = ctx.pick(list(COUNTRIES))
        return ("fact|capn|%s|%s" % (c, o)), turn(
            "Is %s the capital of %s?" % (COUNTRIES[o][0], c),
            "No, the capital of %s is %s." % (c, city),
        )
    if k == "cont":
        return pickq(
            ctx,
            "cont|" + c,
            [
                "On which continent is %s?" % c,
                "Which continent is %s in?" % c,
                "In which part of the world is %s?" % c,
            ],
            "%s is in %s." % (cap(c), cont),
        )
    if k == "where":
        return pickq(
            ctx,
            "where|" + c,
            [
                "Where is %s?" % city,
                "In which country is %s?" % city,
                "Where can I find the city of %s?" % city,
            ],
            "%s is in %s." % (city, c),
        )
    if not lang:
        return capital(ctx)
    return pickq(
        ctx,
        "lang|" + c,
        [
            "Which language do people speak in %s?" % c,
            "What is the main language of %s?" % c,
            "What do people speak in %s?" % c,
        ],
        "The main language of %s is %s." % (c, lang),
    )


def animal(ctx):
    a = ctx.pick(list(AN))
    cl, legs, food, sound, baby, home = AN[a]
    k = ctx.pick(["cl", "cl", "legs", "food", "sound", "soundb", "baby", "baby", "home", "is"])
    A = _art(a)
    if k == "cl":
        return pickq(
            ctx,
            "cl|" + a,
            [
                "What kind of animal is %s?" % A,
                "Is %s a mammal, a bird, a fish or something else?" % A,
                "Which animal group does the %s belong to?" % a,
            ],
            "%s is %s." % (cap(A), _art(cl)),
        )
    if k == "is":
        g = ctx.pick(["mammal", "bird", "fish", "insect", "reptile"])
        return "fact|is|%s|%s" % (a, g), turn(
            "Is %s %s?" % (A, _art(g)),
            ("Yes, %s is %s." if g == cl else "No, %s is %s.") % (A, _art(cl)),
        )
    if k == "legs" and legs != "":
        n = {0: "no", 2: "two", 4: "four", 6: "six", 8: "eight"}[legs]
        return pickq(
            ctx,
            "legs|" + a,
            ["How many legs does %s have?" % A, "What is the number of legs of %s?" % A],
            "%s has %s legs." % (cap(A), n),
        )
    if k == "food" and food:
        return pickq(
            ctx,
            "food|" + a,
            [
                "Does %s eat plants or meat?" % A,
                "What does %s eat?" % A,
                "What is the food of %s?" % A,
            ],
            "%s eats %s." % (cap(A), food),
        )
    if k == "sound" and sound:
        return pickq(
            ctx,
            "sound|" + a,
            ["What sound does %s make?" % A, "What does %s do when it makes a sound?" % A],
            "%s %s." % (cap(A), sound),
        )
    if k == "soundb" and sound in (
        "meows",
        "moos",
        "neighs",
        "oinks",
        "howls",
        "quacks",
        "hoots",
        "caws",
        "croaks",
        "hisses",
        "brays",
        "honks",
        "clucks",
        "trumpets",
        "coos",
    ):
        opts = [x for x in AN if AN[x][3] == sound]
        return pickq(
            ctx,
            "soundb|" + sound,
            ["Which animal %s?" % sound, "What animal %s?" % sound],
            "%s %s." % (cap(_art(opts[0])), sound),
        )
    if k == "baby" and baby:
        if ctx.chance(0.7) or len([x for x in AN if AN[x][4] == baby]) > 1:
            return pickq(
                ctx,
                "baby|" + a,
                [
                    "What is a baby %s called?" % a,
                    "What do we call the young of %s?" % A,
                    "What is the name for a young %s?" % a,
                ],
                "A baby %s is called %s." % (a, _art(baby)),
            )
        return pickq(
            ctx,
            "babyb|" + a,
            [
                "Which animal is %s the young of?" % _art(baby),
                "%s is the baby of which animal?" % cap(_art(baby)),
            ],
            "%s is a baby %s." % (cap(_art(baby)), a),
        )
    if k == "home" and home:
        return pickq(
            ctx,
            "home|" + a,
            ["Where does %s live?" % A, "What is the home of %s?" % A],
            "%s lives %s %s."
            % (
                cap(A),
                "on" if home in ("the ice", "a pond", "a lake") and cl == "bird" else "in",
                home,
            ),
        )
    return animal(ctx)


def color(ctx):
    if ctx.chance(0.25):
        (a, b), c = ctx.pick(list(MIX.items()))
        if ctx.chance(0.5):
            x, y = (a, b) if ctx.chance(0.5) else (b, a)
            return pickq(
                ctx,
                "mix|" + c + x,
                [
                    "What color do you get when you mix %s and %s?" % (x, y),
                    "What do %s and %s make?" % (x, y),
                    "Mix %s and %s." % (x, y),
                ],
                "%s and %s make %s." % (cap(x), y, c),
            )
        return pickq(
            ctx,
            "mixb|" + c,
            ["Which colors make %s?" % c, "How do you mix %s?" % c],
            "%s and %s make %s." % (cap(a), b, c),
        )
    t = ctx.pick(list(THING_COLOR))
    c = THING_COLOR[t]
    if ctx.chance(0.7):
        return pickq(
            ctx,
            "color|" + t,
            [
                "What color is %s?" % t,
                "Which color does %s have?" % t,
                "Tell me the color of %s." % t,
                "What colour is %s?" % t,
            ],
            "%s is %s." % (cap(t), c),
        )
    o = ctx.pick(["red", "blue", "green", "yellow", "white", "black"])
    return "fact|colorq|%s|%s" % (t, o), turn(
        "Is %s %s?" % (t, o), ("Yes, %s is %s." if o == c else "No, %s is %s.") % (t, c)
    )


def opposite(ctx):
    a, b = ctx.pick(OPPOSITES)
    if ctx.chance(0.5):
        a, b = b, a
    if ctx.chance(0.75):
        return pickq(
            ctx,
            "opp|" + a,
            [
                "What is the opposite of %s?" % a,
                'Opposite of "%s"?' % a,
                'Give me the opposite of "%s".' % a,
                'Which word is the opposite of "%s"?' % a,
                "What is the antonym of %s?" % a,
            ],
            "The opposite of %s is %s." % (a, b),
        )
    if ctx.chance(0.5):
        return pickq(
            ctx,
            "oppy|" + a,
            ["Is %s the opposite of %s?" % (a, b), "Are %s and %s opposites?" % (a, b)],
            "Yes, %s is the opposite of %s." % (a, b),
        )
    c, _ = ctx.pick(OPPOSITES)
    while c in (a, b):
        c, _ = ctx.pick(OPPOSITES)
    return "fact|oppn|%s|%s" % (a, c), turn(
        "Is %s the opposite of %s?" % (c, a), "No, the opposite of %s is %s." % (a, b)
    )


def synonym(ctx):
    a, b = ctx.pick(SYNONYMS)
    return pickq(
        ctx,
        "syn|" + a,
        [
            "What is another word for %s?" % a,
            'Give me a synonym of "%s".' % a,
            'Which word means the same as "%s"?' % a,
            "What is a synonym for %s?" % a,
        ],
        "Another word for %s is %s." % (a, b),
    )


def planet(ctx):
    i = ctx.randint(0, 7)
    p = PLANETS[i]
    k = ctx.randint(0, 4)
    if k == 0:
        return pickq(
            ctx,
            "plord|" + p,
            [
                "What is the %s planet from the Sun?" % ORD_WORDS[i + 1],
                "Which planet is number %d from the Sun?" % (i + 1),
            ],
            "%s is the %s planet from the Sun." % (p, ORD_WORDS[i + 1]),
        )
    if k == 1:
        return pickq(
            ctx,
            "plordb|" + p,
            [
                "Which number is %s, counted from the Sun?" % p,
                "What is the position of %s from the Sun?" % p,
            ],
            "%s is the %s planet from the Sun." % (p, ORD_WORDS[i + 1]),
        )
    if k == 2 and i < 7:
        return pickq(
            ctx,
            "plnext|" + p,
            ["Which planet comes after %s?" % p, "What is the next planet after %s?" % p],
            "%s comes after %s." % (PLANETS[i + 1], p),
        )
    if k == 3 and i > 0:
        return pickq(
            ctx,
            "plprev|" + p,
            ["Which planet comes before %s?" % p, "What planet is just before %s?" % p],
            "%s comes before %s." % (PLANETS[i - 1], p),
        )
    if k == 4:
        o = ctx.pick([x for x in PLANETS if x != p])
        near = p if i < PLANETS.index(o) else o
        return "fact|plnear|%s|%s" % (p, o), turn(
            "Which planet is closer to the Sun, %s or %s?" % (p, o),
            "%s is closer to the Sun." % near,
            "Order: %s." % ", ".join(PLANETS),
        )
    return planet(ctx)


def calendar(ctx):
    if ctx.chance(0.45):
        i = ctx.randint(0, 11)
        m = MONTHS[i]
        k = ctx.randint(0, 4)
        if k == 0:
            if i == 1:
                return pickq(
                    ctx,
                    "mdays|Feb",
                    ["How many days does February have?", "How many days are in February?"],
                    "February has 28 days, and 29 days in a leap year.",
                )
            return pickq(
                ctx,
                "mdays|" + m,
                [
                    "How many days does %s have?" % m,
                    "How many days are in %s?" % m,
                    "How long is the month of %s?" % m,
                ],
                "%s has %d days." % (m, MONTH_DAYS[i]),
            )
        if k == 1:
            return pickq(
                ctx,
                "mnext|" + m,
                [
                    "Which month comes after %s?" % m,
                    "What is the month after %s?" % m,
                    "What month follows %s?" % m,
                ],
                "%s comes after %s." % (MONTHS[(i + 1) % 12], m),
            )
        if k == 2:
            return pickq(
                ctx,
                "mprev|" + m,
                ["Which month comes before %s?" % m, "What is the month before %s?" % m],
                "%s comes before %s." % (MONTHS[i - 1], m),
            )
        if k == 3:
            return pickq(
                ctx,
                "mnum|" + m,
                [
                    "What is the %s month of the year?" % ORD_WORDS[i + 1],
                    "Which month is number %d?" % (i + 1),
                ],
                "The %s month of the year is %s." % (ORD_WORDS[i + 1], m),
            )
        return pickq(
            ctx,
            "mnumb|" + m,
            ["Which number has the month %s?" % m, "What number is the month of %s?" % m],
            "%s is month number %d." % (m, i + 1),
        )
    i = ctx.randint(0, 6)
    d = DAYS[i]
    k = ctx.randint(0, 4)
    if k == 0:
        return pickq(
            ctx,
            "dnext|" + d,
            [
                "Which day comes after %s?" % d,
                "What is the day after %s?" % d,
                "What day follows %s?" % d,
            ],
            "%s comes after %s." % (DAYS[(i + 1) % 7], d),
        )
    if k == 1:
        return pickq(
            ctx,
            "dprev|" + d,
            ["Which day comes before %s?" % d, "What is the day before %s?" % d],
            "%s comes before %s." % (DAYS[i - 1], d),
        )
    if k == 2:
        return pickq(
            ctx,
            "dtom|" + d,
            ["Today is %s. What day is tomorrow?" % d, "If today is %s, what is tomorrow?" % d],
            "Tomorrow is %s." % DAYS[(i + 1) % 7],
        )
    if k == 3:
        return pickq(
            ctx,
            "dyes|" + d,
            ["Today is %s. What day was yesterday?" % d, "If today is %s, what was yesterday?" % d],
            "Yesterday was %s." % DAYS[i - 1],
        )
    w = i >= 5
    return pickq(
        ctx,
        "dwe|" + d,
        ["Is %s a weekend day?" % d, "Is %s on the weekend?" % d],
        ("Yes, %s is a weekend day." if w else "No, %s is a weekday.") % d,
    )


def element(ctx):
    if ctx.chance(0.2):
        n, f = ctx.pick(FORMULAS)
        if ctx.chance(0.5):
            return pickq(
                ctx,
                "form|" + n,
                ["What is the chemical formula of %s?" % n, "Formula of %s?" % n],
                "The formula of %s is %s." % (n, f),
            )
        return pickq(
            ctx,
            "formb|" + n,
            ["What is %s?" % f, "Which substance has the formula %s?" % f],
            "%s is the formula of %s." % (f, n),
        )
    n, s, z = ctx.pick(ELEMENTS)
    k = ctx.wpick([(4, 0), (4, 1), (2, 2), (2, 3)])
    if k == 0:
        return pickq(
            ctx,
            "sym|" + n,
            [
                "What is the chemical symbol of %s?" % n,
                "What is the symbol for %s?" % n,
                "Chemical symbol of %s?" % n,
            ],
            "The chemical symbol of %s is %s." % (n, s),
        )
    if k == 1:
        return pickq(
            ctx,
            "symb|" + n,
            [
                "Which element has the symbol %s?" % s,
                "What element is %s?" % s,
                "What does the chemical symbol %s mean?" % s,
            ],
            "%s is the symbol of %s." % (s, n),
        )
    if k == 2 and z <= 20:
        return pickq(
            ctx,
            "z|" + n,
            ["What is the atomic number of %s?" % n, "How many protons does %s have?" % n],
            "The atomic number of %s is %d." % (n, z),
        )
    if k == 3 and z <= 20:
        return pickq(
            ctx,
            "zb|" + n,
            ["Which element has the atomic number %d?" % z, "Which element has %d protons?" % z],
            "The element with atomic number %d is %s." % (z, n),
        )
    return element(ctx)


def units(ctx):
    w, c, n = ctx.pick(UNITS)
    return pickq(
        ctx,
        "unit|" + w + c,
        [
            (
                "How many %s are in %s?" % (w, c)
                if w
                not in (
                    "sides",
                    "faces",
                    "edges",
                    "corners",
                    "wheels",
                    "strings",
                    "keys",
                    "teeth",
                    "squares",
                    "fingers",
                    "players",
                )
                else "How many %s does %s have?" % (w, c)
            ),
            "What is the number of %s in %s?" % (w, c),
        ],
        "%s has %d %s." % (cap(c), n, w),
    )


def grammar(ctx):
    if ctx.chance(0.45):
        s, p = ctx.pick(PLURALS)
        if ctx.chance(0.75):
            return pickq(
                ctx,
                "pl|" + s,
                [
                    "What is the plural of %s?" % s,
                    'Plural of "%s"?' % s,
                    "How do you write more than one %s?" % s,
                ],
                "The plural of %s is %s." % (s, p),
            )
        return pickq(
            ctx,
            "plb|" + s,
            ["What is the singular of %s?" % p, 'Singular of "%s"?' % p],
            "The singular of %s is %s." % (p, s),
        )
    s, p = ctx.pick(PASTS)
    if ctx.chance(0.75):
        return pickq(
            ctx,
            "past|" + s,
            [
                "What is the past tense of %s?" % s,
                'Past tense of "%s"?' % s,
                'What is the past of "to %s"?' % s,
            ],
            "The past tense of %s is %s." % (s, p),
        )
    return pickq(
        ctx,
        "pastb|" + s,
        ['What is the base form of "%s"?' % p, '"%s" is the past tense of which verb?' % cap(p)],
        '"%s" is the past tense of %s.' % (cap(p), s),
    )


def people(ctx):
    k = ctx.randint(0, 4)
    if k == 0:
        d, j = ctx.pick(JOBS)
        return pickq(
            ctx,
            "job|" + j,
            ["Who %s?" % d, "What do you call a person who %s?" % d],
            "%s %s." % (cap(_art(j)), d),
        )
    if k == 1:
        d, j = ctx.pick(JOBS)
        return pickq(
            ctx,
            "jobb|" + j,
            ["What does %s do?" % _art(j), "What is the job of %s?" % _art(j)],
            "%s %s." % (cap(_art(j)), d),
        )
    if k == 2:
        d, t = ctx.pick(TOOLS)
        return pickq(
            ctx,
            "tool|" + t,
            ["What do you use to %s?" % d, "Which thing do you need to %s?" % d],
            "You use %s to %s." % (t, d),
        )
    if k == 3:
        d, t = ctx.pick(TOOLS)
        return pickq(
            ctx,
            "toolb|" + t,
            [
                "What is %s for?" % t if t not in ("scissors",) else "What are scissors for?",
                "What can you do with %s?" % t,
            ],
            "You use %s to %s." % (t, d),
        )
    d, o = ctx.pick(SENSES)
    return pickq(
        ctx,
        "sense|" + d,
        ["What do we %s with?" % d, "Which part of the body do we use to %s?" % d],
        "We %s with our %s." % (d, o),
    )


def single(ctx):
    i = ctx.randint(0, len(SINGLE) - 1)
    qs, short, full = SINGLE[i]
    return pickq(ctx, "single%d" % i, qs, full)


def roman(ctx):
    n, r = ctx.pick(ROMAN)
    if ctx.chance(0.5):
        return pickq(
            ctx,
            "rom|%d" % n,
            ["What is %d in Roman numerals?" % n, "Write %d as a Roman numeral." % n],
            "%d is %s in Roman numerals." % (n, r),
        )
    return pickq(
        ctx,
        "romb|%d" % n,
        ["What number is the Roman numeral %s?" % r, "Which number is %s in Roman numerals?" % r],
        "The Roman numeral %s is %d." % (r, n),
    )


def alphabet(ctx):
    i = ctx.randint(0, 25)
    L = string.ascii_uppercase[i]
    k = ctx.randint(0, 3)
    if k == 0 and i < 25:
        return pickq(
            ctx,
            "al+|" + L,
            ["Which letter comes after %s?" % L, "What is the next letter after %s?" % L],
            "%s comes after %s." % (string.ascii_uppercase[i + 1], L),
        )
    if k == 1 and i > 0:
        return pickq(
            ctx,
            "al-|" + L,
            ["Which letter comes before %s?" % L, "What letter is before %s?" % L],
            "%s comes before %s." % (string.ascii_uppercase[i - 1], L),
        )
    if k == 2:
        return pickq(
            ctx,
            "aln|" + L,
            [
                "Which number is the letter %s in the alphabet?" % L,
                "What is the position of %s in the alphabet?" % L,
            ],
            "%s is letter number %d." % (L, i + 1),
        )
    if k == 3:
        v = L in "AEIOU"
        return (
            pickq(
                ctx,
                "alv|" + L,
                ["Is %s a vowel?" % L, "Is %s a vowel or a consonant?" % L],
                ("Yes, %s is a vowel." if v else "No, %s is a consonant.") % L,
            )
            if ctx.chance(0.5)
            else pickq(
                ctx,
                "alv2|" + L,
                ["Is the letter %s a vowel or a consonant?" % L],
                "%s is a %s." % (L, "vowel" if v else "consonant"),
            )
        )
    return alphabet(ctx)


def category(ctx):
    c = ctx.pick(list(CATEGORIES))
    ws = CATEGORIES[c]
    k = ctx.randint(0, 2)
    if k == 0:
        w = ctx.pick(ws)
        if c == "planet":
            w, q = w, "What is %s?" % w
        else:
            q = "What kind of thing is %s?" % (
                _art(w)
                if c
                in (
                    "animal",
                    "tool",
                    "instrument",
                    "vehicle",
                    "piece of clothing",
                    "piece of furniture",
                    "shape",
                    "fruit",
                    "vegetable",
                )
                else w
            )
        subj = q[len("What kind of thing is ") : -1] if q.startswith("What kind") else w
        if w in ("orange",) and c == "color":
            return category(ctx)
        return pickq(ctx, "cat|%s|%s" % (c, w), [q], "%s is %s." % (cap(subj), _art(c)))
    if k == 1:
        n = ctx.randint(2, 4)
        xs = ctx.sample(ws, n)
        pl = {
            "piece of clothing": "pieces of clothing",
            "piece of furniture": "pieces of furniture",
        }.get(c, plural(c))
        nw = {2: "two", 3: "three", 4: "four"}[n]
        j = ctx.randint(0, 2)
        return ("fact|catn|%s|%d%d" % (c, n, j) if j else None), turn(
            ["Name %s %s.", "Tell me %s %s.", "Give me %s %s."][j] % (nw, pl),
            cap(join_and(xs)) + ".",
        )
    o = ctx.pick([x for x in CATEGORIES if x != c])
    odd = ctx.pick(CATEGORIES[o])
    if odd in ws:
        return category(ctx)
    xs = ctx.sample(ws, 3)
    pos = ctx.randint(0, 3)
    allx = xs[:pos] + [odd] + xs[pos:]
    pl = {
        "piece of clothing": "pieces of clothing",
        "piece of furniture": "pieces of furniture",
    }.get(c, plural(c))
    return "fact|odd|%s" % "".join(sorted(allx)), turn(
        ctx.pick(["Which word does not fit: %s?", "Find the odd one out: %s."]) % ", ".join(allx),
        '"%s" does not fit. The others are %s.' % (odd, pl),
        "%s are %s. %s is %s." % (cap(join_and(xs)), pl, cap(odd), _art(o)),
        noise=1,
    )


KINDS = [
    (26, capital),
    (12, animal),
    (6, color),
    (10, opposite),
    (5, synonym),
    (5, planet),
    (8, calendar),
    (8, element),
    (5, units),
    (6, grammar),
    (6, people),
    (9, single),
    (2, roman),
    (4, alphabet),
    (8, category),
]


def one_atom(ctx):
    return ctx.wpick(KINDS)(ctx)


def one(ctx):
    return ctx.draw(one_atom)


def sample(ctx):
    n = ctx.wpick([(22, 1), (18, 2), (20, 3), (18, 4), (12, 5), (10, 6)])
    return build(ctx, "facts", [one(ctx) for _ in range(n)])
