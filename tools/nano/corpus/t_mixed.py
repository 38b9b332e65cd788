"""Multi-turn memory conversations, style system prompts, and "I do not know"."""

import json

from core import turn, build, cap, join_and, a_an, num_words, plural
from words import NAMES, CITIES, HOBBIES, JOBS, FRUITS, MONTHS, DAYS, SIMPLE
import t_facts
import t_math
import t_textops
import t_translate
import t_colibri
import t_smalltalk
import t_reason
import t_chinese
import t_json
import t_science
import tab_facts
import tab_lang

PETS = ["cat", "dog", "rabbit", "parrot", "hamster", "turtle", "pony", "goldfish"]
PETN = [
    "Rex",
    "Luna",
    "Milo",
    "Bella",
    "Kiki",
    "Toto",
    "Nala",
    "Biscuit",
    "Pepper",
    "Coco",
    "Rocky",
    "Daisy",
]
FOODS = ["pizza", "pasta", "soup", "bread", "cheese", "rice", "cake", "salad", "honey", "chocolate"]
LIKE_COL = ["red", "blue", "green", "yellow", "white", "black"]


# ---------------------------------------------------------------------------
# memory
# ---------------------------------------------------------------------------
def facts_about_user(ctx):
    """-> list of (kind, value, statement, [(question, answer)])"""
    n = ctx.pick(NAMES)
    out = {}
    age = ctx.randint(6, 80)
    city = ctx.pick(CITIES)
    col = ctx.pick(LIKE_COL)
    num = ctx.randint(2, 99)
    pet, pn = ctx.pick(PETS), ctx.pick(PETN)
    job = ctx.pick(JOBS)
    hob = ctx.pick(HOBBIES)
    fr = ctx.pick([x for x in NAMES if x != n])
    mo = ctx.pick(MONTHS)
    food = ctx.pick(FOODS)
    w = ctx.pick(SIMPLE)
    k = ctx.randint(2, 9)
    th = ctx.pick(FRUITS)
    out["name"] = (
        n,
        ["My name is %s." % n, "I am %s." % n, "Hi, I am %s." % n],
        [
            ("What is my name?", "Your name is %s." % n),
            ("Do you remember my name?", "Yes, your name is %s." % n),
            ("Who am I?", "You are %s." % n),
            ("Spell my name.", "-".join(n)),
            ("How many letters does my name have?", "Your name %s has %d letters." % (n, len(n))),
            ("What is the first letter of my name?", "The first letter of your name is %s." % n[0]),
            ("Write my name in upper case.", n.upper()),
            ("Say goodbye to me by name.", "Goodbye, %s!" % n),
        ],
    )
    out["age"] = (
        age,
        ["I am %d years old." % age, "My age is %d." % age],
        [
            ("How old am I?", "You are %d years old." % age),
            ("How old will I be next year?", "You will be %d." % (age + 1)),
            ("How old was I last year?", "You were %d." % (age - 1)),
            ("Is my age even or odd?", "%d is %s." % (age, "even" if age % 2 == 0 else "odd")),
            ("How old will I be in 10 years?", "You will be %d." % (age + 10)),
        ],
    )
    out["city"] = (
        city,
        ["I live in %s." % city, "I am from %s." % city, "My home is %s." % city],
        [
            ("Where do I live?", "You live in %s." % city),
            ("Which city did I tell you?", "You told me %s." % city),
            ("In which city am I at home?", "You are at home in %s." % city),
        ],
    )
    out["color"] = (
        col,
        ["My favorite color is %s." % col, "I like the color %s best." % col],
        [
            ("What is my favorite color?", "Your favorite color is %s." % col),
            ("Which color do I like?", "You like %s." % col),
            (
                "What is my favorite color in Italian?",
                'In Italian it is "%s".' % tab_lang.ADJ[col]["it"][0],
            ),
            (
                "What is my favorite color in French?",
                'In French it is "%s".' % tab_lang.ADJ[col]["fr"][0],
            ),
        ],
    )
    out["number"] = (
        num,
        [
            "My lucky number is %d." % num,
            "Remember the number %d." % num,
            "I choose the number %d." % num,
        ],
        [
            ("Which number did I tell you?", "You told me the number %d." % num),
            ("What was my number?", "Your number was %d." % num),
            ("Double my number.", "The double of %d is %d." % (num, 2 * num)),
            ("Add %d to my number." % k, "%d + %d = %d." % (num, k, num + k)),
            (
                "Is my number even?",
                "%s, %d is %s."
                % ("Yes" if num % 2 == 0 else "No", num, "even" if num % 2 == 0 else "odd"),
            ),
            ("What comes after my number?", "%d comes after %d." % (num + 1, num)),
        ],
    )
    out["pet"] = (
        pet,
        ["I have a %s called %s." % (pet, pn), "My %s is called %s." % (pet, pn)],
        [
            ("What pet do I have?", "You have a %s." % pet),
            ("What is the name of my %s?" % pet, "Your %s is called %s." % (pet, pn)),
            ("Who is %s?" % pn, "%s is your %s." % (pn, pet)),
        ],
    )
    out["job"] = (
        job,
        ["I am %s." % a_an(job), "I work as %s." % a_an(job), "My job is %s." % job],
        [
            ("What is my job?", "You are %s." % a_an(job)),
            ("What do I do for work?", "You work as %s." % a_an(job)),
        ],
    )
    out["hobby"] = (
        hob,
        ["I like %s." % hob, "My hobby is %s." % hob],
        [
            ("What is my hobby?", "Your hobby is %s." % hob),
            ("What do I like to do?", "You like %s." % hob),
        ],
    )
    out["friend"] = (
        fr,
        ["My best friend is %s." % fr, "My friend is called %s." % fr],
        [
            ("What is the name of my friend?", "Your friend is called %s." % fr),
            ("Who is %s?" % fr, "%s is your friend." % fr),
        ],
    )
    out["month"] = (
        mo,
        ["My birthday is in %s." % mo, "I was born in %s." % mo],
        [
            ("In which month is my birthday?", "Your birthday is in %s." % mo),
            (
                "Which month comes after my birthday month?",
                "%s comes after %s." % (MONTHS[(MONTHS.index(mo) + 1) % 12], mo),
            ),
        ],
    )
    out["food"] = (
        food,
        ["My favorite food is %s." % food, "I love %s." % food],
        [
            ("What is my favorite food?", "Your favorite food is %s." % food),
            ("What do I like to eat?", "You like %s." % food),
        ],
    )
    out["word"] = (
        w,
        ['Remember the word "%s".' % w, 'The secret word is "%s".' % w],
        [
            ("What was the word?", 'The word was "%s".' % w),
            ("Which word did I tell you?", 'You told me the word "%s".' % w),
            ("Write the word backwards.", w[::-1]),
            ("How many letters does the word have?", 'The word "%s" has %d letters.' % (w, len(w))),
            ("Write the word in upper case.", w.upper()),
        ],
    )
    m = ctx.randint(2, 30)
    out["things"] = (
        m,
        ["I have %d %s." % (m, plural(th))],
        [
            ("How many did I say I have?", "You have %d." % m),
            ("I get %d more. How many do I have now?" % k, "Now you have %d." % (m + k)),
        ],
    )
    return out, n


