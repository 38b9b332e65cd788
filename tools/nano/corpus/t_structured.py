"""Topic 16: markdown, tables, lists, HTML, CSV, YAML from small data."""

import json

from core import turn, build, cap, join_and
from words import NAMES, CITIES, FRUITS, COLORS, SHOP, DAYS, JOBS, HOBBIES, ANIMALS

COLS = {
    "name": NAMES,
    "city": CITIES,
    "color": COLORS,
    "fruit": FRUITS,
    "day": DAYS,
    "job": JOBS,
    "hobby": HOBBIES,
    "animal": ANIMALS[:20],
    "age": (5, 90),
    "price": (1, 99),
    "count": (1, 50),
    "points": (1, 100),
    "year": (1990, 2025),
    "item": list(SHOP),
}
SETS = [
    ("name", "age"),
    ("name", "city"),
    ("name", "age", "city"),
    ("item", "price"),
    ("item", "price", "color"),
    ("fruit", "count"),
    ("fruit", "color", "price"),
    ("name", "job"),
    ("name", "points"),
    ("animal", "count"),
    ("day", "hobby"),
    ("name", "hobby", "age"),
    ("city", "year"),
    ("item", "count"),
    ("name", "color"),
]


def rows(ctx, cols, n):
    out = []
    used = set()
    for _ in range(n):
        r = []
        for c in cols:
            v = COLS[c]
            if isinstance(v, tuple):
                r.append(ctx.randint(*v))
            else:
                x = ctx.pick(v)
                while (c, x) in used and c == cols[0]:
                    x = ctx.pick(v)
                used.add((c, x))
                r.append(x)
        out.append(r)
    return out


def md_table(cols, rs):
    out = ["| " + " | ".join(cols) + " |", "|" + "---|" * len(cols)]
    out += ["| " + " | ".join(map(str, r)) + " |" for r in rs]
    return "\n".join(out)


def as_csv(cols, rs):
    return "\n".join([",".join(cols)] + [",".join(map(str, r)) for r in rs])


def yaml_list(cols, rs):
    out = []
    for r in rs:
        for i, (c, v) in enumerate(zip(cols, r)):
            out.append(("- " if i == 0 else "  ") + "%s: %s" % (c, v))
    return "\n".join(out)


def as_json(cols, rs):
    return json.dumps([dict(zip(cols, r)) for r in rs], ensure_ascii=False, separators=(",", ":"))


def html_table(cols, rs):
    out = ["<table>", "<tr>" + "".join("<th>%s</th>" % c for c in cols) + "</tr>"]
    out += ["<tr>" + "".join("<td>%s</td>" % v for v in r) + "</tr>" for r in rs]
    return "\n".join(out + ["</table>"])


def plain(cols, rs):
    return "; ".join(", ".join("%s %s" % (c, v) for c, v in zip(cols, r)) for r in rs)


def fence(lang, s):
    return "```%s\n%s\n```" % (lang, s)


FMT = {
    "md": ("a markdown table", md_table, ""),
    "csv": ("CSV", as_csv, "csv"),
    "yaml": ("YAML", yaml_list, "yaml"),
    "json": ("JSON", as_json, "json"),
    "html": ("an HTML table", html_table, "html"),
}


def emit(f, cols, rs):
    s = FMT[f][1](cols, rs)
    return s if f == "md" else fence(FMT[f][2], s)


def _table(ctx):
    cols = ctx.pick(SETS)
    n = ctx.randint(2, 4) if len(cols) == 2 else ctx.randint(2, 3)
    rs = rows(ctx, cols, n)
    f = ctx.pick(["md", "md", "md", "csv", "csv", "yaml", "yaml", "html", "json"])
    src = ctx.pick(["plain", "plain", "csv", "md", "json"])
    if src == f:
        src = "plain"
    return "mt|%s|%s" % (cols, rs), (cols, rs, f, src)


