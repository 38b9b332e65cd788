"""Topic 3: arithmetic with optional column-style reasoning."""

import re

from core import turn, build, num_words, cap, plural
from words import NAMES, GIRLS, SHOP

THINGS = [
    "apple",
    "pear",
    "book",
    "pen",
    "coin",
    "marble",
    "card",
    "stamp",
    "shell",
    "cookie",
    "egg",
    "flower",
    "stone",
    "ball",
    "cup",
    "key",
    "sticker",
    "button",
    "candle",
    "nut",
]


# ---- reasoning strings -----------------------------------------------------
def add_reason(a, b):
    if a < 10 and b < 10:
        return "%d + %d = %d." % (a, b, a + b)
    da, db = str(a)[::-1], str(b)[::-1]
    out, carry, n = [], 0, max(len(da), len(db))
    names = ["ones", "tens", "hundreds"]
    for i in range(n):
        x = int(da[i]) if i < len(da) else 0
        y = int(db[i]) if i < len(db) else 0
        s = x + y + carry
        expr = "%d + %d" % (x, y) + (" + %d" % carry if carry else "")
        out.append(
            "%s: %s = %d" % (names[i], expr, s)
            + (", write %d carry 1" % (s % 10) if s > 9 and i < n - 1 else "")
        )
        carry = s // 10
    return cap("; ".join(out)) + ". So %d." % (a + b)


def sub_reason(a, b):
    if a < b:
        return "%d is bigger than %d, so the result is negative. %d - %d = %d. So %d." % (
            b,
            a,
            b,
            a,
            b - a,
            a - b,
        )
    if a < 20:
        return "%d - %d = %d." % (a, b, a - b)
    da, db = str(a)[::-1], str(b)[::-1]
    out, borrow = [], 0
    names = ["ones", "tens", "hundreds"]
    for i in range(len(da)):
        x = int(da[i]) - borrow
        y = int(db[i]) if i < len(db) else 0
        if x < y:
            out.append("%s: borrow, %d - %d = %d" % (names[i], x + 10, y, x + 10 - y))
            borrow = 1
        else:
            out.append("%s: %d - %d = %d" % (names[i], x, y, x - y))
            borrow = 0
    return cap("; ".join(out)) + ". So %d." % (a - b)


def mul_reason(a, b):
    if a <= 10 and b <= 10:
        return "%d x %d = %d." % (a, b, a * b)
    if a < b:
        a, b = b, a
    t, o = a // 10 * 10, a % 10
    if o == 0:
        return "%d x %d = %d." % (t, b, t * b)
    return "%d x %d = %d; %d x %d = %d; %d + %d = %d. So %d." % (
        t,
        b,
        t * b,
        o,
        b,
        o * b,
        t * b,
        o * b,
        a * b,
        a * b,
    )


def cmp_reason(a, b):
    if len(str(a)) != len(str(b)):
        big = max(a, b)
        return "Digits: %d has %d, %d has %d. The one with more digits is bigger: %d." % (
            a,
            len(str(a)),
            b,
            len(str(b)),
            big,
        )
    for p, (x, y) in enumerate(zip(str(a), str(b))):
        if x != y:
            return "Compare the digits: %s and %s. %s is bigger. So %d." % (
                x,
                y,
                max(x, y),
                max(a, b),
            )
    return "All digits are the same. They are equal."


# ---- items -----------------------------------------------------------------
BIN_FORMS = [  # (question, answer): sym, word
    ("What is {a} {s} {b}?", "{a} {s} {b} = {c}."),
    ("What is {a}{s}{b}?", "{a} {s} {b} = {c}."),
    ("{a} {s} {b} =", "{c}"),
    ("{a}{s}{b}", "{c}"),
    ("{a} {s} {b}", "{c}"),
    ("Calculate {a} {s} {b}.", "{a} {s} {b} = {c}."),
    ("How much is {a} {w} {b}?", "{a} {w} {b} is {c}."),
    ("What is {a} {w} {b}?", "{a} {w} {b} is {c}."),
    ("Compute {a} {s} {b}.", "{a} {s} {b} = {c}."),
    ("Can you work out {a} {s} {b}?", "{a} {s} {b} = {c}."),
    ("Tell me the result of {a} {w} {b}.", "{a} {w} {b} is {c}."),
]