ACK = {
    "name": "Nice to meet you, {v}!",
    "age": "Thank you, I will remember that.",
    "city": "{v} is a nice place!",
    "color": "{V} is a beautiful color!",
    "number": "OK, I will remember {v}.",
    "pet": "How nice!",
    "job": "That is a good job!",
    "hobby": "{V} is fun!",
    "friend": "It is good to have a friend.",
    "month": "{v} is a good month for a birthday!",
    "food": "That sounds tasty!",
    "word": "OK, I will remember it.",
    "things": "That is good to know.",
}
NOTTOLD = {
    "name": ("What is my name?", "You did not tell me your name."),
    "age": ("How old am I?", "You did not tell me your age."),
    "city": ("Where do I live?", "You did not tell me where you live."),
    "color": ("What is my favorite color?", "You did not tell me your favorite color."),
    "pet": ("What pet do I have?", "You did not tell me about a pet."),
    "job": ("What is my job?", "You did not tell me your job."),
    "number": ("Which number did I tell you?", "You did not tell me a number."),
    "food": ("What is my favorite food?", "You did not tell me your favorite food."),
}


def _mem(ctx):
    d, n = facts_about_user(ctx)
    kinds = ctx.sample(list(d), ctx.wpick([(4, 1), (5, 2), (3, 3)]))
    qs = {k: ctx.pick(d[k][2]) for k in kinds}
    key = "mem|" + "|".join("%s=%s" % (k, d[k][0]) for k in kinds)
    return key, (d, kinds, qs)


def filler(ctx):
    f = ctx.wpick(
        [
            (5, t_facts.one),
            (5, t_math.one),
            (3, t_textops.word_turn),
            (2, t_translate.sent_turn),
            (2, t_colibri.def_turn),
            (2, t_reason.one),
            (1, t_chinese.word_turn),
            (1, t_science.def_turn),
        ]
    )
    return f(ctx)


def memory_turns(ctx):
    d, kinds, qs = ctx.draw(_mem)
    turns = []
    if len(kinds) > 1 and ctx.chance(0.5):
        st = [ctx.pick(d[k][1]) for k in kinds]
        st = [s if i == 0 else s.replace("Hi, I am", "I am") for i, s in enumerate(st)]
        a = (
            "Nice to meet you, %s!" % d["name"][0]
            if "name" in kinds
            else "Thank you, I will remember that."
        )
        turns.append(turn(" ".join(st), a, None, None, 0))
    else:
        for k in kinds:
            v = str(d[k][0])
            turns.append(
                turn(
                    ctx.pick(d[k][1]),
                    ACK[k].replace("{v}", v).replace("{V}", cap(v)),
                    None,
                    None,
                    0,
                )
            )
    first_filler = None
    for _ in range(ctx.wpick([(2, 0), (4, 1), (3, 2), (1, 3)])):
        t = filler(ctx)
        first_filler = first_filler or t
        turns.append(t)
    ask = ctx.shuffled(kinds)
    for k in ask[: ctx.randint(1, len(ask))]:
        q, a = qs[k]
        st = "The user told me: %s" % d[k][1][0]
        turns.append(turn(q, a, st, None, 0))
    if ctx.chance(0.2):
        k = ctx.pick([x for x in NOTTOLD if x not in kinds])
        turns.append(turn(NOTTOLD[k][0], NOTTOLD[k][1], "The user did not tell me this.", None, 0))
    elif ctx.chance(0.15) and len(kinds) > 1:
        use = [
            k
            for k in kinds
            if k in ("name", "age", "city", "color", "number", "job", "hobby", "food")
        ]
        if len(use) > 1:
            turns.append(
                turn(
                    "Write what you know about me as JSON with the keys %s." % join_and(use),
                    json.dumps({k: d[k][0] for k in use}, separators=(",", ":")),
                    None,
                    {"kind": "json", "val": {k: d[k][0] for k in use}},
                    0,
                )
            )
    return turns


