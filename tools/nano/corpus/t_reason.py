"""Topic 14: small reasoning tasks, with a reasoning text before the answer."""

from core import turn, build, cap, join_and, a_an, plural, num_words
from words import NAMES, GIRLS, DAYS, MONTHS, FRUITS, OBJECTS

NONS = "blip zop wug dax fep gorp lorp mib nup plim quib rilk snib tark vop wem yat zib drum-bug flim".replace(
    "drum-bug", "drub"
).split()
REAL = [
    ("cat", "mammal", "animal"),
    ("rose", "flower", "plant"),
    ("oak", "tree", "plant"),
    ("salmon", "fish", "animal"),
    ("eagle", "bird", "animal"),
    ("apple", "fruit", "food"),
    ("piano", "instrument", "thing"),
    ("bus", "vehicle", "machine"),
    ("hammer", "tool", "thing"),
    ("violin", "instrument", "thing"),
    ("carrot", "vegetable", "food"),
    ("ant", "insect", "animal"),
    ("square", "shape", "figure"),
    ("chair", "piece of furniture", "thing"),
    ("frog", "amphibian", "animal"),
    ("hummingbird", "bird", "animal"),
]
ADJ = [
    "red",
    "blue",
    "green",
    "round",
    "soft",
    "loud",
    "small",
    "heavy",
    "cold",
    "bright",
    "quiet",
    "fast",
]


def he(n):
    return "she" if n in GIRLS else "he"


def _syl(ctx):
    k = ctx.pick(
        [
            "all",
            "all",
            "no",
            "chain",
            "chainno",
            "prop",
            "unk",
            "notconv",
            "modus",
            "tollens",
            "unkmod",
        ]
    )
    n = ctx.pick(NAMES)
    real = ctx.chance(0.35) and k in ("all", "chain", "notconv")
    if real:
        a, b, c = ctx.pick(REAL)
    else:
        a, b, c = ctx.sample(NONS, 3)
    p = ctx.pick(ADJ)
    A, B, C = plural(a), plural(b), plural(c)
    if a == "apple" or b == "piece of furniture":
        B = {"piece of furniture": "pieces of furniture"}.get(b, B)
        C = {"food": "kinds of food"}.get(c, C)
    if c == "food":
        C = "kinds of food"
    if k == "all" and real:
        u = "All %s are %s. %s has %s. Is it %s?" % (A, B, n, a_an(a), a_an(b))
        r, ans = "It is %s. All %s are %s. So it is %s." % (
            a_an(a),
            A,
            B,
            a_an(b),
        ), "Yes, it is %s." % a_an(b)
    elif k == "all":
        u = "All %s are %s. %s is %s. Is %s %s?" % (A, B, n, a_an(a), n, a_an(b))
        r, ans = "%s is %s. All %s are %s. So %s is %s." % (
            n,
            a_an(a),
            A,
            B,
            n,
            a_an(b),
        ), "Yes, %s is %s." % (n, a_an(b))
    elif k == "no":
        u = "No %s is %s. %s is %s. Is %s %s?" % (a, a_an(b), n, a_an(a), n, a_an(b))
        r, ans = "%s is %s. No %s is %s. So %s is not %s." % (
            n,
            a_an(a),
            a,
            a_an(b),
            n,
            a_an(b),
        ), "No, %s is not %s." % (n, a_an(b))
    elif k == "chain":
        u = "All %s are %s. All %s are %s. Are all %s %s?" % (A, B, B, C, A, C)
        r, ans = "%s are %s, and %s are %s. So %s are %s." % (
            cap(A),
            B,
            B,
            C,
            A,
            C,
        ), "Yes, all %s are %s." % (A, C)
    elif k == "chainno":
        u = "All %s are %s. No %s is %s. Can %s be %s?" % (A, B, b, a_an(c), a_an(a), a_an(c))
        r, ans = "%s is %s. No %s is %s. So it cannot be." % (
            cap(a_an(a)),
            a_an(b),
            b,
            a_an(c),
        ), "No, %s cannot be %s." % (a_an(a), a_an(c))
    elif k == "prop":
        u = "All %s are %s. %s has %s. Is the %s of %s %s?" % (A, p, n, a_an(a), a, n, p)
        r, ans = "All %s are %s. So this %s is %s too." % (A, p, a, p), "Yes, it is %s." % p
    elif k == "unk":
        u = "Some %s are %s. %s has %s. Is it %s?" % (A, p, n, a_an(a), p)
        r, ans = "Only some %s are %s. We do not know if this one is." % (A, p), "We cannot know."
    elif k == "notconv":
        u = "All %s are %s. Are all %s %s?" % (A, B, B, A)
        r, ans = (
            "All %s are %s, but this does not work the other way round." % (A, B),
            "No, that does not follow.",
        )
    elif k == "modus":
        lc = ctx.pick(["red", "blue", "green", "yellow", "white", "on"])
        u = (
            "If it rains, %s stays at home. It rains. Where is %s?" % (n, n)
            if p in ADJ[:6]
            else "If the lamp is %s, the door is open. The lamp is %s. Is the door open?" % (lc, lc)
        )
        r, ans = (
            ("It rains, so %s stays at home." % n, "%s is at home." % n)
            if "rains" in u
            else ("The lamp is %s, so the door is open." % lc, "Yes, the door is open.")
        )
    elif k == "tollens":
        u = "If %s is %s, it is %s. It is not %s. Is it %s?" % ("something", a_an(a), p, p, a_an(a))
        r, ans = "If it were %s, it would be %s. But it is not %s. So it is not %s." % (
            a_an(a),
            p,
            p,
            a_an(a),
        ), "No, it is not %s." % a_an(a)
    else:
        u = "If something is %s, it is %s. It is %s. Is it %s?" % (a_an(a), p, p, a_an(a))
        r, ans = "Other things can be %s too. So we do not know." % p, "We cannot know."
    return "rs|" + u, (u, r, ans)


