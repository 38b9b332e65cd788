"""Topic 8: English <-> Italian / French / Spanish / German."""

from core import turn, build, cap, a_an, plural
from tab_lang import ADJ, LANGS, NOUNS, NUMS, PHRASES, VERBS, WORDS
from words import NAMES

LL = ["it", "fr", "es", "de"]
VOW = "aeiouàèéêìîòôùûœAEIOU"


# ---- noun phrases --------------------------------------------------------------
def it_lo(w):
    return w[0] == "z" or w[:2] in ("gn", "ps") or (w[0] == "s" and w[1] not in "aeiou")


def fr_el(w):
    return w[0] in VOW + "Éé" or w[0] == "h"


def definite(l, n, case="nom"):
    w, g, _ = NOUNS[n][l]
    if l == "it":
        if w[0] in VOW:
            return "l'" + w
        return ("la " if g == "f" else "lo " if it_lo(w) else "il ") + w
    if l == "fr":
        return "l'" + w if fr_el(w) else ("la " if g == "f" else "le ") + w
    if l == "es":
        return ("la " if g == "f" and w != "agua" else "el ") + w
    if case == "acc":
        return {"m": "den ", "f": "die ", "n": "das "}[g] + w
    if case == "dat":
        return {"m": "dem ", "f": "der ", "n": "dem "}[g] + w
    return {"m": "der ", "f": "die ", "n": "das "}[g] + w


def indefinite(l, n, case="nom"):
    w, g, _ = NOUNS[n][l]
    if l == "it":
        if g == "f":
            return "un'" + w if w[0] in VOW else "una " + w
        return ("uno " if it_lo(w) else "un ") + w
    if l == "fr":
        return ("une " if g == "f" else "un ") + w
    if l == "es":
        return ("una " if g == "f" else "un ") + w
    if case == "acc":
        return {"m": "einen ", "f": "eine ", "n": "ein "}[g] + w
    return {"m": "ein ", "f": "eine ", "n": "ein "}[g] + w


def my(l, n):
    w, g, _ = NOUNS[n][l]
    if l == "it":
        if NOUNS[n]["class"] == "f":
            return ("mia " if g == "f" else "mio ") + w
        return ("la mia " if g == "f" else "il mio ") + w
    if l == "fr":
        return ("ma " if g == "f" and not fr_el(w) else "mon ") + w
    if l == "es":
        return "mi " + w
    return ("meine " if g == "f" else "mein ") + w


def adj(l, n, a):
    if l == "de":
        return ADJ[a]["de"]
    return ADJ[a][l][1 if NOUNS[n][l][1] == "f" else 0]


def fem(l, n):
    return NOUNS[n][l][1] == "f"


def by(*cl):
    return [n for n in NOUNS if NOUNS[n]["class"] in cl]


def cnt(*cl):
    return [n for n in by(*cl) if NOUNS[n]["it"][2]]


def en_pl(n):
    return plural(n)


def fr_q(s):
    return s + " ?"


def es_q(s):
    return "¿" + s + "?"


# ---- sentence templates: each returns (key, {lang: sentence}) ---------------------
def s_adj(ctx):
    n = ctx.pick(by("a", "t", "o", "f", "m"))
    cl = NOUNS[n]["class"]
    ok = {
        "a": ["red", "white", "black", "fast", "slow", "big", "small", "old", "beautiful", "clean"],
        "t": list(ADJ),
        "o": ["big", "small", "new", "old", "beautiful", "clean", "cold", "white"],
        "f": ["big", "small", "old", "good", "beautiful"],
        "m": ["cold", "warm", "good"],
    }[cl]
    if n in (
        "pen",
        "apple",
        "egg",
        "key",
        "letter",
        "book",
        "table",
        "chair",
        "door",
        "window",
        "tree",
        "flower",
        "stone",
        "hat",
        "shoe",
        "bag",
        "bed",
        "box",
        "cup",
        "spoon",
        "knife",
    ):
        ok = [a for a in ok if a not in ("fast", "slow")]
    a = ctx.pick(ok)
    if cl == "f":
        en, f = "my " + n, lambda l: my(l, n)
    elif ctx.chance(0.3) and cl != "m":
        en, f = "my " + n, lambda l: my(l, n)
    else:
        en, f = "the " + n, lambda l: definite(l, n)
    be = {
        "it": "è",
        "fr": "est",
        "es": "está" if a in ("cold", "warm", "clean") else "es",
        "de": "ist",
    }
    return "adj|%s|%s" % (en, a), dict(
        en="%s is %s." % (cap(en), a),
        **{l: "%s %s %s." % (cap(f(l)), be[l], adj(l, n, a)) for l in LL}
    )


