"""Shared helpers: split hashing, template language, turn and sample building."""

import hashlib
import re

EVAL_MOD = 20  # one combination in EVAL_MOD is held out


def bucket(key):
    """Stable hash bucket of a combination key (independent of PYTHONHASHSEED)."""
    d = hashlib.blake2b(key.encode("utf-8"), digest_size=4).digest()
    return int.from_bytes(d, "big") % EVAL_MOD


def is_heldout(key):
    return bucket(key) == 0


class NoCombo(Exception):
    """raised when a draw finds no combination on the wanted side of the split"""


class Ctx:
    """Random source plus the split mode (train or eval) for one sample."""

    def __init__(self, rng, eval_mode=False, topic=""):
        self.rng = rng
        self.eval_mode = eval_mode
        self.topic = topic

    # -- random helpers -------------------------------------------------
    def pick(self, seq):
        return seq[int(self.rng.random() * len(seq))]

    def chance(self, p):
        return self.rng.random() < p

    def randint(self, a, b):
        return a + int(self.rng.random() * (b - a + 1))

    def sample(self, seq, k):
        return self.rng.sample(seq, k)

    def shuffled(self, seq):
        s = list(seq)
        self.rng.shuffle(s)
        return s

    def wpick(self, pairs):
        """pairs: [(weight, value), ...]"""
        tot = sum(w for w, _ in pairs)
        x = self.rng.random() * tot
        for w, v in pairs:
            x -= w
            if x < 0:
                return v
        return pairs[-1][1]

    def pow(self, lo, hi, bias=1.6):
        """integer in [lo, hi], smaller values more likely"""
        return lo + int((self.rng.random() ** bias) * (hi - lo + 1))

    # -- split ----------------------------------------------------------
    def ok(self, key):
        """key None means: never held out (only allowed in training)."""
        if key is None:
            return not self.eval_mode
        return is_heldout(key) == self.eval_mode

    def draw(self, fn, *args):
        """fn(ctx, *args) -> (key, item); redraw until the key is on our side."""
        for _ in range(400):
            key, item = fn(self, *args)
            if self.ok(key):
                return item
        raise NoCombo(getattr(fn, "__name__", str(fn)))

    def try_draw(self, fn, *args, tries=200):
        """like draw, but returns None when nothing on our side was found"""
        for _ in range(tries):
            key, item = fn(self, *args)
            if self.ok(key):
                return item
        return None

    def expand(self, template, slots=None):
        return expand(self.rng, template, slots or {})


# ---------------------------------------------------------------------------
# Template language:  {a|b|c} alternatives (nestable), <slot>, <^slot> with a
# capital, <a slot> with the indefinite article, <^a slot> both.
# ---------------------------------------------------------------------------
_cache = {}


def _parse(s, i=0, depth=0):
    seq, buf = [], []
    n = len(s)
    while i < n:
        c = s[i]
        if c == "{":
            if buf:
                seq.append("".join(buf))
                buf = []
            alts = []
            i += 1
            while True:
                sub, i = _parse(s, i, depth + 1)
                alts.append(sub)
                if i >= n:
                    raise ValueError("unclosed { in " + s)
                if s[i] == "}":
                    i += 1
                    break
                i += 1  # skip '|'
            seq.append(("alt", alts))
        elif depth and c in "|}":
            break
        elif c == "<":
            j = s.index(">", i)
            name = s[i + 1 : j]
            if buf:
                seq.append("".join(buf))
                buf = []
            cap = name.startswith("^")
            if cap:
                name = name[1:]
            art = name.startswith("a ")
            if art:
                name = name[2:]
            seq.append(("slot", name, cap, art))
            i = j + 1
        else:
            buf.append(c)
            i += 1
    if buf:
        seq.append("".join(buf))
    return seq, i


def _emit(rng, seq, slots, out):
    for e in seq:
        if isinstance(e, str):
            out.append(e)
        elif e[0] == "alt":
            alts = e[1]
            _emit(rng, alts[int(rng.random() * len(alts))], slots, out)
        else:
            v = str(slots[e[1]])
            if e[3]:
                v = a_an(v)
            if e[2]:
                v = cap(v)
            out.append(v)


def expand(rng, template, slots):
    ast = _cache.get(template)
    if ast is None:
        ast, _ = _parse(template)
        _cache[template] = ast
    out = []
    _emit(rng, ast, slots, out)
    return "".join(out)


# ---------------------------------------------------------------------------
# Small text helpers
# ---------------------------------------------------------------------------
_AN_EXCEPT = ("uni", "use", "eu", "one ", "uk")


def a_an(word):
    w = word.lower()
    if w[:1] in "aeiou" and not w.startswith(_AN_EXCEPT):
        return "an " + word
    if w.startswith(("hour", "honest")):
        return "an " + word
    return "a " + word


def cap(s):
    return s[:1].upper() + s[1:]