def _binary(ctx):
    op = ctx.wpick([(45, "+"), (35, "-"), (20, "x")])
    if op == "+":
        d = ctx.wpick([(2, 9), (4, 99), (3, 999)])
        a, b = ctx.randint(0, d), ctx.randint(0, ctx.pick([d, d, 9, 99]) if d > 9 else d)
        c, w, r = a + b, "plus", add_reason(a, b)
    elif op == "-":
        d = ctx.wpick([(2, 18), (4, 99), (3, 999)])
        a, b = ctx.randint(0, d), ctx.randint(0, d)
        if a < b and not (d <= 99 and ctx.chance(0.12)):
            a, b = b, a
        c, w, r = a - b, "minus", sub_reason(a, b)
    else:
        if ctx.chance(0.6):
            a, b = ctx.randint(0, 12), ctx.randint(0, 12)
        else:
            a, b = ctx.randint(11, 99), ctx.randint(2, 9)
            if ctx.chance(0.3):
                a, b = b, a
        c, w, r = a * b, "times", mul_reason(a, b)
    return "bin|%d|%s|%d" % (a, op, b), (a, op, b, c, w, r)


def binary_turn(ctx):
    a, op, b, c, w, r = ctx.draw(_binary)
    q, an = ctx.pick(BIN_FORMS)
    s = op
    if op == "x" and ctx.chance(0.5):
        s = "*"
    f = dict(a=a, b=b, c=c, s=s, w=w)
    return turn(
        q.format(**f),
        an.format(**f),
        r,
        {"kind": "calc", "expr": "%d%s%d" % (a, "*" if op == "x" else op, b), "ans": c},
    )


def _words(ctx):
    op = ctx.pick("+-")
    a, b = ctx.randint(1, 60), ctx.randint(1, 30)
    if op == "-" and a < b:
        a, b = b, a
    return "nw|%d|%s|%d" % (a, op, b), (a, op, b)


def words_turn(ctx):
    a, op, b = ctx.draw(_words)
    c = a + b if op == "+" else a - b
    w = "plus" if op == "+" else "minus"
    u = ctx.pick(["What is %s %s %s?", "How much is %s %s %s?"]) % (num_words(a), w, num_words(b))
    return turn(
        u,
        "%s %s %s is %s." % (cap(num_words(a)), w, num_words(b), num_words(c)),
        "%d %s %d = %d." % (a, op, b, c),
        {"kind": "wordnum", "ans": c},
    )


def _div(ctx):
    b, c = ctx.randint(1, 12), ctx.randint(1, 12)
    rem = ctx.randint(1, b - 1) if b > 1 and ctx.chance(0.3) else 0
    return "div|%d|%d|%d" % (b, c, rem), (b * c + rem, b, c, rem)


def div_turn(ctx):
    a, b, c, rem = ctx.draw(_div)
    if rem:
        u = ctx.pick(
            ["What is %d divided by %d with remainder?", "Divide %d by %d and give the remainder."]
        ) % (a, b)
        return turn(
            u,
            "%d divided by %d is %d, remainder %d." % (a, b, c, rem),
            "%d x %d = %d. %d - %d = %d. So %d remainder %d."
            % (b, c, b * c, a, b * c, rem, c, rem),
            {"kind": "divrem", "a": a, "b": b},
        )
    q, an = ctx.pick(
        [
            ("What is %d / %d?", "%d / %d = %d."),
            ("What is %d divided by %d?", "%d divided by %d is %d."),
            ("Divide %d by %d.", "%d / %d = %d."),
        ]
    )
    return turn(
        q % (a, b),
        an % (a, b, c),
        "%d x %d = %d. So %d." % (b, c, a, c),
        {"kind": "calc", "expr": "%d//%d" % (a, b), "ans": c},
    )


def _cmp(ctx):
    d = ctx.pick([9, 99, 99, 999])
    a, b = ctx.randint(0, d), ctx.randint(0, ctx.pick([d, d, 99]))
    if ctx.chance(0.04):
        b = a
    return "cmp|%d|%d" % (a, b), (a, b)