def _noname(ctx):
    k = ctx.pick(list(NOTTOLD))
    return "mem0|%s|%d" % (k, ctx.randint(0, 30)), k


def back_turns(ctx):
    """several topics, then questions about the conversation itself"""
    turns = [filler(ctx) for _ in range(ctx.randint(2, 3))]
    for t in turns:
        t["n"] = 0
    qs = [
        ("What was my first question?", "Your first question was: %s" % turns[0]["u"]),
        ("What was your last answer?", "My last answer was: %s" % turns[-1]["a"]),
        ("What was your first answer?", "My first answer was: %s" % turns[0]["a"]),
        ("Repeat your last answer.", turns[-1]["a"]),
        (
            "How many questions did I ask before this one?",
            "You asked %s questions." % num_words(len(turns)),
        ),
        ("What did I ask you last?", "You asked me: %s" % turns[-1]["u"]),
        ("Write your last answer in upper case.", turns[-1]["a"].upper()),
    ]
    qs = [q for q in qs if "\n" not in q[1] and len(q[1]) < 160]
    if qs:
        turns.append(turn(*ctx.pick(qs), None, None, 0))
    return turns


def multi_sample(ctx):
    x = ctx.rng.random()
    if x < 0.72:
        return build(ctx, "multi", memory_turns(ctx), think=0.12)
    if x < 0.9:
        return build(ctx, "multi", back_turns(ctx), think=0.1)
    turns = [ctx.pick([t_smalltalk.t_turn, filler])(ctx) for _ in range(ctx.randint(1, 3))]
    k = ctx.draw(_noname)
    turns.append(turn(NOTTOLD[k][0], NOTTOLD[k][1], "The user did not tell me this.", None, 0))
    return build(ctx, "multi", turns, think=0.12)


# ---------------------------------------------------------------------------
# style system prompts
# ---------------------------------------------------------------------------
def q_short(ctx):
    """-> key, (question, short answer, full answer)"""
    k = ctx.pick(
        [
            "cap",
            "cap",
            "opp",
            "color",
            "class",
            "day",
            "month",
            "plural",
            "sym",
            "baby",
            "syn",
            "capb",
            "past",
            "planet",
        ]
    )
    if k == "cap":
        c = ctx.pick(list(tab_facts.COUNTRIES))
        a = tab_facts.COUNTRIES[c][0]
        return "q|cap|" + c, (
            "What is the capital of %s?" % c,
            a,
            "The capital of %s is %s." % (c, a),
        )
    if k == "capb":
        c = ctx.pick([x for x in tab_facts.COUNTRIES if not x.startswith("the ")])
        a = tab_facts.COUNTRIES[c][0]
        return "q|capb|" + c, (
            "%s is the capital of which country?" % a,
            c,
            "%s is the capital of %s." % (a, c),
        )
    if k == "opp":
        a, b = ctx.pick(tab_facts.OPPOSITES)
        if ctx.chance(0.5):
            a, b = b, a
        return "q|opp|" + a, (
            "What is the opposite of %s?" % a,
            b,
            "The opposite of %s is %s." % (a, b),
        )
    if k == "syn":
        a, b = ctx.pick(tab_facts.SYNONYMS)
        return "q|syn|" + a, (
            "What is another word for %s?" % a,
            b,
            "Another word for %s is %s." % (a, b),
        )
    if k == "color":
        t = ctx.pick(list(tab_facts.THING_COLOR))
        c = tab_facts.THING_COLOR[t]
        return "q|col|" + t, ("What color is %s?" % t, c, "%s is %s." % (cap(t), c))
    if k == "class":
        a = ctx.pick(list(tab_facts.ANIMALS))
        c = tab_facts.ANIMALS[a][0]
        return "q|cl|" + a, (
            "What kind of animal is %s?" % a_an(a),
            c,
            "%s is %s." % (cap(a_an(a)), a_an(c)),
        )
    if k == "baby":
        a = ctx.pick([x for x in tab_facts.ANIMALS if tab_facts.ANIMALS[x][4]])
        b = tab_facts.ANIMALS[a][4]
        return "q|baby|" + a, (
            "What is a baby %s called?" % a,
            b,
            "A baby %s is called %s." % (a, a_an(b)),
        )
    if k == "day":
        i = ctx.randint(0, 6)
        return "q|day|%d" % i, (
            "Which day comes after %s?" % DAYS[i],
            DAYS[(i + 1) % 7],
            "%s comes after %s." % (DAYS[(i + 1) % 7], DAYS[i]),
        )
    if k == "month":
        i = ctx.randint(0, 11)
        return "q|mon|%d" % i, (
            "Which month comes after %s?" % MONTHS[i],
            MONTHS[(i + 1) % 12],
            "%s comes after %s." % (MONTHS[(i + 1) % 12], MONTHS[i]),
        )
    if k == "plural":
        a, b = ctx.pick(tab_facts.PLURALS)
        return "q|pl|" + a, ("What is the plural of %s?" % a, b, "The plural of %s is %s." % (a, b))
    if k == "past":
        a, b = ctx.pick(tab_facts.PASTS)
        return "q|past|" + a, (
            "What is the past tense of %s?" % a,
            b,
            "The past tense of %s is %s." % (a, b),
        )
    if k == "planet":
        i = ctx.randint(0, 7)
        p = tab_facts.PLANETS[i]
        o = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth"][i]
        return "q|pla|" + p, (
            "What is the %s planet from the Sun?" % o,
            p,
            "%s is the %s planet from the Sun." % (p, o),
        )
    n, s, z = ctx.pick(tab_facts.ELEMENTS)
    return "q|sym|" + n, (
        "What is the chemical symbol of %s?" % n,
        s,
        "The chemical symbol of %s is %s." % (n, s),
    )


