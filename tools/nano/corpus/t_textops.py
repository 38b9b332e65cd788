"""Topic 13: lists and operations on text."""

from core import turn, build, cap, join_and, num_words, ORD_WORDS
from words import SIMPLE, NAMES, FRUITS, COLORS, ANIMALS, DAYS, MONTHS

W = [w for w in SIMPLE if 2 < len(w) < 9]
SHORT = [w for w in W if len(w) <= 5]


def spell(w):
    return "-".join(w)


def _word(ctx):
    k = ctx.wpick(
        [
            (9, "rev"),
            (7, "upper"),
            (3, "lower"),
            (9, "spell"),
            (8, "first"),
            (8, "last"),
            (9, "len"),
            (8, "countl"),
            (6, "has"),
            (5, "vowels"),
            (4, "nth"),
            (3, "cap"),
            (3, "firstn"),
            (3, "pal"),
            (3, "repeat"),
            (4, "stars"),
            (3, "dash"),
            (4, "unspell"),
            (3, "plus"),
            (3, "listv"),
        ]
    )
    w = ctx.pick(W if k not in ("rev", "countl") else [x for x in W if len(x) <= 7])
    x = ctx.pick("abcdeghilmnoprstuw") if ctx.chance(0.35) else ctx.pick(w)
    i = ctx.randint(1, min(len(w), 5))
    f = ctx.randint(0, 2)
    if k in ("countl", "has"):
        extra = x
    elif k in ("nth", "firstn"):
        i = max(2, i)
        extra = str(i)
    elif k == "pal":
        if ctx.chance(0.4):
            w = ctx.pick(
                ["level", "noon", "radar", "civic", "eye", "pop", "mom", "wow", "kayak", "refer"]
            )
        extra = ""
    elif k == "repeat":
        i = ctx.randint(2, 4)
        extra = str(i)
    elif k == "plus":
        extra = ctx.pick(SHORT)
    else:
        extra = ""
    return "tx|%s|%s|%s|%d" % (k, w, extra, f), (k, w, extra, f)