def join_and(items, word="and"):
    items = list(items)
    if len(items) == 1:
        return items[0]
    return ", ".join(items[:-1]) + " " + word + " " + items[-1]


def plural(noun):
    irr = {
        "child": "children",
        "mouse": "mice",
        "goose": "geese",
        "foot": "feet",
        "tooth": "teeth",
        "man": "men",
        "woman": "women",
        "sheep": "sheep",
        "fish": "fish",
        "deer": "deer",
        "leaf": "leaves",
        "knife": "knives",
        "wolf": "wolves",
        "shelf": "shelves",
        "loaf": "loaves",
        "ox": "oxen",
        "person": "people",
        "half": "halves",
        "scarf": "scarves",
        "life": "lives",
    }
    if noun in irr:
        return irr[noun]
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return noun[:-1] + "ies"
    if noun.endswith(("s", "x", "z", "ch", "sh")):
        return noun + "es"
    if noun in ("tomato", "potato", "hero"):
        return noun + "es"
    return noun + "s"


_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen "
    "fourteen fifteen sixteen seventeen eighteen nineteen"
).split()
_TENS = "_ _ twenty thirty forty fifty sixty seventy eighty ninety".split()


def num_words(n):
    if n < 20:
        return _ONES[n]
    if n < 100:
        return _TENS[n // 10] + ("-" + _ONES[n % 10] if n % 10 else "")
    if n < 1000:
        r = n % 100
        return _ONES[n // 100] + " hundred" + (" and " + num_words(r) if r else "")
    if n == 1000:
        return "one thousand"
    raise ValueError(n)


def ordinal(n):
    if 10 <= n % 100 <= 20:
        return "%dth" % n
    return "%d%s" % (n, {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th"))


ORD_WORDS = (
    "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
).split()


def word_count(s):
    return len(s.split())


# ---------------------------------------------------------------------------
# Turns and samples
# ---------------------------------------------------------------------------
def turn(user, answer, reason=None, meta=None, noise=2):
    """One exchange.  noise: 0 exact text, 1 punctuation/politeness only,
    2 also lower case."""
    return {"u": user, "a": answer, "r": reason, "m": meta, "n": noise}


_PRE = ("Please: ", "Hey, ", "Hi! ", "Hello. ", "OK, ", "Now: ", "Question: ", "Quick question: ")
_POST = (" Please.", " Thanks!", " Thank you.")
_QSTART = re.compile(
    r"^(What|Which|Who|Where|When|How|Is|Are|Do|Does|Can|Could|Why|Tell|Write|Give|"
    r"Make|Show|Explain|Name|Say|Count|Sort|List|Find|Compute|Calculate|Translate)\b"
)


def noisy(ctx, text, level):
    """Light, meaning-preserving variation of what a user types."""
    if level == 0:
        return text
    x = ctx.rng.random()
    single = "\n" not in text
    if text.startswith("What is ") and ctx.rng.random() < 0.07:
        text = "What's " + text[8:]
    if x < 0.10 and single and text[-1:] in ".?" and len(text) > 3 and text[-2] != ".":
        text = text[:-1]
    elif x < 0.13 and single and text[-1:] in ".?" and _QSTART.match(text):
        pre = ctx.pick(_PRE)
        if pre.endswith(", "):
            text = pre + text[:1].lower() + text[1:]
        else:
            text = pre + text
    elif x < 0.155 and single and text[-1:] in ".?":
        text = text + ctx.pick(_POST)
    if level >= 2 and ctx.rng.random() < 0.10:
        text = text.lower()
    return text


NEUTRAL_SYSTEM = (
    "You are a helpful assistant.",
    "You are Colibri-nano, a small helpful assistant.",
    "You are a friendly assistant. Be brief.",
    "Be helpful and clear.",
    "You are Colibri-nano.",
    "Answer clearly and briefly.",
)


DIRECT = "I can answer this directly."


def build(ctx, topic, turns, system=None, tools=None, think=0.08, neutral=0.07):
    """Assemble a chat sample from turns.  The think flag is drawn per sample, so
    either every assistant message has a reasoning or none has."""
    msgs = []
    if system is None and ctx.rng.random() < neutral:
        system = ctx.pick(NEUTRAL_SYSTEM)
    if system:
        msgs.append({"role": "system", "content": system})
    use_think = ctx.rng.random() < think
    meta = []
    for t in turns:
        msgs.append({"role": "user", "content": noisy(ctx, t["u"], t["n"])})
        m = {"role": "assistant", "content": t["a"]}
        if use_think:
            m["reasoning"] = t["r"] or DIRECT
        msgs.append(m)
        if t["m"]:
            meta.append(dict(t["m"], i=len(msgs) - 1))
    s = {"topic": topic, "messages": msgs}
    if tools:
        s["tools"] = tools
    if meta:
        s["meta"] = meta
    return s


def text_sample(topic, text):
    return {"topic": topic, "text": text}