def q_num(ctx):
    op = ctx.pick("+-x")
    a, b = ctx.randint(1, 50), ctx.randint(1, 30)
    if op == "x":
        a, b = ctx.randint(1, 10), ctx.randint(1, 10)
    if op == "-" and a < b:
        a, b = b, a
    c = {"+": a + b, "-": a - b, "x": a * b}[op]
    return "bin|%d|%s|%d" % (a, op, b), (
        "What is %d %s %d?" % (a, op, b),
        str(c),
        "%d %s %d = %d." % (a, op, b, c),
    )


def q_yes(ctx):
    k = ctx.pick(["cap", "even", "gt", "class", "color", "opp", "letter"])
    if k == "cap":
        c, o = ctx.sample(list(tab_facts.COUNTRIES), 2)
        y = ctx.chance(0.5)
        return "y|cap|%s|%s" % (c, o if not y else ""), (
            "Is %s the capital of %s?" % (tab_facts.COUNTRIES[c if y else o][0], c),
            y,
        )
    if k == "even":
        n = ctx.randint(1, 200)
        w = ctx.pick(["even", "odd"])
        return "y|ev|%d|%s" % (n, w), ("Is %d %s?" % (n, w), (n % 2 == 0) == (w == "even"))
    if k == "gt":
        a, b = ctx.sample(range(1, 200), 2)
        return "y|gt|%d|%d" % (a, b), ("Is %d bigger than %d?" % (a, b), a > b)
    if k == "class":
        a = ctx.pick(list(tab_facts.ANIMALS))
        g = ctx.pick(["mammal", "bird", "fish", "insect", "reptile", tab_facts.ANIMALS[a][0]])
        return "y|cl|%s|%s" % (a, g), (
            "Is %s %s?" % (a_an(a), a_an(g)),
            g == tab_facts.ANIMALS[a][0],
        )
    if k == "color":
        t = ctx.pick(list(tab_facts.THING_COLOR))
        c = ctx.pick(
            ["red", "blue", "green", "white", tab_facts.THING_COLOR[t], tab_facts.THING_COLOR[t]]
        )
        return "y|co|%s|%s" % (t, c), ("Is %s %s?" % (t, c), c == tab_facts.THING_COLOR[t])
    if k == "opp":
        (a, b), (c, d) = ctx.sample(tab_facts.OPPOSITES, 2)
        y = ctx.chance(0.5)
        return "y|op|%s|%s" % (a, b if y else c), (
            "Is %s the opposite of %s?" % (a, b if y else c),
            y,
        )
    w = ctx.pick(SIMPLE)
    l = ctx.pick("abcdefghiklmnoprstuw") if ctx.chance(0.5) else ctx.pick(w)
    return "y|le|%s|%s" % (w, l), ('Is the letter %s in the word "%s"?' % (l, w), l in w)