def s_np(ctx):
    n = ctx.pick(by("a", "t", "o"))
    a = ctx.pick(["red", "blue", "green", "yellow", "white", "black"])
    d = ctx.chance(0.5)
    out = {"en": ("the %s %s" % (a, n)) if d else a_an("%s %s" % (a, n))}
    for l in ("it", "fr", "es"):
        out[l] = (definite(l, n) if d else indefinite(l, n)) + " " + adj(l, n, a)
    w, g, _ = NOUNS[n]["de"]
    st = ADJ[a]["de"]
    if d:
        out["de"] = {"m": "der ", "f": "die ", "n": "das "}[g] + st + "e " + w
    else:
        out["de"] = {"m": "ein %ser ", "f": "eine %se ", "n": "ein %ses "}[g] % st + w
    return "np|%s" % out["en"], out


def s_have(ctx):
    n = ctx.pick(cnt("a", "t"))
    k = ctx.pick(
        [
            "have",
            "see",
            "want",
            "he",
            "she",
            "there",
            "nothave",
            "thisis",
            "twohave",
            "like",
            "here",
            "whereis",
            "thisismy",
        ]
    )
    d = {}
    if k == "have":
        d = {
            "en": "I have %s." % a_an(n),
            "it": "Ho %s." % indefinite("it", n),
            "fr": "J'ai %s." % indefinite("fr", n),
            "es": "Tengo %s." % indefinite("es", n),
            "de": "Ich habe %s." % indefinite("de", n, "acc"),
        }
    elif k == "see":
        d = {
            "en": "I see %s." % a_an(n),
            "it": "Vedo %s." % indefinite("it", n),
            "fr": "Je vois %s." % indefinite("fr", n),
            "es": "Veo %s." % indefinite("es", n),
            "de": "Ich sehe %s." % indefinite("de", n, "acc"),
        }
    elif k == "want":
        d = {
            "en": "I want %s." % a_an(n),
            "it": "Voglio %s." % indefinite("it", n),
            "fr": "Je veux %s." % indefinite("fr", n),
            "es": "Quiero %s." % indefinite("es", n),
            "de": "Ich will %s." % indefinite("de", n, "acc"),
        }
    elif k in ("he", "she"):
        p = {"he": ("He", "Lui", "Il", "Él", "Er"), "she": ("She", "Lei", "Elle", "Ella", "Sie")}[k]
        d = {
            "en": "%s has %s." % (p[0], a_an(n)),
            "it": "%s ha %s." % (p[1], indefinite("it", n)),
            "fr": "%s a %s." % (p[2], indefinite("fr", n)),
            "es": "%s tiene %s." % (p[3], indefinite("es", n)),
            "de": "%s hat %s." % (p[4], indefinite("de", n, "acc")),
        }
    elif k == "there":
        d = {
            "en": "There is %s." % a_an(n),
            "it": "C'è %s." % indefinite("it", n),
            "fr": "Il y a %s." % indefinite("fr", n),
            "es": "Hay %s." % indefinite("es", n),
            "de": "Es gibt %s." % indefinite("de", n, "acc"),
        }
    elif k == "nothave":
        w = NOUNS[n]["fr"][0]
        d = {
            "en": "I do not have %s." % a_an(n),
            "it": "Non ho %s." % indefinite("it", n),
            "fr": "Je n'ai pas %s." % ("d'" + w if fr_el(w) else "de " + w),
            "es": "No tengo %s." % indefinite("es", n),
            "de": "Ich habe k%s." % indefinite("de", n, "acc"),
        }
    elif k == "thisis":
        d = {
            "en": "This is %s." % a_an(n),
            "it": "%s è %s." % ("Questa" if fem("it", n) else "Questo", indefinite("it", n)),
            "fr": "C'est %s." % indefinite("fr", n),
            "es": "Esto es %s." % indefinite("es", n),
            "de": "Das ist %s." % indefinite("de", n),
        }
    elif k == "thisismy":
        d = {
            "en": "This is my %s." % n,
            "it": "%s è %s." % ("Questa" if fem("it", n) else "Questo", my("it", n)),
            "fr": "C'est %s." % my("fr", n),
            "es": "%s es %s." % ("Esta" if fem("es", n) else "Este", my("es", n)),
            "de": "Das ist %s." % my("de", n),
        }
    elif k == "like":
        d = {
            "en": "I like the %s." % n,
            "it": "Mi piace %s." % definite("it", n),
            "fr": "J'aime %s." % definite("fr", n),
            "es": "Me gusta %s." % definite("es", n),
            "de": "Ich mag %s." % definite("de", n, "acc"),
        }
    elif k == "here":
        d = {
            "en": "The %s is here." % n,
            "it": cap(definite("it", n)) + " è qui.",
            "fr": cap(definite("fr", n)) + " est ici.",
            "es": cap(definite("es", n)) + " está aquí.",
            "de": cap(definite("de", n)) + " ist hier.",
        }
    elif k == "whereis":
        return s_where(ctx)
    else:
        m = ctx.pick(NUMS[1:])
        d = {"en": "I have %s %s." % (m, en_pl(n))}
        for l, h in zip(LL, ("Ho", "J'ai", "Tengo", "Ich habe")):
            d[l] = "%s %s %s." % (h, WORDS[m][l], NOUNS[n][l][2])
    return "have|" + d["en"], d