REL = [
    ("taller", "tall", "the tallest", "shorter", "the shortest"),
    ("older", "old", "the oldest", "younger", "the youngest"),
    ("faster", "fast", "the fastest", "slower", "the slowest"),
    ("stronger", "strong", "the strongest", "weaker", "the weakest"),
    ("heavier", "heavy", "the heaviest", "lighter", "the lightest"),
    ("richer", "rich", "the richest", "poorer", "the poorest"),
    ("louder", "loud", "the loudest", "quieter", "the quietest"),
    ("happier", "happy", "the happiest", "sadder", "the saddest"),
]
TH = [
    ("bigger", "big", "the biggest", "smaller", "the smallest"),
    ("heavier", "heavy", "the heaviest", "lighter", "the lightest"),
    ("more expensive", "", "the most expensive", "cheaper", "the cheapest"),
    ("longer", "long", "the longest", "shorter", "the shortest"),
]


def _cmp(ctx):
    n = ctx.wpick([(5, 3), (3, 4), (1, 2)])
    if ctx.chance(0.75):
        xs = ctx.sample(NAMES, n)
        rel = ctx.pick(REL)
        N = lambda x: x
    else:
        xs = ctx.sample(OBJECTS, n)
        rel = ctx.pick(TH)
        N = lambda x: "the " + x
    more, _, most, less, least = rel
    facts = []
    for a, b in zip(xs, xs[1:]):  # xs[0] is the most
        facts.append(
            "%s is %s than %s." % (cap(N(a)), more, N(b))
            if ctx.chance(0.7)
            else "%s is %s than %s." % (cap(N(b)), less, N(a))
        )
    if ctx.chance(0.5):
        ctx.rng.shuffle(facts)
    order = "From %s to %s: %s." % (
        most.replace("the ", ""),
        least.replace("the ", ""),
        ", ".join(xs),
    )
    k = ctx.pick(["most", "least", "cmp", "cmp", "mid"])
    if k == "mid" and n != 3:
        k = "most"
    if k == "most":
        q, a = "%s is %s?" % ("Who" if N("x") == "x" else "What", most), "%s is %s." % (
            cap(N(xs[0])),
            most,
        )
    elif k == "least":
        q, a = "%s is %s?" % ("Who" if N("x") == "x" else "What", least), "%s is %s." % (
            cap(N(xs[-1])),
            least,
        )
    elif k == "mid":
        q, a = "%s is in the middle?" % (
            "Who" if N("x") == "x" else "What"
        ), "%s is in the middle." % cap(N(xs[1]))
    else:
        i, j = sorted(ctx.sample(range(n), 2))
        if ctx.chance(0.5):
            q, a = "Is %s %s than %s?" % (N(xs[i]), more, N(xs[j])), "Yes, %s is %s than %s." % (
                N(xs[i]),
                more,
                N(xs[j]),
            )
        else:
            q, a = "Is %s %s than %s?" % (N(xs[j]), more, N(xs[i])), "No, %s is %s than %s." % (
                N(xs[j]),
                less,
                N(xs[i]),
            )
    return "rc|%s|%s|%s" % (more, xs, k), (" ".join(facts) + " " + q, order, a)