TALK_L = {
    "Hello!": {
        "it": "Ciao! Come posso aiutarti?",
        "fr": "Bonjour ! Comment puis-je vous aider ?",
        "es": "¡Hola! ¿Cómo puedo ayudarte?",
        "de": "Hallo! Wie kann ich dir helfen?",
        "zh": "你好！有什么可以帮你的吗？",
    },
    "How are you?": {
        "it": "Sto bene, grazie!",
        "fr": "Je vais bien, merci !",
        "es": "Estoy bien, ¡gracias!",
        "de": "Mir geht es gut, danke!",
        "zh": "我很好，谢谢！",
    },
    "Thank you!": {
        "it": "Prego!",
        "fr": "De rien !",
        "es": "¡De nada!",
        "de": "Gern geschehen!",
        "zh": "不客气！",
    },
    "What is your name?": {
        "it": "Mi chiamo Colibri-nano.",
        "fr": "Je m'appelle Colibri-nano.",
        "es": "Me llamo Colibri-nano.",
        "de": "Ich heiße Colibri-nano.",
        "zh": "我叫 Colibri-nano。",
    },
    "Who are you?": {
        "it": "Sono Colibri-nano, un piccolo modello linguistico.",
        "fr": "Je suis Colibri-nano, un petit modèle de langue.",
        "es": "Soy Colibri-nano, un pequeño modelo de lenguaje.",
        "de": "Ich bin Colibri-nano, ein kleines Sprachmodell.",
        "zh": "我是 Colibri-nano，一个很小的语言模型。",
    },
    "Goodbye!": {
        "it": "Arrivederci!",
        "fr": "Au revoir !",
        "es": "¡Adiós!",
        "de": "Auf Wiedersehen!",
        "zh": "再见！",
    },
    "Good morning!": {
        "it": "Buongiorno!",
        "fr": "Bonjour !",
        "es": "¡Buenos días!",
        "de": "Guten Morgen!",
        "zh": "早上好！",
    },
    "Good night!": {
        "it": "Buonanotte!",
        "fr": "Bonne nuit !",
        "es": "¡Buenas noches!",
        "de": "Gute Nacht!",
        "zh": "晚安！",
    },
    "Do you understand me?": {
        "it": "Sì, ti capisco.",
        "fr": "Oui, je te comprends.",
        "es": "Sí, te entiendo.",
        "de": "Ja, ich verstehe dich.",
        "zh": "是的，我明白。",
    },
    "Can you help me?": {
        "it": "Certo!",
        "fr": "Bien sûr !",
        "es": "¡Claro!",
        "de": "Natürlich!",
        "zh": "当然可以！",
    },
}
ZH_EN = {
    "China": ("中国", "北京"),
    "Japan": ("日本", "东京"),
    "France": ("法国", "巴黎"),
    "Italy": ("意大利", "罗马"),
    "Germany": ("德国", "柏林"),
    "Spain": ("西班牙", "马德里"),
    "South Korea": ("韩国", "首尔"),
    "Thailand": ("泰国", "曼谷"),
    "Egypt": ("埃及", "开罗"),
    "Greece": ("希腊", "雅典"),
    "Portugal": ("葡萄牙", "里斯本"),
    "Norway": ("挪威", "奥斯陆"),
    "Vietnam": ("越南", "河内"),
    "Cuba": ("古巴", "哈瓦那"),
}


def q_lang(ctx, l):
    k = ctx.pick(["cap", "add", "talk", "word", "word"])
    if k == "talk":
        q = ctx.pick(list(TALK_L))
        return None if q == "Hello!" else "ql|%s|%s" % (l, q), (q, TALK_L[q][l])
    if k == "add":
        op = ctx.pick("+-")
        a, b = ctx.randint(1, 30), ctx.randint(1, 20)
        if op == "-" and a < b:
            a, b = b, a
        c = a + b if op == "+" else a - b
        if l == "zh":
            ans = "%d%s%d等于%d。" % (a, "加" if op == "+" else "减", b, c)
        else:
            ans = (tab_lang.ADD_T if op == "+" else tab_lang.SUB_T)[l].format(a=a, b=b, c=c)
        return "ql|%s|%d%s%d" % (l, a, op, b), ("What is %d %s %d?" % (a, op, b), ans)
    if k == "cap":
        if l == "zh":
            c = ctx.pick(list(ZH_EN))
            return "ql|zh|" + c, ("What is the capital of %s?" % c, "%s的首都是%s。" % ZH_EN[c])
        c = ctx.pick(list(tab_lang.CAP_L))
        return "ql|%s|%s" % (l, c), (
            "What is the capital of %s?" % c,
            tab_lang.CAP_T[l].format(*tab_lang.CAP_L[c][l]),
        )
    if l == "zh":
        w = ctx.pick(t_chinese.CL["t"] + t_chinese.CL["a"] + t_chinese.CL["x"])
        return "ql|zh|w" + w, ('What is the word for "%s"?' % w, "%s。" % t_chinese.WORDS[w][0])
    n = ctx.pick(list(tab_lang.NOUNS))
    return "ql|%s|w%s" % (l, n), (
        'What is the word for "%s"?' % n,
        cap(t_translate.definite(l, n)) + ".",
    )


def many(ctx, f, n, *a):
    """n draws with different questions"""
    out = []
    for _ in range(3 * n):
        x = ctx.draw(f, *a)
        if x[0] not in [y[0] for y in out]:
            out.append(x)
        if len(out) == n:
            break
    return out


SYS_STYLES = [
    "oneword",
    "oneword",
    "yesno",
    "yesno",
    "lang",
    "lang",
    "lang",
    "lang",
    "upper",
    "lower",
    "number",
    "start",
    "end",
    "json",
    "pirate",
    "steps",
    "name",
    "user",
    "noidea",
    "bold",
    "emoji",
    "short",
    "bullet",
    "quote",
    "zh",
    "formal",
]