def word_turn(ctx):
    k, w, e, f = ctx.draw(_word)
    L = len(w)
    if k == "rev":
        return turn(
            ['Reverse the word "%s".', 'What is "%s" backwards?', 'Write "%s" backwards.'][f] % w,
            w[::-1],
            "%s. Backwards: %s." % (spell(w), spell(w[::-1])),
            {"kind": "rev", "w": w},
            1,
        )
    if k == "upper":
        return turn(
            ['Write "%s" in upper case.', 'Make "%s" upper case.', '"%s" in capital letters?'][f]
            % w,
            w.upper(),
            None,
            {"kind": "exact", "ans": w.upper()},
            1,
        )
    if k == "lower":
        return turn(
            ['Write "%s" in lower case.', 'Make "%s" lower case.', '"%s" in small letters?'][f]
            % w.upper(),
            w,
            None,
            {"kind": "exact", "ans": w},
            1,
        )
    if k == "spell":
        return turn(
            ['Spell "%s".', 'How do you spell "%s"?', 'Spell the word "%s" letter by letter.'][f]
            % w,
            spell(w),
            None,
            {"kind": "spell", "w": w},
            1,
        )
    if k == "unspell":
        return turn(
            ["Which word is %s?", "What word do I spell: %s?", "Put these letters together: %s."][f]
            % spell(w),
            w,
            None,
            {"kind": "exact", "ans": w},
            1,
        )
    if k == "first":
        return turn(
            [
                'What is the first letter of "%s"?',
                'First letter of "%s"?',
                'With which letter does "%s" begin?',
            ][f]
            % w,
            'The first letter of "%s" is %s.' % (w, w[0]),
            None,
            {"kind": "letter", "ans": w[0]},
            1,
        )
    if k == "last":
        return turn(
            [
                'What is the last letter of "%s"?',
                'Last letter of "%s"?',
                'With which letter does "%s" end?',
            ][f]
            % w,
            'The last letter of "%s" is %s.' % (w, w[-1]),
            spell(w) + ".",
            {"kind": "letter", "ans": w[-1]},
            1,
        )
    if k == "len":
        return turn(
            [
                'How many letters does "%s" have?',
                'Count the letters in "%s".',
                'How long is the word "%s"?',
            ][f]
            % w,
            '"%s" has %d letters.' % (w, L),
            "%s. That is %d letters." % (spell(w), L),
            {"kind": "len", "w": w},
            1,
        )
    if k == "countl":
        c = w.count(e)
        return turn(
            [
                'How many times is the letter %s in "%s"?',
                'How many %s are in "%s"?',
                'Count the letter %s in "%s".',
            ][f]
            % (e if f != 1 else e + "'s", w),
            'The letter %s is %d time%s in "%s".' % (e, c, "" if c == 1 else "s", w),
            "%s. I count %s: %d." % (spell(w), e, c),
            {"kind": "countl", "w": w, "l": e},
            1,
        )
    if k == "has":
        y = e in w
        return turn(
            [
                'Does "%s" contain the letter %s?',
                'Is there a letter %s in "%s"?',
                'Is the letter %s in the word "%s"?',
            ][f]
            % ((w, e) if f == 0 else (e, w)),
            (
                'Yes, "%s" contains the letter %s.'
                if y
                else 'No, "%s" does not contain the letter %s.'
            )
            % (w, e),
            spell(w) + ".",
            {"kind": "has", "w": w, "l": e},
            1,
        )
    if k == "vowels":
        vs = [c for c in w if c in "aeiou"]
        return turn(
            [
                'How many vowels does "%s" have?',
                'Count the vowels in "%s".',
                'How many vowels are in "%s"?',
            ][f]
            % w,
            (
                '"%s" has %d vowel%s: %s.'
                % (w, len(vs), "" if len(vs) == 1 else "s", ", ".join(vs))
                if vs
                else '"%s" has no vowels.' % w
            ),
            spell(w) + ".",
            {"kind": "vowels", "w": w},
            1,
        )
    if k == "listv":
        vs = [c for c in w if c not in "aeiou"]
        return turn(
            [
                'Which consonants are in "%s"?',
                'List the consonants of "%s".',
                'Consonants in "%s"?',
            ][f]
            % w,
            ", ".join(vs),
            spell(w) + ".",
            {"kind": "exact", "ans": ", ".join(vs)},
            1,
        )
    if k == "nth":
        n = int(e)
        return turn(
            [
                'What is the %s letter of "%s"?',
                'Which letter is the %s in "%s"?',
                'Give me the %s letter of "%s".',
            ][f]
            % (ORD_WORDS[n], w),
            'The %s letter of "%s" is %s.' % (ORD_WORDS[n], w, w[n - 1]),
            spell(w) + ".",
            {"kind": "letter", "ans": w[n - 1]},
            1,
        )
    if k == "cap":
        return turn(
            [
                'Write "%s" with a capital letter.',
                'Capitalize "%s".',
                'Make the first letter of "%s" a capital.',
            ][f]
            % w,
            cap(w),
            None,
            {"kind": "exact", "ans": cap(w)},
            1,
        )
    if k == "firstn":
        n = int(e)
        return turn(
            [
                'What are the first %s letters of "%s"?',
                'Give me the first %s letters of "%s".',
                'The first %s letters of "%s"?',
            ][f]
            % (num_words(n), w),
            w[:n],
            spell(w) + ".",
            {"kind": "exact", "ans": w[:n]},
            1,
        )
    if k == "pal":
        y = w == w[::-1]
        return turn(
            [
                'Is "%s" a palindrome?',
                'Is "%s" the same backwards?',
                'Can you read "%s" backwards and get the same word?',
            ][f]
            % w,
            ('Yes, "%s" is a palindrome.' if y else 'No, "%s" is not a palindrome.') % w,
            'Backwards it is "%s".' % w[::-1],
            {"kind": "pal", "w": w},
            1,
        )
    if k == "repeat":
        n = int(e)
        return turn(
            ['Repeat the word "%s" %s times.', 'Write "%s" %s times.', 'Say "%s" %s times.'][f]
            % (w, num_words(n)),
            " ".join([w] * n),
            None,
            {"kind": "exact", "ans": " ".join([w] * n)},
            1,
        )
    if k == "stars":
        return turn(
            ['Put stars around "%s".', 'Put "%s" in brackets.', 'Put "%s" in quotes.'][f] % w,
            ["*%s*", "(%s)", '"%s"'][f] % w,
            None,
            None,
            1,
        )
    if k == "dash":
        return turn(
            [
                'Put a dash between the letters of "%s".',
                'Write "%s" with spaces between the letters.',
                'Write "%s" with a comma between the letters.',
            ][f]
            % w,
            ["-", " ", ","][f].join(w),
            None,
            None,
            1,
        )
    return turn(
        ['Join "%s" and "%s".', 'Put "%s" and "%s" together.', 'What do you get from "%s" + "%s"?'][
            f
        ]
        % (w, e),
        w + e,
        None,
        {"kind": "exact", "ans": w + e},
        1,
    )