def s_where(ctx):
    n = ctx.pick(by("o", "a", "t", "f"))
    if NOUNS[n]["class"] == "f":
        d = {
            "en": "Where is my %s?" % n,
            "it": "Dov'è %s?" % my("it", n),
            "fr": "Où est %s ?" % my("fr", n),
            "es": "¿Dónde está %s?" % my("es", n),
            "de": "Wo ist %s?" % my("de", n),
        }
    else:
        d = {
            "en": "Where is the %s?" % n,
            "it": "Dov'è %s?" % definite("it", n),
            "fr": "Où est %s ?" % definite("fr", n),
            "es": "¿Dónde está %s?" % definite("es", n),
            "de": "Wo ist %s?" % definite("de", n),
        }
    return "where|" + n, d


def s_verb(ctx):
    v = ctx.pick([x for x in VERBS if x not in ("love", "hear", "see")])
    k = ctx.pick(["want", "notwant", "can", "must", "q"])
    V = VERBS[v]
    d = {
        "want": {
            "en": "I want to %s." % v,
            "it": "Voglio %s.",
            "fr": "Je veux %s.",
            "es": "Quiero %s.",
            "de": "Ich will %s.",
        },
        "notwant": {
            "en": "I do not want to %s." % v,
            "it": "Non voglio %s.",
            "fr": "Je ne veux pas %s.",
            "es": "No quiero %s.",
            "de": "Ich will nicht %s.",
        },
        "can": {
            "en": "I can %s." % v,
            "it": "Posso %s.",
            "fr": "Je peux %s.",
            "es": "Puedo %s.",
            "de": "Ich kann %s.",
        },
        "must": {
            "en": "We must %s." % v,
            "it": "Dobbiamo %s.",
            "fr": "Nous devons %s.",
            "es": "Debemos %s.",
            "de": "Wir müssen %s.",
        },
        "q": {
            "en": "Do you want to %s?" % v,
            "it": "Vuoi %s?",
            "fr": "Tu veux %s ?",
            "es": "¿Quieres %s?",
            "de": "Willst du %s?",
        },
    }[k]
    d = {l: s if l == "en" else s % V[l] for l, s in d.items()}
    return "verb|" + d["en"], d