def cmp_turn(ctx):
    a, b = ctx.draw(_cmp)
    r = cmp_reason(a, b)
    if a == b:
        return turn(
            ctx.pick(["Which is bigger, %d or %d?", "Which number is larger: %d or %d?"]) % (a, b),
            "They are equal.",
            r,
        )
    k = ctx.randint(0, 3)
    if k == 0:
        return turn(
            ctx.pick(
                [
                    "Which is bigger, %d or %d?",
                    "Which number is larger: %d or %d?",
                    "What is more, %d or %d?",
                ]
            )
            % (a, b),
            "%d is bigger." % max(a, b),
            r,
            {"kind": "first_int", "ans": max(a, b)},
        )
    if k == 1:
        return turn(
            ctx.pick(["Which is smaller, %d or %d?", "Which number is less: %d or %d?"]) % (a, b),
            "%d is smaller." % min(a, b),
            r.replace(" So %d." % max(a, b), " So %d is smaller." % min(a, b)),
            {"kind": "first_int", "ans": min(a, b)},
        )
    if k == 2:
        yes = a > b
        return turn(
            ctx.pick(["Is %d bigger than %d?", "Is %d greater than %d?", "Is %d more than %d?"])
            % (a, b),
            "%s, %d is %s than %d."
            % ("Yes" if yes else "No", a, "bigger" if yes else "smaller", b),
            r,
        )
    s = ">" if a > b else "<"
    return turn(
        "Put <, > or = between %d and %d." % (a, b), "%d %s %d" % (a, s, b), r, {"kind": "rel"}
    )


def _single(ctx):
    k = ctx.pick(
        [
            "even",
            "even",
            "double",
            "half",
            "next",
            "prev",
            "sq",
            "round",
            "tens",
            "digits",
            "word",
            "fromword",
            "neg",
        ]
    )
    n = {
        "even": (0, 999),
        "double": (1, 200),
        "half": (1, 200),
        "next": (0, 998),
        "prev": (1, 999),
        "sq": (1, 20),
        "round": (1, 989),
        "tens": (10, 999),
        "digits": (10, 999),
        "word": (0, 999),
        "fromword": (0, 199),
        "neg": (1, 99),
    }[k]
    v = ctx.randint(*n)
    return "one|%s|%d" % (k, v), (k, v)