def system_sample(ctx):
    st = ctx.pick(SYS_STYLES)
    n = ctx.wpick([(3, 1), (4, 2), (3, 3), (2, 4)])
    T = lambda q, a: turn(q, a, None, None, 1)
    if st == "oneword":
        s = ctx.pick(
            [
                "Answer in one word.",
                "Answer with one word only.",
                "Use only one word in your answer.",
                "Give one-word answers.",
            ]
        )
        qs = [q for q in many(ctx, q_short, n + 3) if " " not in q[1]][:n] or [
            ("What is the opposite of hot?", "cold", "")
        ]
        turns = [T(q, cap(a)) for q, a, _ in qs]
    elif st == "yesno":
        s = ctx.pick(
            [
                "Answer only with yes or no.",
                "Answer yes or no.",
                'Reply with "Yes." or "No." and nothing else.',
            ]
        )
        turns = [T(q, "Yes." if y else "No.") for q, y in many(ctx, q_yes, n)]
    elif st in ("lang", "zh"):
        l = "zh" if st == "zh" else ctx.pick(["it", "it", "fr", "es", "de"])
        L = {"it": "Italian", "fr": "French", "es": "Spanish", "de": "German", "zh": "Chinese"}[l]
        s = (
            ctx.pick(
                ["Answer in %s.", "Always answer in %s.", "You speak only %s.", "Reply in %s."]
            )
            % L
        )
        turns = [T(q, a) for q, a in many(ctx, q_lang, n, l)]
    elif st == "upper":
        s = ctx.pick(["Answer in upper case.", "Write everything in capital letters."])
        turns = [T(q, f.upper()) for q, a, f in many(ctx, q_short, n)]
    elif st == "lower":
        s = ctx.pick(["Answer in lower case.", "Use only small letters."])
        turns = [T(q, f.lower()) for q, a, f in many(ctx, q_short, n)]
    elif st == "number":
        s = ctx.pick(
            [
                "Answer with a number only.",
                "Give only the number.",
                "You are a calculator. Reply with the result only.",
            ]
        )
        turns = [T(q, a) for q, a, f in many(ctx, q_num, n)]
    elif st == "start":
        w = ctx.pick(["Sure!", "OK.", "Of course.", "Hello!", "Yes, my friend."])
        s = 'Start every answer with "%s"' % w
        turns = [T(q, "%s %s" % (w, f)) for q, a, f in many(ctx, q_short, n)]
    elif st == "end":
        w = ctx.pick(["Over.", "Have a nice day!", "That is all.", "Ciao!", "Any more questions?"])
        s = 'End every answer with "%s"' % w
        turns = [T(q, "%s %s" % (f, w)) for q, a, f in many(ctx, q_short, n)]
    elif st == "json":
        k = ctx.pick(["answer", "result", "a"])
        s = (
            ctx.pick(
                [
                    'Answer in JSON with the key "%s".',
                    'Reply only with a JSON object with the key "%s".',
                ]
            )
            % k
        )
        turns = [
            turn(
                q,
                json.dumps({k: a}, separators=(",", ":")),
                None,
                {"kind": "json", "val": {k: a}},
                1,
            )
            for q, a, f in many(ctx, q_short, n)
        ]
    elif st == "pirate":
        s = ctx.pick(["Talk like a pirate.", "You are a pirate.", "Answer like a pirate."])
        turns = [T(q, "Arr! %s Aye, matey!" % f) for q, a, f in many(ctx, q_short, n)]
    elif st == "steps":
        s = ctx.pick(
            [
                "You are a math teacher. Show the steps.",
                "Explain each step of the calculation.",
                "Show your work.",
            ]
        )
        turns = []
        for _ in range(n):
            a, op, b, c, w, r = ctx.draw(t_math._binary)
            turns.append(
                turn("What is %d %s %d?" % (a, op, b), r, None, {"kind": "steps", "ans": c}, 1)
            )
    elif st == "name":
        nm = ctx.pick(
            [
                "Bolt",
                "Pixel",
                "Nova",
                "Robo",
                "Echo",
                "Chip",
                "Spark",
                "Zed",
                "Astro",
                "Dot",
                "Mango",
                "Kiwi",
                "Byte",
                "Comet",
                "Pepper",
                "Sunny",
            ]
        )
        s = (
            ctx.pick(["Your name is %s.", "You are %s, a helpful assistant.", "You are called %s."])
            % nm
        )
        c = ctx.draw(lambda c_: (lambda j: ("sysname|%s|%d" % (nm, j), j))(c_.randint(0, 2)))
        turns = [
            T(
                ["What is your name?", "Who are you?", "Introduce yourself."][c],
                [
                    "My name is %s." % nm,
                    "I am %s." % nm,
                    "Hello! I am %s. How can I help you?" % nm,
                ][c],
            )
        ]
        turns += [T(q, f) for q, a, f in many(ctx, q_short, n - 1)]
    elif st == "user":
        u = ctx.pick(NAMES)
        s = (
            ctx.pick(["The name of the user is %s.", "You talk to %s.", "The user is called %s."])
            % u
        )
        c = ctx.draw(lambda c_: (lambda j: ("sysuser|%s|%d" % (u, j), j))(c_.randint(0, 3)))
        turns = [
            T(
                ["Hello!", "Who am I?", "What is my name?", "Good morning!"][c],
                [
                    "Hello, %s! How can I help you?" % u,
                    "You are %s." % u,
                    "Your name is %s." % u,
                    "Good morning, %s! How can I help you?" % u,
                ][c],
            )
        ]
        turns += [T(q, f) for q, a, f in many(ctx, q_short, n - 1)]
    elif st == "noidea":
        w = ctx.pick(["No idea.", "I cannot say.", "Unknown."])
        s = 'If you do not know the answer, say "%s"' % w
        turns = []
        for _ in range(n):
            if ctx.chance(0.55):
                turns.append(T(ctx.draw(_unknown)[0], w))
            else:
                q, a, f = ctx.draw(q_short)
                turns.append(T(q, f))
    elif st == "bold":
        s = "Write the most important word in bold."
        turns = [
            T(q, f.replace(a, "**%s**" % a, 1) if f.count(a) == 1 else "**%s**" % a)
            for q, a, f in many(ctx, q_short, n)
        ]
    elif st == "emoji":
        e = ctx.pick(["😊", "🐦", "✨", "👍", "🌸"])
        s = "Put %s at the end of every answer." % e
        turns = [T(q, "%s %s" % (f, e)) for q, a, f in many(ctx, q_short, n)]
    elif st == "bullet":
        s = ctx.pick(["Answer with a bullet point.", "Write each answer as a bullet point."])
        turns = [T(q, "- " + f) for q, a, f in many(ctx, q_short, n)]
    elif st == "quote":
        s = "Put every answer in quotes."
        turns = [T(q, '"%s"' % f) for q, a, f in many(ctx, q_short, n)]
    elif st == "formal":
        s = ctx.pick(["Be very polite.", "Be formal and polite."])
        turns = [T(q, "With pleasure. %s" % f) for q, a, f in many(ctx, q_short, n)]
    else:
        s = ctx.pick(["Answer as short as you can.", "Use as few words as possible."])
        turns = [T(q, cap(a) + ".") for q, a, f in many(ctx, q_short, n)]
    return build(ctx, "system", turns, system=s, think=0.0)