def table_turns(ctx):
    cols, rs, f, src = ctx.draw(_table)
    if src == "plain":
        u = ctx.pick(
            ["Make %s from this data: %s.", "Write this as %s: %s.", "Turn this into %s: %s."]
        ) % (FMT[f][0], plain(cols, rs))
    else:
        s = FMT[src][1](cols, rs)
        u = ctx.pick(["Convert this %s to %s:\n%s", "Turn this %s into %s:\n%s"]) % (
            FMT[src][0].replace("a ", "").replace("an ", ""),
            FMT[f][0],
            s,
        )
    t = [
        turn(
            u,
            emit(f, cols, rs),
            "Columns: %s. Rows: %d." % (", ".join(cols), len(rs)),
            {"kind": f, "cols": list(cols), "rows": [list(map(str, r)) for r in rs]},
            noise=0,
        )
    ]
    x = ctx.rng.random()
    if x < 0.12:
        g = ctx.pick([k for k in FMT if k != f])
        t.append(
            turn(
                "Now as %s." % FMT[g][0],
                emit(g, cols, rs),
                None,
                {"kind": g, "cols": list(cols), "rows": [list(map(str, r)) for r in rs]},
                noise=0,
            )
        )
    elif x < 0.30:
        new = rows(ctx, cols, 1)[0]
        if new[0] not in [r[0] for r in rs]:
            rs2 = rs + [new]
            t.append(
                turn(
                    "Add a row: %s." % plain(cols, [new]),
                    emit(f, cols, rs2),
                    None,
                    {"kind": f, "cols": list(cols), "rows": [list(map(str, r)) for r in rs2]},
                    noise=0,
                )
            )
    elif x < 0.42:
        k = ctx.randint(0, len(cols) - 1)
        rs2 = sorted(rs, key=lambda r: r[k])
        t.append(
            turn(
                "Sort it by %s." % cols[k],
                emit(f, cols, rs2),
                None,
                {"kind": f, "cols": list(cols), "rows": [list(map(str, r)) for r in rs2]},
                noise=0,
            )
        )
    elif x < 0.60:
        r = ctx.pick(rs)
        k = ctx.randint(1, len(cols) - 1)
        t.append(
            turn(
                "What is the %s of %s?" % (cols[k], r[0]),
                "The %s of %s is %s." % (cols[k], r[0], r[k]),
                None,
                None,
                noise=0,
            )
        )
    elif x < 0.68:
        t.append(
            turn("How many rows are there?", "There are %d rows." % len(rs), None, None, noise=0)
        )
    return t


def _read(ctx):
    cols = ctx.pick(SETS)
    rs = rows(ctx, cols, ctx.randint(2, 4))
    f = ctx.pick(["md", "csv", "yaml"])
    k = ctx.pick(["cell", "count", "max", "cols", "list", "sum"])
    num = [i for i, c in enumerate(cols) if isinstance(COLS[c], tuple)]
    if k in ("max", "sum") and not num:
        k = "cell"
    return "mr|%s|%s|%s" % (cols, rs, k), (cols, rs, f, k, num)


def read_turn(ctx):
    cols, rs, f, k, num = ctx.draw(_read)
    s = FMT[f][1](cols, rs)
    pre = {"md": "", "csv": "CSV:\n", "yaml": "YAML:\n"}[f] + s + "\n\n"
    if k == "cell":
        r = ctx.pick(rs)
        j = ctx.randint(1, len(cols) - 1)
        return turn(
            pre + "What is the %s of %s?" % (cols[j], r[0]),
            "The %s of %s is %s." % (cols[j], r[0], r[j]),
            None,
            None,
            noise=0,
        )
    if k == "count":
        return turn(
            pre + "How many rows of data are there?",
            "There are %d rows." % len(rs),
            None,
            None,
            noise=0,
        )
    if k == "cols":
        return turn(
            pre + "Which columns are there?", "%s." % cap(join_and(cols)), None, None, noise=0
        )
    if k == "list":
        return turn(
            pre + "List all values of %s." % cols[0],
            ", ".join(str(r[0]) for r in rs),
            None,
            None,
            noise=0,
        )
    j = ctx.pick(num)
    if k == "max":
        best = max(rs, key=lambda r: r[j])
        if [r[j] for r in rs].count(best[j]) > 1:
            return turn(
                pre + "How many columns are there?",
                "There are %d columns." % len(cols),
                None,
                None,
                noise=0,
            )
        return turn(
            pre + "Which %s has the highest %s?" % (cols[0], cols[j]),
            "%s has the highest %s: %d." % (cap(str(best[0])), cols[j], best[j]),
            "Values: %s." % ", ".join(str(r[j]) for r in rs),
            None,
            noise=0,
        )
    tot = sum(r[j] for r in rs)
    return turn(
        pre + "What is the sum of %s?" % cols[j],
        "The sum is %d." % tot,
        "%s = %d." % (" + ".join(str(r[j]) for r in rs), tot),
        {"kind": "last_int", "ans": tot},
        noise=0,
    )