def single_turn(ctx):
    k, v = ctx.draw(_single)
    if k == "even":
        e = v % 2 == 0
        x = ctx.randint(0, 2)
        if x == 0:
            return turn(
                "Is %d even or odd?" % v,
                "%d is %s." % (v, "even" if e else "odd"),
                "The last digit is %d. It is %s." % (v % 10, "even" if e else "odd"),
            )
        want = ctx.pick(["even", "odd"])
        yes = (want == "even") == e
        return turn(
            ctx.pick(["Is %d %s?", "Is %d an %s number?"]) % (v, want),
            ("Yes, %d is %s." if yes else "No, %d is %s.") % (v, "even" if e else "odd"),
            "The last digit is %d. It is %s." % (v % 10, "even" if e else "odd"),
        )
    if k == "double":
        return turn(
            ctx.pick(["What is the double of %d?", "Double %d.", "What is twice %d?"]) % v,
            "The double of %d is %d." % (v, 2 * v),
            add_reason(v, v),
            {"kind": "last_int", "ans": 2 * v},
        )
    if k == "half":
        v *= 2
        return turn(
            ctx.pick(["What is half of %d?", "Give me half of %d."]) % v,
            "Half of %d is %d." % (v, v // 2),
            "%d + %d = %d. So half is %d." % (v // 2, v // 2, v, v // 2),
            {"kind": "last_int", "ans": v // 2},
        )
    if k == "next":
        return turn(
            ctx.pick(
                [
                    "What number comes after %d?",
                    "What is the next number after %d?",
                    "Count one more than %d.",
                ]
            )
            % v,
            "%d comes after %d." % (v + 1, v),
            None,
            {"kind": "first_int", "ans": v + 1},
        )
    if k == "prev":
        return turn(
            ctx.pick(["What number comes before %d?", "Which number is just before %d?"]) % v,
            "%d comes before %d." % (v - 1, v),
            None,
            {"kind": "first_int", "ans": v - 1},
        )
    if k == "sq":
        return turn(
            ctx.pick(["What is %d squared?", "What is the square of %d?"]) % v,
            "%d squared is %d." % (v, v * v),
            mul_reason(v, v) if v <= 10 else "%d x %d = %d." % (v, v, v * v),
            {"kind": "last_int", "ans": v * v},
        )
    if k == "round":
        o = v % 10
        res = v - o + (10 if o >= 5 else 0)
        return turn(
            ctx.pick(["Round %d to the nearest ten.", "What is %d rounded to the nearest ten?"])
            % v,
            "%d rounded to the nearest ten is %d." % (v, res),
            "The last digit is %d, so I round %s." % (o, "up" if o >= 5 else "down"),
            {"kind": "last_int", "ans": res},
        )
    if k == "tens":
        s = str(v)
        which = ctx.pick(["ones", "tens"] + (["hundreds"] if len(s) == 3 else []))
        d = s[-1 - ["ones", "tens", "hundreds"].index(which)]
        return turn(
            "Which digit is in the %s place of %d?" % (which, v),
            "The %s digit of %d is %s." % (which, v, d),
            "Digits of %d: %s." % (v, ", ".join(s)),
            {"kind": "last_int", "ans": int(d)},
        )
    if k == "digits":
        s = str(v)
        t = sum(map(int, s))
        return turn(
            ctx.pick(["What is the sum of the digits of %d?", "Add the digits of %d."]) % v,
            "%s = %d." % (" + ".join(s), t),
            None,
            {"kind": "last_int", "ans": t},
        )
    if k == "word":
        return turn(
            ctx.pick(
                ["Write %d in words.", "How do you write %d in words?", "Spell the number %d."]
            )
            % v,
            cap(num_words(v)) + ".",
            None,
            {"kind": "wordnum", "ans": v},
        )
    if k == "fromword":
        return turn(
            ctx.pick(['Write "%s" as a number.', 'What number is "%s"?', "Write %s in digits."])
            % num_words(v),
            "%d" % v,
            None,
            {"kind": "last_int", "ans": v},
        )
    return turn("What is %d minus %d?" % (0, v), "0 minus %d is -%d." % (v, v), None)


def _multi(ctx):
    k = ctx.pick(["sum3", "sum3", "sum4", "max", "min", "chain", "pct", "avg"])
    if k in ("sum3", "sum4"):
        xs = [ctx.randint(1, 40) for _ in range(int(k[3]))]
    elif k in ("max", "min"):
        xs = ctx.sample(range(1, ctx.pick([20, 100, 1000])), ctx.randint(3, 5))
    elif k == "chain":
        xs = [ctx.randint(10, 60), ctx.randint(1, 30), ctx.randint(1, 10)]
    elif k == "avg":
        m = ctx.randint(3, 30)
        d = ctx.randint(1, min(m - 1, 8))
        xs = ctx.pick([[m - d, m + d], [m - d, m, m + d]])
    else:
        xs = [ctx.pick([10, 50, 25, 20]), 20 * ctx.randint(1, 25)]
    return "mul|%s|%s" % (k, xs), (k, xs)


def multi_turn(ctx):
    k, xs = ctx.draw(_multi)
    if k in ("sum3", "sum4"):
        t, steps = xs[0], []
        for x in xs[1:]:
            steps.append("%d + %d = %d" % (t, x, t + x))
            t += x
        e = " + ".join(map(str, xs))
        q = ctx.pick(
            [
                "What is %s?" % e,
                "Add %s and %d." % (", ".join(map(str, xs[:-1])), xs[-1]),
                "Sum: %s" % e,
            ]
        )
        return turn(
            q,
            "%s = %d." % (e, t),
            "; ".join(steps) + ".",
            {"kind": "calc", "expr": e.replace(" ", ""), "ans": t},
        )
    if k in ("max", "min"):
        v = max(xs) if k == "max" else min(xs)
        w = ctx.pick(["largest", "biggest"]) if k == "max" else "smallest"
        q = ctx.pick(["What is the %s number in this list: %s?", "Which is the %s: %s?"]) % (
            w,
            ", ".join(map(str, xs)),
        )
        return turn(q, "The %s number is %d." % (w, v), None, {"kind": "last_int", "ans": v})
    if k == "chain":
        a, b, c = xs
        e = "%d + %d - %d" % (a, b, c)
        return turn(
            ctx.pick(["What is %s?", "Calculate %s.", "%s ="]) % e,
            "%s = %d." % (e, a + b - c),
            "%d + %d = %d; %d - %d = %d." % (a, b, a + b, a + b, c, a + b - c),
            {"kind": "calc", "expr": e.replace(" ", ""), "ans": a + b - c},
        )
    if k == "avg":
        m = sum(xs) // len(xs)
        return turn(
            "What is the average of %s?" % (", ".join(map(str, xs[:-1])) + " and %d" % xs[-1]),
            "The average is %d." % m,
            "%s = %d; %d / %d = %d." % (" + ".join(map(str, xs)), sum(xs), sum(xs), len(xs), m),
            {"kind": "last_int", "ans": m},
        )
    p, v = xs
    res = v * p // 100
    why = "%d%% means divide by %d" % (p, 100 // p)
    return turn(
        ctx.pick(["What is %d%% of %d?", "Calculate %d%% of %d."]) % (p, v),
        "%d%% of %d is %d." % (p, v, res),
        why + ". %d / %d = %d." % (v, 100 // p, res),
        {"kind": "last_int", "ans": res},
    )


def _story(ctx):
    k = ctx.pick(["gain", "lose", "each", "share", "pay", "change", "two", "left2"])
    n1, n2 = ctx.sample(NAMES, 2)
    th = ctx.pick(THINGS)
    a, b = ctx.randint(2, 40), ctx.randint(1, 20)
    if k in ("lose", "left2") and a <= b:
        a = a + b
    if k in ("each", "share"):
        a, b = ctx.randint(2, 10), ctx.randint(2, 10)
    if k in ("pay", "change"):
        th = ctx.pick(list(SHOP))
        a, b = ctx.randint(2, 9), SHOP[th]
        if a * b > 90:
            a = 2
    return "ws|%s|%s|%d|%d" % (k, th, a, b), (
        k,
        n1,
        n2,
        th,
        a,
        b,
        ctx.randint(1, max(1, a - b - 1)) if k == "left2" else 0,
    )


def story_turn(ctx):
    k, n1, n2, th, a, b, c = ctx.draw(_story)
    ths = plural(th)

    def N(n):
        return "%d %s" % (n, th if n == 1 else ths)

    he = "she" if n1 in GIRLS else "he"
    if k == "gain":
        u = ctx.pick(
            [
                "%s has %s. %s gives %s %d more. How many %s does %s have now?"
                % (n1, N(a), n2, "her" if he == "she" else "him", b, ths, n1),
                "%s had %s and found %d more. How many %s does %s have?" % (n1, N(a), b, ths, n1),
            ]
        )
        return turn(
            u,
            "%s has %s." % (n1, N(a + b)),
            "%d + %d = %d." % (a, b, a + b),
            {"kind": "first_int", "ans": a + b},
            noise=1,
        )
    if k == "lose":
        u = ctx.pick(
            [
                "%s has %s. %s loses %d. How many %s are left?" % (n1, N(a), cap(he), b, ths),
                "%s had %s and gave %d to %s. How many %s does %s have left?"
                % (n1, N(a), b, n2, ths, n1),
            ]
        )
        return turn(
            u,
            "%s has %s left." % (n1, N(a - b)),
            "%d - %d = %d." % (a, b, a - b),
            {"kind": "first_int", "ans": a - b},
            noise=1,
        )
    if k == "each":
        u = ctx.pick(
            [
                "There are %d boxes with %s in each box. How many %s are there?" % (a, N(b), ths),
                "%s has %d bags. Each bag has %s. How many %s does %s have?"
                % (n1, a, N(b), ths, n1),
            ]
        )
        return turn(
            u,
            "There are %s." % N(a * b) if u.startswith("There") else "%s has %s." % (n1, N(a * b)),
            "%d x %d = %d." % (a, b, a * b),
            {"kind": "first_int", "ans": a * b},
            noise=1,
        )
    if k == "share":
        t = a * b
        u = "%d friends share %s equally. How many %s does each friend get?" % (a, N(t), ths)
        return turn(
            u,
            "Each friend gets %s." % N(b),
            "%d / %d = %d." % (t, a, b),
            {"kind": "first_int", "ans": b},
            noise=1,
        )
    if k == "pay":
        u = ctx.pick(
            [
                "%s %s costs %d euros. How much do %d %s cost?" % ("One", th, b, a, ths),
                "A shop sells %s for %d euros each. %s buys %d. How much does %s pay?"
                % (ths, b, n1, a, n1),
            ]
        )
        tot = a * b
        return turn(
            u,
            "%s %d euros." % ("They cost" if u.startswith("One") else "%s pays" % n1, tot),
            "%d x %d = %d." % (a, b, tot),
            {"kind": "first_int", "ans": tot},
            noise=1,
        )
    if k == "change":
        tot = a * b
        note = next(x for x in (5, 10, 20, 50, 100) if x >= tot)
        u = "%s buys %s for %d euros each and pays with %d euros. How much change does %s get?" % (
            n1,
            N(a),
            b,
            note,
            he,
        )
        return turn(
            u,
            "%s gets %d euros back." % (n1, note - tot),
            "%d x %d = %d; %d - %d = %d." % (a, b, tot, note, tot, note - tot),
            {"kind": "first_int", "ans": note - tot},
            noise=1,
        )
    if k == "two":
        u = "%s has %s and %s has %s. How many %s do they have together?" % (
            n1,
            N(a),
            n2,
            N(b),
            ths,
        )
        return turn(
            u,
            "Together they have %s." % N(a + b),
            "%d + %d = %d." % (a, b, a + b),
            {"kind": "first_int", "ans": a + b},
            noise=1,
        )
    c = min(c, a - b)
    u = "%s has %s. %s gives %d to %s and loses %d. How many are left?" % (
        n1,
        N(a),
        cap(he),
        b,
        n2,
        c,
    )
    return turn(
        u,
        "%d %s left." % (a - b - c, "is" if a - b - c == 1 else "are"),
        "%d - %d = %d; %d - %d = %d." % (a, b, a - b, a - b, c, a - b - c),
        {"kind": "first_int", "ans": a - b - c},
        noise=1,
    )


KINDS = [
    (46, binary_turn),
    (5, words_turn),
    (8, div_turn),
    (10, cmp_turn),
    (12, single_turn),
    (9, multi_turn),
    (14, story_turn),
]


def one(ctx):
    return ctx.wpick(KINDS)(ctx)


def _follow(ctx, turns):
    """a chained follow-up on the last numeric answer"""
    m = turns[-1]["m"]
    if not m or m.get("kind") not in ("calc", "last_int", "first_int"):
        return None
    v = m["ans"]
    if not 0 <= v <= 900:
        return None
    k = ctx.randint(1, 30)
    if ctx.chance(0.5) or v < k:
        return turn(
            ctx.pick(["Now add %d.", "Add %d to that.", "Plus %d?"]) % k,
            "%d + %d = %d." % (v, k, v + k),
            add_reason(v, k),
            {"kind": "calc", "expr": "%d+%d" % (v, k), "ans": v + k},
        )
    return turn(
        ctx.pick(["Now take away %d.", "Subtract %d from that.", "Minus %d?"]) % k,
        "%d - %d = %d." % (v, k, v - k),
        sub_reason(v, k),
        {"kind": "calc", "expr": "%d-%d" % (v, k), "ans": v - k},
    )


def _follow_keyed(ctx, turns):
    t = _follow(ctx, turns)
    a, op, b = re.match(r"(\d+)([+-])(\d+)$", t["m"]["expr"]).groups()
    return "bin|%s|%s|%s" % (a, op, b), t


def sample(ctx):
    n = ctx.wpick([(22, 1), (20, 2), (22, 3), (16, 4), (12, 5), (8, 6)])
    turns = [one(ctx)]
    while len(turns) < n:
        if ctx.chance(0.2):
            m = turns[-1]["m"]
            if (
                m
                and m.get("kind") in ("calc", "last_int", "first_int")
                and 0 <= m["ans"] <= 900
                and not turns[-1]["u"].startswith(
                    ("Which", "What is more", "What number", "Write", "What is the smallest")
                )
            ):
                t = ctx.try_draw(_follow_keyed, turns)
                if t:
                    turns.append(t)
                    continue
        turns.append(one(ctx))
    return build(ctx, "arithmetic", turns, think=0.5)