POOLS = {"fruits": FRUITS, "names": NAMES, "colors": COLORS, "animals": ANIMALS, "words": SHORT}


def _lst(ctx):
    k = ctx.wpick(
        [
            (14, "sort"),
            (4, "sortr"),
            (12, "nsort"),
            (6, "nsortr"),
            (6, "revl"),
            (8, "count"),
            (7, "nth"),
            (6, "longest"),
            (5, "shortest"),
            (5, "dedup"),
            (4, "join"),
            (6, "in"),
            (5, "without"),
            (4, "add"),
            (4, "maxmin"),
            (4, "sum"),
            (4, "firstlast"),
            (4, "even"),
            (5, "before"),
            (5, "howmany"),
            (3, "acro"),
            (3, "number"),
            (3, "sorted?"),
            (3, "pos"),
            (3, "lens"),
        ]
    )
    pool = ctx.pick(list(POOLS))
    n = ctx.randint(3, 5)
    if k in ("nsort", "nsortr", "maxmin", "sum", "even"):
        xs = ctx.sample(range(1, ctx.pick([10, 30, 100])), n)
    elif k == "before":
        xs = ctx.sample([w for w in POOLS[pool]], 2)
    elif k == "dedup":
        b = ctx.sample(POOLS[pool], n - 1)
        xs = ctx.shuffled(b + [ctx.pick(b)])
    elif k == "howmany":
        b = ctx.sample(POOLS[pool], 2)
        xs = ctx.shuffled([b[0]] * ctx.randint(1, 4) + [b[1]] * ctx.randint(1, 3))
    elif k in ("longest", "shortest"):
        for _ in range(50):
            xs = ctx.sample(POOLS[pool], 3)
            ls = sorted(len(x) for x in xs)
            if (ls[-1] > ls[-2]) if k == "longest" else (ls[0] < ls[1]):
                break
        else:
            xs = ["a", "tree", "mountain"]
    else:
        xs = ctx.sample(POOLS[pool], n)
    return "tl|%s|%s" % (k, ",".join(map(str, xs))), (k, xs, pool)