DRINK = {
    "I": ("I drink", "Bevo", "Je bois", "Bebo", "Ich trinke"),
    "he": ("He drinks", "Lui beve", "Il boit", "Él bebe", "Er trinkt"),
    "she": ("She drinks", "Lei beve", "Elle boit", "Ella bebe", "Sie trinkt"),
    "we": ("We drink", "Beviamo", "Nous buvons", "Bebemos", "Wir trinken"),
}
EAT = {
    "I": ("I eat", "Mangio", "Je mange", "Como", "Ich esse"),
    "he": ("He eats", "Lui mangia", "Il mange", "Él come", "Er isst"),
    "she": ("She eats", "Lei mangia", "Elle mange", "Ella come", "Sie isst"),
    "we": ("We eat", "Mangiamo", "Nous mangeons", "Comemos", "Wir essen"),
}


def s_food(ctx):
    p = ctx.pick(["I", "he", "she", "we"])
    if ctx.chance(0.6):
        n, V = ctx.pick(["water", "milk", "coffee", "tea"]), DRINK[p]
    else:
        n, V = ctx.pick(["bread", "cheese"]), EAT[p]
    w, g, _ = NOUNS[n]["fr"]
    part = "de l'" + w if fr_el(w) else ("de la " if g == "f" else "du ") + w
    d = {
        "en": "%s %s." % (V[0], n),
        "it": "%s %s." % (V[1], NOUNS[n]["it"][0]),
        "fr": "%s %s." % (V[2], part),
        "es": "%s %s." % (V[3], NOUNS[n]["es"][0]),
        "de": "%s %s." % (V[4], NOUNS[n]["de"][0]),
    }
    return "food|" + d["en"], d


def s_prep(ctx):
    a = ctx.pick(
        [
            "cat",
            "dog",
            "book",
            "key",
            "letter",
            "pen",
            "bag",
            "hat",
            "cup",
            "spoon",
            "knife",
            "apple",
            "shoe",
            "box",
        ]
    )
    b = ctx.pick(["table", "chair", "bed", "bridge", "tree"])
    k = ctx.pick(["on", "under"]) if b in ("table", "chair", "bed") else "under"
    itd = definite("it", b)
    if k == "on":
        it = {"il ": "sul ", "lo ": "sullo ", "la ": "sulla "}.get(itd[:3])
        it = (it + itd[3:]) if it else "sull'" + itd[2:]
    else:
        it = "sotto " + itd
    esd = definite("es", b)
    es = (
        ("sobre " + esd)
        if k == "on"
        else ("debajo del " + esd[3:] if esd.startswith("el ") else "debajo de " + esd)
    )
    d = {
        "en": "The %s is %s the %s." % (a, k, b),
        "it": "%s è %s." % (cap(definite("it", a)), it),
        "fr": (
            "%s est %s %s."
            % (cap(definite("fr", a)), "sur" if k == "on" else "sous", definite("fr", b))
        ),
        "es": "%s está %s." % (cap(definite("es", a)), es),
        "de": (
            "%s ist %s %s."
            % (cap(definite("de", a)), "auf" if k == "on" else "unter", definite("de", b, "dat"))
        ),
    }
    return "prep|" + d["en"], d


def s_count(ctx):
    n = ctx.pick(cnt("a", "t", "p", "o", "x"))
    m = ctx.pick(NUMS[1:])
    d = {"en": "%s %s" % (m, en_pl(n))}
    for l in LL:
        d[l] = "%s %s" % (WORDS[m][l], NOUNS[n][l][2])
    return "count|" + d["en"], d