def _order(ctx):
    n = ctx.wpick([(5, 3), (2, 4)])
    xs = ctx.sample(NAMES, n)
    verb, noun = ctx.pick(
        [
            ("arrived", "arrive"),
            ("finished", "finish"),
            ("came", "come"),
            ("left", "leave"),
            ("started", "start"),
            ("woke up", "wake up"),
        ]
    )
    facts = []
    for a, b in zip(xs, xs[1:]):
        facts.append(
            "%s %s before %s." % (a, verb, b)
            if ctx.chance(0.6)
            else "%s %s after %s." % (b, verb, a)
        )
    if ctx.chance(0.4):
        ctx.rng.shuffle(facts)
    k = ctx.pick(["first", "last", "q"])
    if k == "first":
        q, a = "Who %s first?" % verb, "%s %s first." % (xs[0], verb)
    elif k == "last":
        q, a = "Who %s last?" % verb, "%s %s last." % (xs[-1], verb)
    else:
        i, j = sorted(ctx.sample(range(n), 2))
        if ctx.chance(0.5):
            q, a = "Did %s %s before %s?" % (xs[i], noun, xs[j]), "Yes, %s %s before %s." % (
                xs[i],
                verb,
                xs[j],
            )
        else:
            q, a = "Did %s %s before %s?" % (xs[j], noun, xs[i]), "No, %s %s after %s." % (
                xs[j],
                verb,
                xs[i],
            )
    return "ro|%s|%s|%s" % (verb, xs, k), (
        " ".join(facts) + " " + q,
        "The order is: %s." % ", ".join(xs),
        a,
    )


PLACES = [
    "kitchen",
    "garden",
    "bedroom",
    "office",
    "hallway",
    "garage",
    "school",
    "park",
    "bathroom",
    "shop",
]