def list_turn(ctx):
    k, xs, pool = ctx.draw(_lst)
    t = ", ".join(map(str, xs))
    n = len(xs)
    J = lambda l: ", ".join(map(str, l))
    if k == "sort":
        s = sorted(xs)
        return turn(
            ctx.pick(
                [
                    "Sort these words alphabetically: %s",
                    "Sort: %s",
                    "Put these in alphabetical order: %s",
                    "Sort the list %s.",
                ]
            )
            % t,
            J(s),
            "First letters: %s." % J([x[0] for x in s]),
            {"kind": "exact", "ans": J(s)},
            1,
        )
    if k == "sortr":
        s = sorted(xs, reverse=True)
        return turn(
            ctx.pick(
                ["Sort from Z to A: %s", "Sort these words in reverse order of the alphabet: %s"]
            )
            % t,
            J(s),
            None,
            {"kind": "exact", "ans": J(s)},
            1,
        )
    if k == "nsort":
        s = sorted(xs)
        return turn(
            ctx.pick(
                [
                    "Sort these numbers: %s",
                    "Put these numbers in order: %s",
                    "Sort from small to big: %s",
                ]
            )
            % t,
            J(s),
            None,
            {"kind": "exact", "ans": J(s)},
            1,
        )
    if k == "nsortr":
        s = sorted(xs, reverse=True)
        return turn(
            ctx.pick(["Sort from big to small: %s", "Sort these numbers from high to low: %s"]) % t,
            J(s),
            None,
            {"kind": "exact", "ans": J(s)},
            1,
        )
    if k == "revl":
        return turn(
            ctx.pick(["Reverse this list: %s", "Write the list backwards: %s"]) % t,
            J(xs[::-1]),
            None,
            {"kind": "exact", "ans": J(xs[::-1])},
            1,
        )
    if k == "count":
        return turn(
            ctx.pick(
                [
                    "How many items are in this list: %s?",
                    "Count the items: %s",
                    "How many words are here: %s?",
                ]
            )
            % t,
            "There are %d." % n,
            "%s." % J("%d %s" % (i + 1, x) for i, x in enumerate(xs)),
            {"kind": "first_int", "ans": n},
            1,
        )
    if k == "nth":
        i = ctx.randint(1, n)
        return turn(
            ctx.pick(["What is the %s item of this list: %s?", "Which is the %s word: %s?"])
            % (ORD_WORDS[i], t),
            "The %s item is %s." % (ORD_WORDS[i], xs[i - 1]),
            None,
            {"kind": "in", "ans": str(xs[i - 1])},
            1,
        )
    if k in ("longest", "shortest"):
        v = max(xs, key=len) if k == "longest" else min(xs, key=len)
        return turn(
            ctx.pick(["Which word is the %s: %s?", "Find the %s word: %s"]) % (k, t),
            '"%s" is the %s word.' % (v, k),
            "%s." % J("%s %d" % (x, len(x)) for x in xs),
            {"kind": "in", "ans": v},
            1,
        )
    if k == "dedup":
        s = list(dict.fromkeys(xs))
        return turn(
            ctx.pick(["Remove duplicates: %s", "Write each word only once: %s"]) % t,
            J(s),
            None,
            {"kind": "exact", "ans": J(s)},
            1,
        )
    if k == "join":
        return turn(
            'Join these words with "and": %s' % t,
            join_and(xs),
            None,
            {"kind": "exact", "ans": join_and(xs)},
            1,
        )
    if k == "in":
        w = ctx.pick(xs) if ctx.chance(0.5) else ctx.pick(POOLS[pool])
        y = w in xs
        return turn(
            'Is "%s" in this list: %s?' % (w, t),
            ('Yes, "%s" is in the list.' if y else 'No, "%s" is not in the list.') % w,
            None,
            None,
            1,
        )
    if k == "without":
        w = ctx.pick(xs)
        s = [x for x in xs if x != w]
        return turn(
            ctx.pick(['Remove "%s" from this list: %s', 'Write the list without "%s": %s'])
            % (w, t),
            J(s),
            None,
            {"kind": "exact", "ans": J(s)},
            1,
        )
    if k == "add":
        w = ctx.pick([x for x in POOLS[pool] if x not in xs])
        if ctx.chance(0.6):
            return turn(
                'Add "%s" to the end of this list: %s' % (w, t),
                J(xs + [w]),
                None,
                {"kind": "exact", "ans": J(xs + [w])},
                1,
            )
        return turn(
            'Put "%s" at the start of this list: %s' % (w, t),
            J([w] + xs),
            None,
            {"kind": "exact", "ans": J([w] + xs)},
            1,
        )
    if k == "maxmin":
        return turn(
            ctx.pick(
                [
                    "What is the biggest and the smallest number: %s?",
                    "Find the maximum and the minimum: %s",
                ]
            )
            % t,
            "The biggest is %d and the smallest is %d." % (max(xs), min(xs)),
            None,
            None,
            1,
        )
    if k == "sum":
        return turn(
            ctx.pick(["Add these numbers: %s", "What is the sum of %s?"]) % t,
            "The sum is %d." % sum(xs),
            "%s = %d." % (" + ".join(map(str, xs)), sum(xs)),
            {"kind": "last_int", "ans": sum(xs)},
            1,
        )
    if k == "firstlast":
        return turn(
            ctx.pick(
                [
                    "What is the first and the last word: %s?",
                    "Give me the first and the last item: %s",
                ]
            )
            % t,
            "%s and %s" % (xs[0], xs[-1]),
            None,
            None,
            1,
        )
    if k == "even":
        want = ctx.pick(["even", "odd"])
        s = [x for x in xs if (x % 2 == 0) == (want == "even")]
        return turn(
            ctx.pick(["Which of these numbers are %s: %s?", "List the %s numbers: %s"]) % (want, t),
            J(s) if s else "None.",
            None,
            {"kind": "exact", "ans": J(s) if s else "None."},
            1,
        )
    if k == "before":
        a, b = xs
        f = min(a, b)
        p = 0
        while p < min(len(a), len(b)) and a[p] == b[p]:
            p += 1
        why = (
            "They differ at letter %d: %s and %s." % (p + 1, a[p], b[p])
            if p < min(len(a), len(b))
            else "One word is the start of the other."
        )
        return turn(
            ctx.pick(
                [
                    'Which word comes first in the alphabet, "%s" or "%s"?',
                    'Which is first in a dictionary: "%s" or "%s"?',
                ]
            )
            % (a, b),
            '"%s" comes first.' % f,
            why,
            {"kind": "in", "ans": f},
            1,
        )
    if k == "howmany":
        w = ctx.pick(sorted(set(xs)))
        c = xs.count(w)
        return turn(
            'How many times is "%s" in this list: %s?' % (w, t),
            '"%s" is %d time%s in the list.' % (w, c, "" if c == 1 else "s"),
            None,
            {"kind": "first_int", "ans": c},
            1,
        )
    if k == "acro":
        s = "".join(x[0].upper() for x in xs)
        return turn(
            "Take the first letters of these words: %s" % t,
            s,
            "%s." % J(x[0] for x in xs),
            {"kind": "exact", "ans": s},
            1,
        )
    if k == "number":
        s = "\n".join("%d. %s" % (i + 1, x) for i, x in enumerate(xs))
        return turn(
            ctx.pick(["Number these words: %s", "Make a numbered list: %s"]) % t,
            s,
            None,
            {"kind": "exact", "ans": s},
            1,
        )
    if k == "sorted?":
        if ctx.chance(0.5):
            xs = sorted(xs)
            t = J(xs)
        y = xs == sorted(xs)
        return turn(
            "Is this list in alphabetical order: %s?" % t,
            (
                "Yes, it is in alphabetical order."
                if y
                else "No. The right order is: %s." % J(sorted(xs))
            ),
            None,
            None,
            1,
        )
    if k == "pos":
        i = ctx.randint(0, n - 1)
        return turn(
            'At which position is "%s": %s?' % (xs[i], t),
            '"%s" is at position %d.' % (xs[i], i + 1),
            None,
            {"kind": "first_int", "ans": i + 1},
            1,
        )
    return turn(
        "Write the number of letters for each word: %s" % t,
        J("%s %d" % (x, len(x)) for x in xs),
        None,
        None,
        1,
    )