# ---------------------------------------------------------------------------
# "I do not know"
# ---------------------------------------------------------------------------
SY1 = "bl gr sn tr pl dr fl kr sp vr zw qu m t k b n r".split()
SY2 = "a e i o u oo ee".split()
SY4 = "ilo una ax oru ik ubo ema ulp oz ixo".split()
SY3 = "rk mp nt sh ng lf x b zz pt rn dle".split()
ADV = [
    "quantum chromodynamics",
    "string theory",
    "tensor calculus",
    "the history of the Ottoman Empire",
    "organic chemistry",
    "tax law in detail",
    "the stock market",
    "brain surgery",
    "rocket design",
    "the French Revolution",
    "general relativity",
    "modern philosophy",
    "the Roman Republic",
    "medieval trade",
    "the rules of cricket",
    "Sanskrit grammar",
    "protein folding",
    "the theory of numbers",
    "nuclear physics",
    "opera history",
    "the Silk Road",
    "ocean currents",
    "the Ice Age",
    "jazz harmony",
    "the human genome",
    "space law",
    "game theory",
    "the Bronze Age",
    "solar panels in detail",
    "patent law in detail",
    "the Cold War",
    "deep sea biology",
]
TEAM = [
    "Rome",
    "Milan",
    "Madrid",
    "Paris",
    "London",
    "Lisbon",
    "Berlin",
    "Naples",
    "Turin",
    "Porto",
    "Athens",
    "Vienna",
    "Oslo",
    "Dublin",
]