def s_name(ctx):
    x = ctx.pick(NAMES)
    d = {
        "en": "My name is %s." % x,
        "it": "Mi chiamo %s." % x,
        "fr": "Je m'appelle %s." % x,
        "es": "Me llamo %s." % x,
        "de": "Ich heiße %s." % x,
    }
    return "name|" + x, d


def s_phrase(ctx):
    p = ctx.pick(list(PHRASES))
    return "phr|" + p, dict(PHRASES[p], en=p)


SENT = [
    (16, s_adj),
    (12, s_np),
    (22, s_have),
    (6, s_where),
    (11, s_verb),
    (6, s_food),
    (8, s_prep),
    (8, s_count),
    (3, s_name),
    (20, s_phrase),
]
LNAME = dict(LANGS, en="English")
IN_LANG = {
    "it": "Traduci in inglese: %s",
    "fr": "Traduis en anglais : %s",
    "es": "Traduce al inglés: %s",
    "de": "Übersetze ins Englische: %s",
}
TO_LANG = {
    "it": "Traduci in italiano: %s",
    "fr": "Traduis en français : %s",
    "es": "Traduce al español: %s",
    "de": "Übersetze ins Deutsche: %s",
}


def _sent(ctx):
    key, d = ctx.wpick(SENT)(ctx)
    x = ctx.rng.random()
    l = ctx.pick(LL)
    if x < 0.56:
        a, b = "en", l
    elif x < 0.90:
        a, b = l, "en"
    else:
        a, b = ctx.sample(LL, 2)
    i = ctx.randint(0, 5)
    if key.startswith("phr|"):  # single phrases: hold out phrasings, not phrases
        key = ("phr|%s|%s|%s|%d" % (key, a, b, i)) if i else None
    return (key + "|" + a + b) if key else None, (d, a, b, i)


def _styled(ctx, pair):
    key, d = ctx.wpick(SENT)(ctx)
    return "sys|%s|%s%s" % ((key,) + pair), (d,) + pair


def sent_turn(ctx):
    d, a, b, i = ctx.draw(_sent)
    src, dst = d[a], d[b]
    forms = [
        "Translate to %s: %s" % (LNAME[b], src),
        "Translate into %s: %s" % (LNAME[b], src),
        "%s in %s?" % ('"%s"' % src, LNAME[b]),
        'How do you say "%s" in %s?' % (src, LNAME[b]),
        "Translate from %s to %s: %s" % (LNAME[a], LNAME[b], src),
        (
            IN_LANG[a] % src
            if b == "en"
            else (
                TO_LANG[b] % src
                if a == "en"
                else "Translate this %s sentence to %s: %s" % (LNAME[a], LNAME[b], src)
            )
        ),
    ]
    return turn(forms[i], dst, "%s to %s." % (LNAME[a], LNAME[b]), None, noise=1)


# words that exist in several of the languages or mean several things
_multi = {}
for _t in (NOUNS, VERBS, WORDS):
    for _e, _d in _t.items():
        for _l in LL:
            _x = _d[_l][0] if _t is NOUNS else _d[_l]
            _multi.setdefault(_x.lower(), set()).add((_e, _l))
for _e, _d in ADJ.items():
    for _l in LL:
        _multi.setdefault((_d[_l] if _l == "de" else _d[_l][0]).lower(), set()).add((_e, _l))
EN_WORDS = {w.lower() for t in (NOUNS, VERBS, WORDS, ADJ) for w in t}