def _seq(ctx):
    k = ctx.wpick(
        [
            (10, "add"),
            (4, "sub"),
            (4, "dbl"),
            (3, "sq"),
            (3, "let"),
            (3, "letskip"),
            (2, "day"),
            (2, "month"),
            (3, "alt"),
            (2, "fib"),
            (2, "repeat"),
        ]
    )
    if k == "add":
        a, d = ctx.randint(0, 60), ctx.randint(1, 12)
        xs = [a + d * i for i in range(ctx.randint(4, 6))]
        why = "Each number is %d more." % d
    elif k == "sub":
        d = ctx.randint(1, 9)
        n = ctx.randint(4, 5)
        a = d * n + ctx.randint(0, 50)
        xs = [a - d * i for i in range(n + 1)]
        why = "Each number is %d less." % d
    elif k == "dbl":
        a = ctx.randint(1, 15)
        m = ctx.pick([2, 2, 3, 10]) if a < 6 else 2
        xs = [a * m**i for i in range(5)]
        why = "Each number is %d times the one before." % m
    elif k == "sq":
        a = ctx.randint(1, 10)
        xs = [(a + i) ** 2 for i in range(5)]
        why = "These are square numbers. %d x %d = %d." % (a + 4, a + 4, (a + 4) ** 2)
    elif k in ("let", "letskip"):
        s = 1 if k == "let" else 2
        a = ctx.randint(0, 25 - 4 * s)
        up = ctx.chance(0.6)
        xs = [chr((65 if up else 97) + a + s * i) for i in range(5)]
        why = "These are letters of the alphabet" + (", each second one." if s == 2 else ".")
    elif k == "day":
        a = ctx.randint(0, 6)
        xs = [DAYS[(a + i) % 7] for i in range(4)]
        why = "These are the days of the week."
    elif k == "month":
        a = ctx.randint(0, 11)
        xs = [MONTHS[(a + i) % 12] for i in range(4)]
        why = "These are the months of the year."
    elif k == "alt":
        a, b = ctx.sample(FRUITS + COLORS[:6], 2)
        xs = [a, b, a, b, a] if ctx.chance(0.5) else [a, b, a, b]
        why = "The words %s and %s take turns." % (a, b)
    elif k == "fib":
        a, b = ctx.randint(1, 6), ctx.randint(1, 6)
        xs = [a, b]
        while len(xs) < 6:
            xs.append(xs[-1] + xs[-2])
        why = "Each number is the sum of the two before. %d + %d = %d." % (xs[3], xs[4], xs[5])
    else:
        a, b, c = ctx.sample(range(1, 10), 3)
        xs = [a, b, c, a, b, c, a]
        why = "The numbers %d, %d, %d repeat." % (a, b, c)
    return ("tq|%s|%s" % (k, xs[:-1])).lower(), (k, xs, why)