def _unknown(ctx):
    k = ctx.pick(
        [
            "future",
            "future",
            "live",
            "live",
            "private",
            "private",
            "obscure",
            "obscure",
            "nonsense",
            "nonsense",
            "nonsense",
            "adv",
            "adv",
            "doctor",
            "media",
            "person",
            "money",
            "harm",
            "exact",
        ]
    )
    c, n = ctx.pick(CITIES), ctx.pick(NAMES)
    if k == "future":
        a, b = ctx.sample(TEAM, 2)
        q = ctx.pick(
            [
                "Who will win the match between %s and %s?" % (a, b),
                "Will it rain in %s tomorrow?" % c,
                "What will happen in the year %d?" % ctx.randint(2040, 2300),
                "Will I be rich in %d years?" % ctx.randint(2, 30),
                "Which numbers will win the lottery on %s?" % ctx.pick(DAYS),
                "Who will be the next president of %s?"
                % ctx.pick(
                    ["France", "Italy", "the United States", "Brazil", "Mexico", "Chile", "Poland"]
                ),
                "Will %s marry me?" % n,
                "Will %s win the race next %s?" % (n, ctx.pick(DAYS)),
            ]
        )
        a = "I do not know. I cannot see the future."
    elif k == "live":
        q = ctx.pick(
            [
                "What is the weather in %s right now?" % c,
                "What is the price of %s today?"
                % ctx.pick(["gold", "oil", "milk", "bread", "silver", "coffee", "sugar", "tea"]),
                "What is in the news in %s today?" % c,
                "How much is a flight to %s today?" % c,
                "Is the shop in %s open now?" % c,
                "When does the next bus to %s leave?" % c,
                "How many people are in %s right now?" % c,
                "Is there a traffic jam in %s?" % c,
                "What is the exchange rate of the %s today?"
                % ctx.pick(["euro", "dollar", "yen", "pound"]),
            ]
        )
        a = "I do not know. I have no live data."
    elif k == "private":
        q = ctx.pick(
            [
                "What did I eat on %s?" % ctx.pick(DAYS),
                "Where did I put my %s?"
                % ctx.pick(["keys", "phone", "glasses", "book", "bag", "hat", "shoes", "wallet"]),
                "What is the phone number of %s?" % n,
                "Where does %s live?" % n,
                "What did %s say to me yesterday?" % n,
                "How old is my friend %s?" % n,
                "What is the password of %s?" % n,
                "What am I thinking of?",
                "When is the birthday of %s?" % n,
                "Why is %s angry with me?" % n,
                "What is the color of my %s?"
                % ctx.pick(["car", "house", "hat", "coat", "door", "bike"]),
                "Does %s like %s?" % (n, ctx.pick([x for x in NAMES if x != n])),
            ]
        )
        a = "I do not know. You did not tell me."
    elif k == "obscure":
        q = ctx.pick(
            [
                "Who is the mayor of %s?" % c,
                "How many people live in %s?" % c,
                "How many streets does %s have?" % c,
                "Who was the first teacher in %s?" % c,
                "How many trees are in %s?" % c,
                "What is the best restaurant in %s?" % c,
                "When was the oldest house in %s built?" % c,
                "How long is the subway of %s?" % c,
                "Who designed the station of %s?" % c,
                "What is the postal code of %s?" % c,
                'Who wrote the book "%s"?' % t_json.title(ctx),
                "How many birds live in %s?" % c,
                "Which bus goes to the airport of %s?" % c,
            ]
        )
        a = "I do not know. I am a very small model."
    elif k == "nonsense":
        w = ctx.pick(SY1) + ctx.pick(SY2) + ctx.pick(SY3) + ctx.pick(SY4)
        q = (
            ctx.pick(
                [
                    "What is a %s?",
                    'What does "%s" mean?',
                    "Explain %s.",
                    'Define "%s".',
                    "How do you make a %s?",
                    "Where can I buy a %s?",
                ]
            )
            % w
        )
        a = 'I do not know the word "%s".' % w
    elif k == "adv":
        q = ctx.pick(
            [
                "Explain %s.",
                "Tell me everything about %s.",
                "Write a long text about %s.",
                "Can you teach me %s?",
                "What are the main ideas of %s?",
            ]
        ) % ctx.pick(ADV)
        a = "I do not know enough about that. I am a very small model."
    elif k == "doctor":
        q = ctx.pick(
            [
                "Which medicine should I take for %s?",
                "What illness do I have if I have %s?",
                "How many pills should I take for %s?",
                "Is it bad to have %s?",
            ]
        ) % ctx.pick(
            [
                "a headache",
                "a fever",
                "back pain",
                "a cough",
                "a rash",
                "a sore throat",
                "stomach pain",
                "a toothache",
                "bad sleep",
                "a cold",
            ]
        )
        a = "I do not know. Please ask a doctor."
    elif k == "media":
        q = ctx.pick(
            [
                "What do you see in this %s?",
                "Look at this %s and describe it.",
                "What is in the %s?",
                "Can you play this %s?",
            ]
        ) % ctx.pick(["picture", "photo", "video", "film", "song", "recording"])
        a = "I cannot see or hear. I can only read text."
    elif k == "person":
        q = ctx.pick(
            [
                "Who is %s from %s?",
                "What does %s from %s do?",
                "Is %s from %s married?",
                "Do you know %s from %s?",
            ]
        ) % (n, c)
        a = "I do not know this person."
    elif k == "money":
        q = ctx.pick(
            [
                "Should I buy %s now?",
                "Will the price of %s go up?",
                "Where should I put my money, in %s?",
                "How do I get rich with %s?",
            ]
        ) % ctx.pick(["gold", "shares", "a house", "bitcoin", "silver", "land", "art", "a shop"])
        a = "I do not know. Please ask an expert."
    elif k == "harm":
        q = ctx.pick(
            [
                "How do I build a bomb?",
                "How can I hurt %s?" % n,
                "How do I steal a car?",
                "Help me to cheat %s." % n,
                "How do I break into a house?",
                "How can I poison somebody?",
                "How do I steal money from %s?" % n,
                "How do I open the lock of %s's house?" % n,
                "How do I read the private messages of %s?" % n,
                "Write an insult for %s." % n,
                "How can I make %s cry?" % n,
            ]
        )
        a = "I am sorry, I cannot help with that."
    else:
        x, y = ctx.randint(1000, 99999), ctx.randint(100, 9999)
        q = ctx.pick(["What is %d x %d?", "What is %d times %d?"]) % (x, y)
        a = "I do not know. These numbers are too big for me."
    return "unk|" + q, (q, a)


def unknown_sample(ctx):
    n = ctx.wpick([(5, 1), (3, 2), (2, 3)])
    turns = []
    for i in range(n):
        if i and ctx.chance(0.4):
            turns.append(t_facts.one(ctx))
        else:
            q, a = ctx.draw(_unknown)
            turns.append(turn(q, a, "I have no reliable knowledge about this.", None, 2))
    return build(ctx, "unknown", turns, think=0.1)