def _w(ctx):
    x = ctx.rng.random()
    l = ctx.pick(LL)
    if x < 0.55:
        n = ctx.pick(list(NOUNS))
        en, tr = n, NOUNS[n][l][0]
    elif x < 0.68:
        n = ctx.pick(list(VERBS))
        en, tr = "to " + n, VERBS[n][l]
    elif x < 0.78:
        n = ctx.pick(list(ADJ))
        en, tr = n, (ADJ[n][l] if l == "de" else ADJ[n][l][0])
    else:
        n = ctx.pick(list(WORDS))
        en, tr = n, WORDS[n][l]
    f = ctx.pick(["to", "to", "from", "id", "art"])
    i = ctx.randint(0, 3)
    if f == "art" and (n not in NOUNS or en.startswith("to ")):
        f = "to"
    uses = _multi.get(tr.lower(), set())
    if f == "id" and (len({x[1] for x in uses}) > 1 or tr.lower() in EN_WORDS):
        f = "to"
    if f == "from":
        if len({x[0] for x in uses if x[1] == l}) > 1:
            f = "to"
        elif len({x[0] for x in uses}) > 1:
            i = 3
    key = None
    if f == "from" and 0 < i < 3:
        key = "wf|%s|%d" % (tr, i)
    elif i and f != "from":
        key = "w|%s|%s|%s|%d" % (en, l, f, i)
    return key, (en, tr, l, f, i, n)


def word_turn(ctx):
    en, tr, l, f, i, n = ctx.draw(_w)
    L = LANGS[l]
    if f == "to":
        q = [
            'How do you say "%s" in %s?' % (en, L),
            'What is "%s" in %s?' % (en, L),
            'What is the %s word for "%s"?' % (L, en),
            '"%s" in %s?' % (en, L),
        ][i]
        return turn(q, '"%s" in %s is "%s".' % (cap(en), L, tr))
    if f == "from":
        q = [
            'What does "%s" mean in English?' % tr,
            'What is "%s" in English?' % tr,
            'What is the English word for "%s"?' % tr,
            'What does the %s word "%s" mean?' % (L, tr),
        ][i]
        return turn(q, '"%s" means "%s".' % (cap(tr), en))
    if f == "art":
        g = {"m": "masculine", "f": "feminine", "n": "neuter"}[NOUNS[n][l][1]]
        q = [
            'What is "the %s" in %s?' % (en, L),
            'Say "the %s" in %s.' % (en, L),
            'Which article does "%s" have in %s?' % (tr, L),
            'Is "%s" masculine or feminine in %s?' % (tr, L),
        ][i]
        if i < 2:
            return turn(q, cap(definite(l, n)) + ".")
        return turn(q, '"%s" is %s: %s.' % (cap(tr), g, definite(l, n)))
    q = [
        'What language is "%s"?' % tr,
        'In which language is the word "%s"?' % tr,
        'Which language does "%s" come from: Italian, French, Spanish or German?' % tr,
        'Is "%s" Italian, French, Spanish or German?' % tr,
    ][i]
    return turn(q, '"%s" is %s. It means "%s".' % (cap(tr), L, en))


def _all4(ctx):
    n = ctx.pick(list(NOUNS))
    i = ctx.randint(0, 2)
    return ("all4|%s|%d" % (n, i) if i else None), (n, i)


def all4_turn(ctx):
    n, i = ctx.draw(_all4)
    q = [
        'How do you say "%s" in Italian, French, Spanish and German?',
        'Translate the word "%s" into four languages.',
        '"%s" in Italian, French, Spanish and German?',
    ][i] % n
    return turn(
        q, "Italian: %s\nFrench: %s\nSpanish: %s\nGerman: %s" % tuple(definite(l, n) for l in LL)
    )


def one(ctx):
    return ctx.wpick([(62, sent_turn), (34, word_turn), (4, all4_turn)])(ctx)


def sample(ctx):
    n = ctx.wpick([(26, 1), (24, 2), (22, 3), (16, 4), (12, 5)])
    system = None
    if ctx.chance(0.14):
        l = ctx.pick(LL)
        pair = ("en", l) if ctx.chance(0.6) else (l, "en")
        system = ctx.pick(
            ["Translate everything from %s to %s.", "You are a translator from %s to %s."]
        ) % (LNAME[pair[0]], LNAME[pair[1]])
        turns = []
        for _ in range(n):
            d, a, b = ctx.draw(_styled, pair)
            turns.append(turn(d[a], d[b], None, None, noise=0))
        return build(ctx, "translate", turns, system=system)
    return build(ctx, "translate", [one(ctx) for _ in range(n)])