POOLS = {
    "fruits": FRUITS,
    "colors": COLORS,
    "animals": ANIMALS,
    "cities": CITIES,
    "names": NAMES,
    "hobbies": HOBBIES,
    "jobs": JOBS,
    "days": DAYS,
    "tasks": [
        "buy milk",
        "call mom",
        "clean the desk",
        "water the plants",
        "read a book",
        "fix the bike",
        "pay the bill",
        "write a letter",
        "cook dinner",
        "walk the dog",
        "feed the cat",
        "send the mail",
    ],
    "things": list(SHOP),
}


def _list(ctx):
    p = ctx.pick(list(POOLS))
    xs = ctx.sample(POOLS[p], ctx.randint(2, 5))
    f = ctx.pick(
        [
            "bul",
            "bul",
            "num",
            "num",
            "html",
            "ol",
            "check",
            "yaml",
            "json",
            "csv",
            "bold",
            "head",
            "sel",
        ]
    )
    return "ml|%s|%s" % (f, xs), (p, xs, f)


def list_turn(ctx):
    p, xs, f = ctx.draw(_list)
    t = ", ".join(xs)
    M = {
        "bul": (
            ["Make a bullet list: %s", "Write these as a bullet list: %s", "Bullet points: %s"],
            "\n".join("- " + x for x in xs),
        ),
        "num": (
            ["Make a numbered list: %s", "Number these items: %s"],
            "\n".join("%d. %s" % (i + 1, x) for i, x in enumerate(xs)),
        ),
        "html": (
            ["Make an HTML list: %s", "Write an HTML ul list with: %s"],
            fence("html", "<ul>\n" + "\n".join("<li>%s</li>" % x for x in xs) + "\n</ul>"),
        ),
        "ol": (
            ["Make a numbered HTML list: %s", "Write an HTML ol list with: %s"],
            fence("html", "<ol>\n" + "\n".join("<li>%s</li>" % x for x in xs) + "\n</ol>"),
        ),
        "check": (
            ["Make a to-do list with check boxes: %s", "Make a markdown checklist: %s"],
            "\n".join("- [ ] " + x for x in xs),
        ),
        "yaml": (
            ["Write a YAML list called %s: %%s" % p, "Write %s as YAML: %%s" % p],
            fence("yaml", p + ":\n" + "\n".join("- " + x for x in xs)),
        ),
        "json": (
            ["Write a JSON array: %s", "Make a JSON list: %s"],
            json.dumps(xs, separators=(",", ":")),
        ),
        "csv": (["Write one CSV line: %s", "Make a CSV row: %s"], ",".join(xs)),
        "bold": (
            ["Make these words bold in markdown: %s", "Write each word in bold: %s"],
            ", ".join("**%s**" % x for x in xs),
        ),
        "head": (
            [
                "Write a markdown list with the heading %s: %%s" % cap(p),
                "Make a bullet list with the title %s: %%s" % cap(p),
            ],
            "# %s\n\n" % cap(p) + "\n".join("- " + x for x in xs),
        ),
        "sel": (
            ["Make an HTML select with the options: %s", "Write an HTML select menu: %s"],
            fence(
                "html",
                "<select>\n" + "\n".join("<option>%s</option>" % x for x in xs) + "\n</select>",
            ),
        ),
    }
    qs, a = M[f]
    kind = {"html": "html1", "ol": "html1", "sel": "html1", "json": "json"}.get(f, "list")
    m = {"kind": kind, "val": xs}
    return turn(ctx.pick(qs) % t, a, "There are %d items." % len(xs), m, noise=0)