def _track(ctx):
    a, b = ctx.sample(NAMES, 2)
    o, o2 = ctx.sample(OBJECTS, 2)
    p = ctx.sample(PLACES, 4)
    k = ctx.pick(["person", "carry", "drop", "box", "two", "give", "box2"])
    if k == "person":
        n = ctx.randint(2, 3)
        facts = ["%s went to the %s." % (a, p[0])] + [
            "%s went to the %s." % (a, p[i]) for i in range(1, n)
        ]
        if ctx.chance(0.6):
            facts.insert(ctx.randint(1, n - 1), "%s went to the %s." % (b, p[3]))
        q, r, ans = (
            "Where is %s?" % a,
            "%s went last to the %s." % (a, p[n - 1]),
            "%s is in the %s." % (a, p[n - 1]),
        )
    elif k == "carry":
        facts = ["%s took the %s in the %s." % (a, o, p[0]), "%s went to the %s." % (a, p[1])]
        if ctx.chance(0.5):
            facts.append("%s went to the %s." % (b, p[2]))
        q, r, ans = (
            "Where is the %s?" % o,
            "%s has the %s. %s is in the %s." % (a, o, a, p[1]),
            "The %s is in the %s." % (o, p[1]),
        )
    elif k == "drop":
        facts = [
            "%s took the %s." % (a, o),
            "%s went to the %s." % (a, p[0]),
            "%s put down the %s." % (a, o),
            "%s went to the %s." % (a, p[1]),
        ]
        q, r, ans = (
            "Where is the %s?" % o,
            "%s put down the %s in the %s." % (a, o, p[0]),
            "The %s is in the %s." % (o, p[0]),
        )
    elif k == "box":
        facts = ["The %s is in the %s." % (o, "box"), "The box is in the %s." % p[0]]
        ctx.rng.shuffle(facts)
        q, r, ans = (
            (
                "In which room is the %s?" % o
                if p[0] in ("kitchen", "bedroom", "office", "bathroom")
                else "Where is the %s?" % o
            ),
            "The %s is in the box, and the box is in the %s." % (o, p[0]),
            "The %s is in the %s." % (o, p[0]),
        )
    elif k == "box2":
        facts = [
            "The %s is in the bag." % o,
            "The bag is in the car.",
            "The car is in the %s." % p[0],
        ]
        ctx.rng.shuffle(facts)
        if o in ("bag",):
            return _track(ctx)
        q, r, ans = (
            "Where is the %s in the end?" % o,
            "%s in the bag, bag in the car, car in the %s." % (cap(o), p[0]),
            "The %s is in the %s." % (o, p[0]),
        )
    elif k == "two":
        facts = ["%s has the %s." % (a, o), "%s has the %s." % (b, o2)]
        if ctx.chance(0.5):
            facts.append("They swap.")
            who = b
            r = "At first %s had the %s. After the swap %s has it." % (a, o, b)
        else:
            who = a
            r = "%s has the %s." % (a, o)
        q, ans = "Who has the %s?" % o, "%s has the %s." % (who, o)
    else:
        facts = ["%s had the %s." % (a, o), "%s gave the %s to %s." % (a, o, b)]
        if ctx.chance(0.4):
            c = ctx.pick([n for n in NAMES if n not in (a, b)])
            facts.append("%s gave it to %s." % (b, c))
            b = c
        q, r, ans = (
            "Who has the %s now?" % o,
            "The %s went to %s last." % (o, b),
            "%s has the %s." % (b, o),
        )
    u = " ".join(facts) + " " + q
    return "rt|" + u, (u, r, ans)