def seq_turn(ctx):
    k, xs, why = ctx.draw(_seq)
    t = ", ".join(map(str, xs[:-1]))
    num = not isinstance(xs[0], str)
    w = "number" if num else "letter" if k.startswith("let") else "word"
    q = (
        ctx.pick(
            [
                "What comes next: %s?",
                "Continue: %s, ...",
                "What is the next %s: %%s?" % w,
                "Complete the sequence: %s, ?",
            ]
        )
        % t
    )
    a = str(xs[-1]) if q.startswith("Con") else "The next %s is %s." % (w, xs[-1])
    return turn(q, a, why, {"kind": "in", "ans": str(xs[-1])}, 1)


SENT_A = [
    "The cat",
    "The dog",
    "My friend",
    "The old man",
    "A small bird",
    "The teacher",
    "The red car",
    "My sister",
    "The river",
    "The baker",
    "A green frog",
    "The child",
]
SENT_B = [
    "sleeps",
    "runs fast",
    "sings a song",
    "reads a book",
    "is very happy",
    "waits for the bus",
    "drinks water",
    "looks at the moon",
    "is in the garden",
    "likes the rain",
    "makes good bread",
    "goes home",
]
SENT_C = [
    "",
    " today",
    " every day",
    " in the morning",
    " at night",
    " with me",
    " on Monday",
    " again",
    " now",
]