def _small(ctx):
    k = ctx.pick(
        [
            "h",
            "link",
            "bold",
            "italic",
            "code",
            "p",
            "h1",
            "kv",
            "kvy",
            "page",
            "quote",
            "button",
            "img",
            "env",
            "date",
            "section",
            "strike",
            "comment",
            "tag",
            "letter",
            "email",
        ]
    )
    n, c, f = ctx.pick(NAMES), ctx.pick(CITIES), ctx.pick(FRUITS)
    col = ctx.pick(COLORS)
    a = ctx.randint(1, 90)
    lv = ctx.randint(1, 4)
    title = ctx.pick(
        [
            "My %s"
            % ctx.pick(["garden", "cat", "day", "book", "trip", "house", "dog", "notes", "list"]),
            "About %s" % n,
            "Trip to %s" % c,
            "%s cake" % cap(f),
            "Chapter %d" % a,
        ]
    )
    if k == "h":
        q, s = "Write a markdown heading of level %d: %s" % (lv, title), "#" * lv + " " + title
    elif k == "link":
        q, s = "Write a markdown link with the text %s to example.com/%s." % (
            title,
            f,
        ), "[%s](https://example.com/%s)" % (title, f)
    elif k == "bold":
        q, s = "Make the word %s bold in this sentence: I like %s and %s." % (
            f,
            f,
            col,
        ), "I like **%s** and %s." % (f, col)
    elif k == "italic":
        q, s = "Make the word %s italic in markdown: %s lives in %s." % (
            c,
            n,
            c,
        ), "%s lives in *%s*." % (n, c)
    elif k == "code":
        q, s = (
            'Write the command "coli %s" as inline code.'
            % ctx.pick(["chat", "run", "serve", "web", "plan", "doctor", "info", "bench"]),
            None,
        )
        s = "`%s`" % q.split('"')[1]
    elif k == "p":
        q, s = "Write an HTML paragraph: %s is from %s." % (n, c), fence(
            "html", "<p>%s is from %s.</p>" % (n, c)
        )
    elif k == "h1":
        q, s = "Write an HTML heading h%d: %s" % (lv, title), fence(
            "html", "<h%d>%s</h%d>" % (lv, title, lv)
        )
    elif k == "kv":
        q, s = "Write key: value lines for name %s, city %s, age %d." % (
            n,
            c,
            a,
        ), "name: %s\ncity: %s\nage: %d" % (n, c, a)
    elif k == "kvy":
        q, s = "Write YAML for a person: name %s, age %d, likes %s and %s." % (n, a, f, col), fence(
            "yaml", "name: %s\nage: %d\nlikes:\n- %s\n- %s" % (n, a, f, col)
        )
    elif k == "page":
        q, s = "Write a small HTML page with the title %s and the text %s is here." % (
            title,
            n,
        ), fence(
            "html",
            "<html>\n<head><title>%s</title></head>\n<body>\n<p>%s is here.</p>\n</body>\n</html>"
            % (title, n),
        )
    elif k == "quote":
        q, s = "Write this as a markdown quote: %s likes the color %s." % (
            n,
            col,
        ), "> %s likes the color %s." % (n, col)
    elif k == "button":
        q, s = "Write an HTML button with the text %s." % title, fence(
            "html", "<button>%s</button>" % title
        )
    elif k == "img":
        q, s = "Write a markdown image of %s.png with the text %s." % (
            f,
            title,
        ), "![%s](%s.png)" % (title, f)
    elif k == "env":
        q, s = "Write an INI section called %s with city %s and count %d." % (col, c, a), fence(
            "ini", "[%s]\ncity = %s\ncount = %d" % (col, c, a)
        )
    elif k == "date":
        y, m, d = ctx.randint(2000, 2026), ctx.randint(1, 12), ctx.randint(1, 28)
        MN = "January February March April May June July August September October November December".split()
        q, s = "Write the date %d %s %d as YYYY-MM-DD." % (d, MN[m - 1], y), "%04d-%02d-%02d" % (
            y,
            m,
            d,
        )
    elif k == "section":
        q, s = "Write markdown with the heading %s and two bullet points: %s, %s." % (
            title,
            f,
            col,
        ), "# %s\n\n- %s\n- %s" % (title, f, col)
    elif k == "strike":
        q, s = "Strike through the word %s in markdown: %s, %s, %s." % (
            f,
            n,
            f,
            c,
        ), "%s, ~~%s~~, %s." % (n, f, c)
    elif k == "comment":
        q, s = "Write an HTML comment: %s %d" % (title, a), fence(
            "html", "<!-- %s %d -->" % (title, a)
        )
    elif k == "tag":
        q, s = (
            "Close this HTML tag: <%s>%s"
            % (ctx.pick(["b", "i", "p", "li", "td", "div", "span", "h1"]), title),
            None,
        )
        tg = q.split("<")[1].split(">")[0]
        s = "<%s>%s</%s>" % (tg, title, tg)
    elif k == "letter":
        o = ctx.pick([x for x in NAMES if x != n])
        q, s = "Write a short letter from %s to %s about a trip to %s." % (
            n,
            o,
            c,
        ), (
            "Dear %s,\n\nI am going to %s soon. I would be happy if you came along."
            "\n\nBest wishes,\n%s"
        ) % (
            o,
            c,
            n,
        )
    else:
        o = ctx.pick([x for x in NAMES if x != n])
        d = ctx.pick(DAYS)
        q, s = "Write a short email from %s to %s: meeting on %s in %s." % (
            n,
            o,
            d,
            c,
        ), (
            "To: %s\nSubject: Meeting on %s\n\nHello %s,\n\nOur meeting is on %s in %s."
            "\n\nBest,\n%s"
        ) % (
            o,
            d,
            o,
            d,
            c,
            n,
        )
    return "ms|" + q, (q, s)