def _cal(ctx):
    k = ctx.pick(["days", "days", "ago", "month", "hours", "mins", "week"])
    if k in ("days", "ago"):
        d, n = ctx.randint(0, 6), ctx.randint(1, 9)
        s = 1 if k == "days" else -1
        path = [DAYS[(d + s * i) % 7] for i in range(1, n + 1)]
        u = (
            "Today is %s. What day is it in %d day%s?"
            if s > 0
            else "Today is %s. What day was it %d day%s ago?"
        ) % (DAYS[d], n, "" if n == 1 else "s")
        return "rk|" + u, (
            u,
            "Count: %s." % ", ".join(path),
            "It %s %s." % ("is" if s > 0 else "was", path[-1]),
        )
    if k == "month":
        m, n = ctx.randint(0, 11), ctx.randint(1, 8)
        path = [MONTHS[(m + i) % 12] for i in range(1, n + 1)]
        u = "It is %s. Which month is it in %d month%s?" % (MONTHS[m], n, "" if n == 1 else "s")
        return "rk|" + u, (u, "Count: %s." % ", ".join(path), "It is %s." % path[-1])
    if k == "hours":
        h, n = ctx.randint(0, 23), ctx.randint(1, 10)
        u = "It is %d:00. What time is it in %d hour%s?" % (h, n, "" if n == 1 else "s")
        t = h + n
        return "rk|" + u, (
            u,
            "%d + %d = %d." % (h, n, t) + (" %d - 24 = %d." % (t, t - 24) if t >= 24 else ""),
            "It is %d:00." % (t % 24),
        )
    if k == "mins":
        h, m, n = (
            ctx.randint(1, 22),
            ctx.pick([0, 10, 15, 20, 30, 40, 45]),
            ctx.pick([5, 10, 15, 20, 30, 45]),
        )
        t = m + n
        u = "The train leaves at %d:%02d. The trip takes %d minutes. When does it arrive?" % (
            h,
            m,
            n,
        )
        return "rk|" + u, (
            u,
            "%d + %d = %d minutes." % (m, n, t)
            + (" That is one hour and %d minutes." % (t - 60) if t >= 60 else ""),
            "It arrives at %d:%02d." % (h + t // 60, t % 60),
        )
    d, n = ctx.randint(0, 6), ctx.randint(1, 4)
    u = "Today is %s. What day is it in %s week%s?" % (DAYS[d], num_words(n), "" if n == 1 else "s")
    return "rk|" + u, (u, "After full weeks the day is the same.", "It is %s." % DAYS[d])


def _age(ctx):
    a, b = ctx.sample(NAMES, 2)
    x, d = ctx.randint(5, 60), ctx.randint(1, 15)
    k = ctx.pick(["older", "younger", "in", "ago", "twice", "sum"])
    if k == "older":
        u, r, v = (
            "%s is %d years old. %s is %d year%s older. How old is %s?"
            % (b, x, a, d, "" if d == 1 else "s", a),
            "%d + %d = %d." % (x, d, x + d),
            x + d,
        )
    elif k == "younger":
        d = min(d, x - 1)
        u, r, v = (
            "%s is %d years old. %s is %d year%s younger. How old is %s?"
            % (b, x, a, d, "" if d == 1 else "s", a),
            "%d - %d = %d." % (x, d, x - d),
            x - d,
        )
    elif k == "in":
        u, r, v = (
            "%s is %d years old. How old will %s be in %d year%s?"
            % (a, x, he(a), d, "" if d == 1 else "s"),
            "%d + %d = %d." % (x, d, x + d),
            x + d,
        )
    elif k == "ago":
        d = min(d, x - 1)
        u, r, v = (
            "%s is %d years old. How old was %s %d year%s ago?"
            % (a, x, he(a), d, "" if d == 1 else "s"),
            "%d - %d = %d." % (x, d, x - d),
            x - d,
        )
    elif k == "twice":
        u, r, v = (
            "%s is %d years old. %s is twice as old. How old is %s?" % (b, x, a, a),
            "2 x %d = %d." % (x, 2 * x),
            2 * x,
        )
    else:
        u, r, v = (
            "%s is %d years old and %s is %d years older. How old are they together?"
            % (a, x, b, d + 1),
            "%d + %d = %d; %d + %d = %d." % (x, d + 1, x + d + 1, x, x + d + 1, 2 * x + d + 1),
            2 * x + d + 1,
        )
        return "ra|%s|%d|%d|%s" % (k, x, d, a), (u, r, "Together they are %d years old." % v)
    verb = "will be" if k == "in" else "was" if k == "ago" else "is"
    return "ra|%s|%d|%d|%s" % (k, x, d, a), (
        u,
        r,
        "%s %s %d year%s old." % (a, verb, v, "" if v == 1 else "s"),
    )


def _elim(ctx):
    k = ctx.pick(["box", "who", "color", "three"])
    if k == "box":
        cs = ctx.sample(["red", "blue", "green", "yellow", "white", "black"], 3)
        o = ctx.pick(OBJECTS)
        i = ctx.randint(0, 2)
        no = [c for j, c in enumerate(cs) if j != i]
        u = (
            "There are three boxes: %s. The %s is not in the %s box and not in the %s box. Where"
            " is it?" % (join_and(cs), o, no[0], no[1])
        )
        return "re|" + u, (
            u,
            "Not %s, not %s. Only %s is left." % (no[0], no[1], cs[i]),
            "The %s is in the %s box." % (o, cs[i]),
        )
    if k == "who":
        xs = ctx.sample(NAMES, 3)
        i = ctx.randint(0, 2)
        no = [c for j, c in enumerate(xs) if j != i]
        w = ctx.pick(
            [
                "ate the cake",
                "broke the cup",
                "took the key",
                "opened the window",
                "painted the wall",
                "found the coin",
            ]
        )
        u = "%s were there. One of them %s. It was not %s and it was not %s. Who %s?" % (
            join_and(xs),
            w,
            no[0],
            no[1],
            w,
        )
        return "re|" + u, (
            u,
            "Not %s, not %s. Only %s is left." % (no[0], no[1], xs[i]),
            "%s %s." % (xs[i], w),
        )
    if k == "color":
        a, b = ctx.sample(NAMES, 2)
        c1, c2 = ctx.sample(["red", "blue", "green", "yellow", "white", "black"], 2)
        th = ctx.pick(["hat", "bag", "car", "coat", "cup", "ball", "kite"])
        u = (
            "%s and %s have a %s %s and a %s %s. %s does not have the %s one. Which %s does %s"
            " have?" % (a, b, c1, th, c2, th, a, c1, th, b)
        )
        return "re|" + u, (
            u,
            "%s has the %s one. So %s has the %s one." % (a, c2, b, c1),
            "%s has the %s %s." % (b, c1, th),
        )
    a, b, c = ctx.sample(NAMES, 3)
    f = ctx.sample(FRUITS, 3)
    u = (
        "%s, %s and %s have %s, %s and %s, each one fruit. %s has the %s. %s does not have the %s."
        " What does %s have?" % (a, b, c, a_an(f[0]), a_an(f[1]), a_an(f[2]), a, f[0], b, f[1], b)
    )
    return "re|" + u, (
        u,
        "The %s is taken by %s. %s does not have the %s. The %s is left."
        % (f[0], a, b, f[1], f[2]),
        "%s has the %s." % (b, f[2]),
    )


ANALOG = [
    ("cow", "calf", "dog", "puppy"),
    ("cat", "kitten", "sheep", "lamb"),
    ("hand", "glove", "foot", "sock"),
    ("bird", "nest", "bee", "hive"),
    ("day", "sun", "night", "moon"),
    ("hot", "cold", "big", "small"),
    ("eye", "see", "ear", "hear"),
    ("pen", "write", "knife", "cut"),
    ("fish", "water", "bird", "air"),
    ("king", "queen", "father", "mother"),
    ("up", "down", "left", "right"),
    ("France", "Paris", "Italy", "Rome"),
    ("baker", "bread", "tailor", "clothes"),
    ("car", "road", "train", "rails"),
    ("book", "read", "song", "sing"),
    ("snow", "white", "grass", "green"),
    ("five", "ten", "two", "four"),
    ("boy", "girl", "man", "woman"),
    ("teacher", "school", "doctor", "hospital"),
    ("apple", "fruit", "carrot", "vegetable"),
    ("Monday", "Tuesday", "Friday", "Saturday"),
    ("go", "went", "see", "saw"),
    ("mouse", "mice", "foot", "feet"),
    ("lemon", "yellow", "tomato", "red"),
    ("sad", "happy", "slow", "fast"),
    ("triangle", "three", "square", "four"),
    ("cat", "meow", "dog", "bark"),
    ("water", "drink", "bread", "eat"),
    ("bed", "sleep", "chair", "sit"),
    ("hour", "minute", "minute", "second"),
]


def _analog(ctx):
    a, b, c, d = ctx.pick(ANALOG)
    if ctx.chance(0.5):
        a, b, c, d = c, d, a, b
    i = ctx.randint(0, 2)
    return "rn|%s|%s|%d" % (a, c, i), (
        [
            "%s is to %s as %s is to what?" % (cap(a), b, c),
            "Complete: %s - %s, %s - ?" % (a, b, c),
            "%s goes with %s. What goes with %s?" % (cap(a), b, c),
        ][i],
        "%s belongs to %s in the same way as %s belongs to %s." % (cap(b), a, d, c),
        "%s." % cap(d),
    )


DIRS = ["north", "east", "south", "west"]


def _dir(ctx):
    d = ctx.randint(0, 3)
    n = ctx.randint(1, 3)
    moves = [ctx.pick(["right", "left", "around"]) for _ in range(n)]
    cur, path = d, []
    for m in moves:
        cur = (cur + {"right": 1, "left": -1, "around": 2}[m]) % 4
        path.append("%s: %s" % (m, DIRS[cur]))
    nm = ctx.pick(NAMES)
    u = "%s looks %s. %s. Where does %s look now?" % (
        nm,
        DIRS[d],
        " Then ".join(
            "%s turns %s" % (cap(he(nm)) if i == 0 else he(nm), m) + ("." if i < n - 1 else "")
            for i, m in enumerate(moves)
        ),
        he(nm),
    )
    u = u.replace("..", ".")
    return "rd|%s|%s|%s" % (nm, d, moves), (
        u,
        "Start: %s; %s." % (DIRS[d], "; ".join(path)),
        "%s looks %s." % (nm, DIRS[cur]),
    )


def _family(ctx):
    g = ctx.sample(GIRLS, 2)
    b = ctx.sample([n for n in NAMES if n not in GIRLS], 2)
    k = ctx.pick(["gm", "gf", "sib", "aunt", "uncle", "child"])
    if k == "gm":
        u = "%s is the mother of %s. %s is the father of %s. Who is the grandmother of %s?" % (
            g[0],
            b[0],
            b[0],
            g[1],
            g[1],
        )
        r, a = "%s is the mother of %s's father." % (g[0], g[1]), "%s is the grandmother of %s." % (
            g[0],
            g[1],
        )
    elif k == "gf":
        u = "%s is the father of %s. %s is the mother of %s. Who is the grandfather of %s?" % (
            b[0],
            g[0],
            g[0],
            b[1],
            b[1],
        )
        r, a = "%s is the father of %s's mother." % (b[0], b[1]), "%s is the grandfather of %s." % (
            b[0],
            b[1],
        )
    elif k == "sib":
        u = "%s and %s have the same parents. %s is a girl. What is %s to %s?" % (
            g[0],
            b[0],
            g[0],
            g[0],
            b[0],
        )
        r, a = "Children of the same parents are brothers and sisters. %s is a girl." % g[
            0
        ], "%s is the sister of %s." % (g[0], b[0])
    elif k == "aunt":
        u = "%s is the sister of %s. %s is the father of %s. What is %s to %s?" % (
            g[0],
            b[0],
            b[0],
            g[1],
            g[0],
            g[1],
        )
        r, a = "The sister of the father is the aunt.", "%s is the aunt of %s." % (g[0], g[1])
    elif k == "uncle":
        u = "%s is the brother of %s. %s is the mother of %s. What is %s to %s?" % (
            b[0],
            g[0],
            g[0],
            b[1],
            b[0],
            b[1],
        )
        r, a = "The brother of the mother is the uncle.", "%s is the uncle of %s." % (b[0], b[1])
    else:
        n = ctx.randint(2, 5)
        m = ctx.randint(1, 4)
        u = "%s has %s sons and %s daughter%s. How many children does %s have?" % (
            g[0],
            num_words(n),
            num_words(m),
            "" if m == 1 else "s",
            he(g[0]),
        )
        r, a = "%d + %d = %d." % (n, m, n + m), "%s has %s children." % (g[0], num_words(n + m))
    return "rf|" + u, (u, r, a)


def _more(ctx):
    a, b = ctx.sample(NAMES, 2)
    th = ctx.pick(["apples", "books", "coins", "cards", "shells", "pens", "stamps", "nuts"])
    x, y = ctx.sample(range(1, 40), 2)
    k = ctx.pick(["who", "diff", "less"])
    u = "%s has %d %s and %s has %d %s. " % (a, x, th, b, y, th)
    w = a if x > y else b
    l = b if x > y else a
    if k == "who":
        return "rm|%s|%s|%d|%d" % (a, th, x, y), (
            u + "Who has more?",
            "%d is bigger than %d." % (max(x, y), min(x, y)),
            "%s has more %s." % (w, th),
        )
    if k == "less":
        return "rm|%s|%s|%d|%d" % (a, th, x, y), (
            u + "Who has fewer?",
            "%d is smaller than %d." % (min(x, y), max(x, y)),
            "%s has fewer %s." % (l, th),
        )
    d = abs(x - y)
    return "rm|%s|%s|%d|%d" % (a, th, x, y), (
        u + "How many more does %s have?" % w,
        "%d - %d = %d." % (max(x, y), min(x, y), d),
        "%s has %d more." % (w, d),
    )


SENSE = [
    ("Can a fish ride a bicycle?", "A fish has no legs.", "No, a fish cannot ride a bicycle."),
    (
        "Can you put an elephant into a cup?",
        "An elephant is much bigger than a cup.",
        "No, an elephant is too big for a cup.",
    ),
    ("Which is heavier, a feather or a stone?", "A feather is very light.", "A stone is heavier."),
    (
        "Which is bigger, a mouse or a horse?",
        "A mouse is small and a horse is big.",
        "A horse is bigger.",
    ),
    ("Which is faster, a snail or a rabbit?", "A snail is very slow.", "A rabbit is faster."),
    ("Is fire hot or cold?", "Fire burns.", "Fire is hot."),
    ("Can a stone swim?", "A stone is heavy and sinks.", "No, a stone sinks."),
    (
        "What happens to ice in the sun?",
        "The sun is warm. Ice melts when it is warm.",
        "The ice melts.",
    ),
    ("What happens to a glass that falls on stone?", "Glass is hard but it breaks.", "It breaks."),
    ("I forgot my umbrella and it rains. What happens?", "Rain is water.", "You get wet."),
    (
        "A candle burns for a long time. What happens to it?",
        "The wax burns away.",
        "It gets shorter.",
    ),
    (
        "You put sugar into tea and stir. What happens?",
        "Sugar dissolves in hot water.",
        "The sugar dissolves and the tea is sweet.",
    ),
    ("Which is longer, a day or an hour?", "A day has 24 hours.", "A day is longer."),
    (
        "Which is older, a baby or a grandfather?",
        "A baby is very young.",
        "A grandfather is older.",
    ),
    (
        "Can you see in a dark room without light?",
        "We need light to see.",
        "No, you need light to see.",
    ),
    ("If you drop a ball, where does it go?", "Things fall down.", "It falls down."),
    (
        "Which weighs more, one kilogram of iron or one kilogram of feathers?",
        "Both are one kilogram.",
        "They weigh the same.",
    ),
    (
        "A plant gets no water for a month. What happens?",
        "Plants need water.",
        "The plant dries out.",
    ),
    (
        "Which is bigger, the Sun or the Moon?",
        "The Sun is a star. The Moon is much smaller.",
        "The Sun is bigger.",
    ),
    (
        "Can a door be open and closed at the same time?",
        "Open and closed are opposites.",
        "No, it is either open or closed.",
    ),
]


def _sense(ctx):
    i = ctx.randint(0, len(SENSE) - 1)
    j = ctx.randint(0, 2)
    q, r, a = SENSE[i]
    return ("rz|%d|%d" % (i, j) if j else None), (
        ["%s", "Think: %s", "Think first. %s"][j] % q,
        r,
        a,
    )


KINDS = [
    (22, _syl),
    (22, _cmp),
    (12, _order),
    (14, _track),
    (10, _cal),
    (9, _age),
    (8, _elim),
    (5, _analog),
    (4, _dir),
    (5, _family),
    (6, _more),
    (3, _sense),
]


def one(ctx):
    u, r, a = ctx.draw(ctx.wpick(KINDS))
    return turn(u, a, r, None, noise=1)


def sample(ctx):
    n = ctx.wpick([(34, 1), (30, 2), (22, 3), (14, 4)])
    return build(ctx, "reasoning", [one(ctx) for _ in range(n)], think=0.85)