def _sent(ctx):
    s = ctx.pick(SENT_A) + " " + ctx.pick(SENT_B) + ctx.pick(SENT_C)
    k = ctx.pick(
        [
            "words",
            "words",
            "chars",
            "upper",
            "replace",
            "nth",
            "first",
            "last",
            "rev",
            "lower",
            "the",
            "question",
            "not",
            "commas",
        ]
    )
    return "tz|%s|%s" % (k, s), (k, s)


def sentence_turn(ctx):
    k, s = ctx.draw(_sent)
    ws = s.split()
    if k == "words":
        return turn(
            ctx.pick(['How many words are in this sentence: "%s."?', 'Count the words: "%s."']) % s,
            "The sentence has %d words." % len(ws),
            "%s." % ", ".join("%d %s" % (i + 1, w) for i, w in enumerate(ws)),
            {"kind": "first_int", "ans": len(ws)},
            1,
        )
    if k == "upper":
        return turn(
            "Write this in upper case: %s." % s,
            s.upper() + ".",
            None,
            {"kind": "exact", "ans": s.upper() + "."},
            0,
        )
    if k == "lower":
        return turn(
            "Write this in lower case: %s." % s.upper(),
            s.lower() + ".",
            None,
            {"kind": "exact", "ans": s.lower() + "."},
            0,
        )
    if k == "replace":
        i = ctx.randint(0, len(ws) - 1)
        a = ws[i]
        if ws.count(a) > 1 or a in ("The", "A", "My"):
            i = 1
            a = ws[1]
        b = ctx.pick([x for x in SHORT if x != a])
        out = ws[:i] + [b] + ws[i + 1 :]
        return turn(
            'Replace "%s" with "%s" in this sentence: %s.' % (a, b, s),
            " ".join(out) + ".",
            None,
            {"kind": "exact", "ans": " ".join(out) + "."},
            0,
        )
    if k == "nth":
        i = ctx.randint(2, len(ws))
        return turn(
            "What is the %s word of this sentence: %s." % (ORD_WORDS[i], s),
            'The %s word is "%s".' % (ORD_WORDS[i], ws[i - 1]),
            None,
            {"kind": "in", "ans": ws[i - 1]},
            1,
        )
    if k in ("first", "last"):
        return turn(
            "What is the %s word of this sentence: %s." % (k, s),
            'The %s word is "%s".' % (k, ws[0 if k == "first" else -1]),
            None,
            None,
            1,
        )
    if k == "rev":
        return turn(
            "Write the words in reverse order: %s." % s.lower(),
            " ".join(ws[::-1]).lower(),
            None,
            {"kind": "exact", "ans": " ".join(ws[::-1]).lower()},
            1,
        )
    if k == "the":
        w = ctx.pick(ws)
        return turn(
            'Is the word "%s" in this sentence: %s.' % (w, s),
            'Yes, the word "%s" is in the sentence.' % w,
            None,
            None,
            1,
        )
    if k == "question":
        return turn(
            ctx.pick(
                [
                    "Put an exclamation mark at the end: %s.",
                    "End this sentence with an exclamation mark: %s.",
                ]
            )
            % s,
            s + "!",
            None,
            {"kind": "exact", "ans": s + "!"},
            0,
        )
    if k == "not":
        return turn(
            "Repeat this sentence: %s." % s, s + ".", None, {"kind": "exact", "ans": s + "."}, 0
        )
    if k == "commas":
        return turn(
            "Split this sentence into words with commas: %s." % s.lower(),
            ", ".join(w.lower() for w in ws),
            None,
            {"kind": "exact", "ans": ", ".join(w.lower() for w in ws)},
            1,
        )
    return turn(
        "Which is the longest word in this sentence: %s." % s,
        'The longest word is "%s".' % max(ws, key=len),
        None,
        None,
        1,
    )


def one(ctx):
    return ctx.wpick([(46, word_turn), (30, list_turn), (13, seq_turn), (11, sentence_turn)])(ctx)


def sample(ctx):
    n = ctx.wpick([(22, 1), (22, 2), (24, 3), (18, 4), (14, 5)])
    return build(ctx, "textops", [one(ctx) for _ in range(n)], think=0.25)