def small_turn(ctx):
    q, s = ctx.draw(_small)
    return turn(q, s, None, {"kind": "any"}, noise=0)


QA = [
    (
        "What is markdown?",
        "Markdown is a simple way to write formatted text with signs like # and *.",
    ),
    ("What is HTML?", "HTML is the language of web pages. It uses tags like <p>."),
    ("What is CSV?", "CSV is a text format for tables. Commas separate the values."),
    ("What is YAML?", "YAML is a text format for data with keys, values and lists."),
    ("What is JSON?", "JSON is a text format for data with objects and lists."),
    ("How do I make bold text in markdown?", "Put two stars on both sides: **bold**."),
    ("How do I make italic text in markdown?", "Put one star on both sides: *italic*."),
    ("How do I make a heading in markdown?", "Start the line with #: # Heading."),
    ("How do I make a list in markdown?", "Start each line with a dash: - item."),
    ("How do I write a link in markdown?", "Write [text](address)."),
    ("How do I write code in markdown?", "Put it between backticks: `code`."),
    ("What does the tag <b> do?", "The tag <b> makes text bold."),
    ("What does the tag <p> do?", "The tag <p> marks a paragraph."),
    ("What does the tag <ul> do?", "The tag <ul> makes a list with bullets."),
    ("What does the tag <ol> do?", "The tag <ol> makes a numbered list."),
    ("What does the tag <a> do?", "The tag <a> makes a link."),
    ("What does the tag <h1> do?", "The tag <h1> makes a big heading."),
    ("What does the tag <table> do?", "The tag <table> makes a table."),
    ("What is a header row?", "A header row is the first row of a table. It names the columns."),
    (
        "How do I make a table in markdown?",
        "Put | between the cells and a line with --- under the header.",
    ),
]


def _qa(ctx):
    i = ctx.randint(0, len(QA) - 1)
    j = ctx.randint(0, 2)
    return ("mq|%d|%d" % (i, j) if j else None), (
        ["%s", "Tell me: %s", "I want to know: %s"][j]
        % (QA[i][0] if j == 0 else QA[i][0][0].lower() + QA[i][0][1:]),
        QA[i][1],
    )


def qa_turn(ctx):
    q, a = ctx.draw(_qa)
    return turn(q, a)


def sample(ctx):
    n = ctx.wpick([(46, 1), (34, 2), (20, 3)])
    turns = []
    while len(turns) < n:
        x = ctx.rng.random()
        if x < 0.36:
            turns += table_turns(ctx)
        elif x < 0.54:
            turns.append(read_turn(ctx))
        elif x < 0.76:
            turns.append(list_turn(ctx))
        elif x < 0.95:
            turns.append(small_turn(ctx))
        else:
            turns.append(qa_turn(ctx))
    return build(ctx, "structured", turns, think=0.06)
