#!/usr/bin/env python3
"""Checks for the hummingbird-nano corpus.

    python3 checks.py                 # 20,000 training samples, 4,000 eval samples
    python3 checks.py --samples 60000 --seed 3

Exit status 0 when every check passes.  Also prints bytes per topic, distinct
words and the zlib ratio.
"""

import argparse
import collections
import contextlib
import csv
import html.parser
import io
import json
import random
import re
import sqlite3
import sys
import time
import zlib

import core
import generate
import t_poem
import t_sql

ERR = collections.OrderedDict()
COUNT = collections.Counter()
VERBOSE = False


def err(kind, msg):
    ERR.setdefault(kind, []).append(msg)


def ok(kind):
    COUNT[kind] += 1


# ---------------------------------------------------------------------------
# arithmetic, independent of the generator: every equation in any assistant text
# ---------------------------------------------------------------------------
EQ = re.compile(r"(?<![\w.,%])(-?\d+(?: [-+x*/] \d+)+) = (-?\d+)(?!\d|%|\.\d)")
WORDEQ = re.compile(
    r"(?<![\w.])(-?\d+) (plus|minus|times|divided by) (\d+) is (-?\d+)\b(?!, remainder)"
)
CMP = re.compile(r"\b(\d+) is (bigger|smaller) than (\d+)")
ZHEQ = re.compile(r"(\d+)(加|减)(\d+)等于(\d+)")
PCT = re.compile(r"(\d+)% of (\d+) is (\d+)")
LANG_EQ = [
    re.compile(r"(\d+) (?:più|plus|más) (\d+) (?:fa|font|son|ist) (\d+)"),
    re.compile(r"(\d+) (?:meno|moins|menos|minus) (\d+) (?:fa|font|son|ist) (\d+)"),
]


def eval_expr(e):
    toks = e.replace("x", "*").split(" ")
    py = " ".join(toks)
    v = eval(py, {"__builtins__": {}})
    return v


def check_equations(text):
    for m in EQ.finditer(text):
        v = eval_expr(m.group(1))
        if abs(v - int(m.group(2))) > 1e-9:
            err("arith", m.group(0))
        ok("equations")
    for m in WORDEQ.finditer(text):
        a, w, b, c = int(m.group(1)), m.group(2), int(m.group(3)), int(m.group(4))
        v = {"plus": a + b, "minus": a - b, "times": a * b, "divided by": a / b if b else None}[w]
        if v != c:
            err("arith", m.group(0))
        ok("equations")
    for m in CMP.finditer(text):
        a, w, b = int(m.group(1)), m.group(2), int(m.group(3))
        if (a > b) != (w == "bigger") or a == b:
            err("arith", m.group(0))
        ok("equations")
    for m in ZHEQ.finditer(text):
        a, w, b, c = int(m.group(1)), m.group(2), int(m.group(3)), int(m.group(4))
        if (a + b if w == "加" else a - b) != c:
            err("arith", m.group(0))
        ok("equations")
    for m in PCT.finditer(text):
        if int(m.group(1)) * int(m.group(2)) != 100 * int(m.group(3)):
            err("arith", m.group(0))
    for k, rx in enumerate(LANG_EQ):
        for m in rx.finditer(text):
            a, b, c = map(int, m.groups())
            if (a + b if k == 0 else a - b) != c:
                err("arith", m.group(0))


def num_from_words(s):
    ones = {w: i for i, w in enumerate(core._ONES)}
    tens = {w: 10 * i for i, w in enumerate(core._TENS) if w != "_"}
    s = s.lower().strip(".").replace("-", " ").replace(" and ", " ")
    if s == "one thousand":
        return 1000
    t = 0
    for w in s.split():
        if w == "hundred":
            t *= 100
        elif w in ones:
            t += ones[w]
        elif w in tens:
            t += tens[w]
        else:
            return None
    return t


def ints(s):
    return [int(x) for x in re.findall(r"(?<![\w.])-?\d+", s)]


# second opinion: solve the question from its text alone (regex, function of the numbers)
SOLVE = [
    (re.compile(p, re.I), f)
    for p, f in [
        (r"(\d+) \w+\. \w+ gives (?:her|him) (\d+) more", lambda a, b: a + b),
        (r"(\d+) \w+ and found (\d+) more", lambda a, b: a + b),
        (r"(\d+) \w+\. \w+ gives (\d+) to \w+ and loses (\d+)", lambda a, b, c: a - b - c),
        (r"has (\d+) \w+\. \w+ loses (\d+)\.", lambda a, b: a - b),
        (r"(\d+) \w+ and gave (\d+) to", lambda a, b: a - b),
        (r"(\d+) boxes with (\d+)", lambda a, b: a * b),
        (r"(\d+) bags\. Each bag has (\d+)", lambda a, b: a * b),
        (r"(\d+) friends share (\d+)", lambda a, b: b // a),
        (r"costs (\d+) euros\. How much do (\d+)", lambda a, b: a * b),
        (r"for (\d+) euros each\. \w+ buys (\d+)", lambda a, b: a * b),
        (r"buys (\d+) \w+ for (\d+) euros each and pays with (\d+)", lambda a, b, c: c - a * b),
        (r"has (\d+) \w+ and \w+ has (\d+) \w+\. How many .* together", lambda a, b: a + b),
        (r"(?:double of|^double|twice) (\d+)", lambda a: 2 * a),
        (r"half of (\d+)", lambda a: a // 2),
        (r"(?:after|more than) (\d+)[.?]?$", lambda a: a + 1),
        (r"before (\d+)", lambda a: a - 1),
        (r"square of (\d+)", lambda a: a * a),
        (r"(\d+) squared", lambda a: a * a),
        (r"(?:round )?(\d+) (?:rounded )?to the nearest ten", lambda a: (a + 5) // 10 * 10),
        (r"digits of (\d+)", lambda a: sum(map(int, str(a)))),
        (r"ones place of (\d+)", lambda a: a % 10),
        (r"tens place of (\d+)", lambda a: a // 10 % 10),
        (r"hundreds place of (\d+)", lambda a: a // 100),
    ]
]


def solve(user):
    low = user.lower()
    xs = ints(user)
    if re.search(r"\b(largest|biggest)\b", low) or re.search(
        r"\b(bigger|larger)\b.* or |is more, ", low
    ):
        return max(xs)
    if re.search(r"\bsmallest\b", low) or re.search(r"\b(smaller|less)\b.* or ", low):
        return min(xs)
    if "average" in low:
        return sum(xs) / len(xs)
    for rx, f in SOLVE:
        m = rx.search(user)
        if m:
            return f(*map(int, m.groups()))
    return None


# ---------------------------------------------------------------------------
# sql
# ---------------------------------------------------------------------------
def make_db(tables, rows=True, seed=0):
    rng = random.Random(seed)
    db = sqlite3.connect(":memory:")
    data = {}
    for t in tables:
        cols = t_sql.T[t]
        db.execute(
            "CREATE TABLE %s (%s)"
            % (t, ", ".join("%s %s" % (c, "INTEGER" if k == "i" else "TEXT") for c, k, _ in cols))
        )
        data[t] = []
        if rows:
            for i in range(30):
                r = []
                for c, k, v in cols:
                    if v is None:
                        r.append(i + 1)
                    elif k == "t":
                        r.append(rng.choice(v))
                    else:
                        r.append(rng.randint(*v))
                data[t].append(dict(zip([c[0] for c in cols], r)))
                db.execute("INSERT INTO %s VALUES (%s)" % (t, ",".join("?" * len(r))), r)
    return db, data


def holds(row, w):
    def one(p):
        c, op, v = p
        x = row[c]
        if op == "like":
            return x.lower().startswith(v.lower())
        return {
            "=": x == v,
            ">": x > v if not isinstance(x, str) else False,
            "<": x < v if not isinstance(x, str) else False,
            "<>": x != v,
            ">=": x >= v if not isinstance(x, str) else False,
            "<=": x <= v if not isinstance(x, str) else False,
        }[op]

    r = one(w[0])
    if len(w) == 3:
        r = (r and one(w[2])) if w[1] == "AND" else (r or one(w[2]))
    return r


SQL_WORDS = {
    ">": ("more than", "greater than", "above", "over"),
    "<": ("less than", "smaller than", "below", "under"),
    ">=": ("at least",),
    "<=": ("at most",),
    "<>": ("is not",),
    "like": ("starts with", "begins with"),
    "=": (" is ", "with ", "equals", "whose"),
}


def check_sql(s, meta, user):
    q = meta["q"]
    sql = q["sql"]
    body = s
    m = re.fullmatch(r"```sql\n(.*)\n```", s, re.S)
    if m:
        body = m.group(1)
    if body != sql:
        err("sql", "content differs: %r" % s)
        return
    tables = meta["tables"]
    if q.get("k") == "create":
        db = sqlite3.connect(":memory:")
        data = {}
    else:
        db, data = make_db(tables)
    # the schema in the prompt must agree
    for t, cols in re.findall(r"\b(\w+)\(([^)]*)\)", user):
        if t in t_sql.T:
            names = [c.split()[0] for c in cols.split(", ")]
            if names != [c[0] for c in t_sql.T[t]]:
                err("sql", "schema in prompt: " + user)
    try:
        cur = db.execute(sql)
        res = cur.fetchall()
    except sqlite3.Error as e:
        err("sql", "%s: %s" % (e, sql))
        return
    ok("sql")
    w = q.get("w")
    if w:
        for p in (w[0], w[2]) if len(w) == 3 else (w[0],):
            if (
                not any(x in user for x in SQL_WORDS[p[1]])
                or str(p[2]) not in user
                or p[0] not in user
            ):
                err("sql", "words and condition differ: %s | %s" % (user, sql))
        t = tables[0]
        match = [r for r in data[t] if holds(r, w)]
        k = q["k"]
        if k == "where" and len(res) != len(match):
            err("sql", "rows: " + sql)
        elif k == "countw" and res[0][0] != len(match):
            err("sql", "count: " + sql)
        elif k == "colwhere" and [tuple(r[c] for c in q["cs"]) for r in match] != res:
            err("sql", "columns: " + sql)
        elif k == "delete":
            left = db.execute("SELECT COUNT(*) FROM %s" % t).fetchone()[0]
            if left != len(data[t]) - len(match):
                err("sql", "delete: " + sql)
        elif k == "aggw" and match:
            vals = [r[q["c"]] for r in match]
            v = {
                "AVG": sum(vals) / len(vals),
                "MAX": max(vals),
                "MIN": min(vals),
                "SUM": sum(vals),
            }[q["f"]]
            if abs(v - res[0][0]) > 1e-6:
                err("sql", "aggregate: " + sql)
        ok("sql semantics")
    if q.get("k") == "insert":
        last = db.execute("SELECT * FROM %s ORDER BY rowid DESC LIMIT 1" % tables[0]).fetchone()
        if list(last[1:]) != q["vs"] or not all(str(v) in user for v in q["vs"]):
            err("sql", "insert: " + sql)
        ok("sql semantics")


# ---------------------------------------------------------------------------
# tools
# ---------------------------------------------------------------------------
def type_ok(v, t):
    return {
        "string": isinstance(v, str),
        "integer": isinstance(v, int) and not isinstance(v, bool),
        "number": isinstance(v, (int, float)) and not isinstance(v, bool),
        "boolean": isinstance(v, bool),
        "object": isinstance(v, dict),
        "array": isinstance(v, list),
    }[t]


def check_tools(s):
    decl = {t["name"]: t for t in s["tools"]}
    if len(decl) != len(s["tools"]):
        err("tools", "same tool name twice")
    for t in s["tools"]:
        if set(t) != {"name", "description", "parameters"} or t["parameters"]["type"] != "object":
            err("tools", "bad declaration %s" % t)
    ms = s["messages"]
    for i, m in enumerate(ms):
        calls = m.get("tool_calls")
        if m["role"] == "tool":
            json.loads(m["content"])
        if not calls:
            continue
        user = next(x["content"] for x in reversed(ms[:i]) if x["role"] == "user")
        for c in calls:
            d = decl.get(c["name"])
            if d is None:
                err("tools", "call of an undeclared tool %s" % c["name"])
                continue
            props, req = d["parameters"]["properties"], d["parameters"]["required"]
            a = c["arguments"]
            if not set(a) <= set(props) or not set(req) <= set(a):
                err("tools", "arguments %s for %s" % (a, d))
            for k, v in a.items():
                if not type_ok(v, props[k]["type"]) or (
                    "enum" in props[k] and v not in props[k]["enum"]
                ):
                    err("tools", "type of %s in %s" % (k, a))
                if isinstance(v, str) and re.fullmatch(r"\d{4}-\d\d-\d\d", v):
                    y, mo, dd = v.split("-")
                    if y not in user or str(int(dd)) not in user:
                        err("tools", "date %s / %s" % (v, user))
                elif (
                    isinstance(v, str)
                    and k in ("city", "location", "place", "query", "q", "text", "title", "name")
                    and v not in user
                ):
                    err("tools", "argument %r not in the request %r" % (v, user))
                elif isinstance(v, (int, float)) and ("%g" % v) not in user and "hour" not in user:
                    err("tools", "number %r not in %r" % (v, user))
            ok("tool calls")
        res = []
        j = i + 1
        while j < len(ms) and ms[j]["role"] == "tool":
            res.append(json.loads(ms[j]["content"]))
            j += 1
        if len(res) != len(calls) or ms[j]["role"] != "assistant":
            err("tools", "results do not match the calls")
        ans = ms[j]["content"]
        for c, r in zip(calls, res):
            if "error" in r:
                if not ans.startswith("Sorry"):
                    err("tools", "error not reported: " + ans)
            elif "temp" in r:
                if str(r["temp"]) not in ans and r["sky"] not in ans:
                    err("tools", "answer %s / %s" % (r, ans))
            elif "time" in r and r["time"] not in ans:
                err("tools", "answer %s / %s" % (r, ans))
            elif "result" in r and ("%g" % r["result"]) not in ans and str(r["result"]) not in ans:
                err("tools", "answer %s / %s" % (r, ans))
            if "expression" in c["arguments"] and eval(c["arguments"]["expression"]) != r.get(
                "result"
            ):
                err("tools", "calculator result")
            if "value" in c["arguments"]:
                check_convert(c["arguments"], r)


FACT = {
    ("km", "miles"): 0.621371,
    ("miles", "km"): 1.609344,
    ("kg", "pounds"): 2.204623,
    ("pounds", "kg"): 0.453592,
    ("m", "feet"): 3.28084,
    ("feet", "m"): 0.3048,
    ("cm", "inches"): 0.393701,
    ("inches", "cm"): 2.54,
    ("liters", "gallons"): 0.264172,
    ("gallons", "liters"): 3.785412,
}


def check_convert(a, r):
    v = a["value"]
    f = a.get("from_unit", a.get("from"))
    t = a.get("to_unit", a.get("to"))
    if f == "celsius":
        x = v * 1.8 + 32
    elif f == "fahrenheit":
        x = (v - 32) / 1.8
    else:
        x = v * FACT[f, t]
    if abs(x - r["result"]) > max(0.06, abs(x) * 0.002):
        err("tools", "conversion %s -> %s, expected %.2f" % (a, r, x))
    ok("conversions")


# ---------------------------------------------------------------------------
# structured data
# ---------------------------------------------------------------------------
class Rows(html.parser.HTMLParser):
    VOID = ("img", "br")

    def __init__(self):
        super().__init__()
        self.stack, self.rows, self.items, self.bad = [], [], [], False

    def handle_starttag(self, tag, attrs):
        if tag not in self.VOID:
            self.stack.append(tag)
        if tag == "tr":
            self.rows.append([])

    def handle_endtag(self, tag):
        if not self.stack or self.stack.pop() != tag:
            self.bad = True

    def handle_data(self, d):
        if self.stack and self.stack[-1] in ("td", "th"):
            self.rows[-1].append(d)
        if self.stack and self.stack[-1] in ("li", "option"):
            self.items.append(d)


def unfence(s, lang):
    m = re.fullmatch(r"```%s\n(.*)\n```" % lang, s, re.S)
    return m.group(1) if m else None


def check_structured(s, m):
    k = m["kind"]
    want = [m["cols"]] + m["rows"] if "cols" in m else None
    if k == "md":
        ls = s.split("\n")
        got = [[c.strip() for c in l.strip("|").split("|")] for l in [ls[0]] + ls[2:]]
        if (
            got != want
            or not re.fullmatch(r"\|(---\|)+", ls[1])
            or ls[1].count("---") != len(m["cols"])
        ):
            err("structured", "markdown table: " + s)
    elif k == "csv":
        got = list(csv.reader(io.StringIO(unfence(s, "csv"))))
        if got != want:
            err("structured", "csv: " + s)
    elif k == "yaml":
        got = []
        for l in unfence(s, "yaml").split("\n"):
            if l.startswith("- "):
                got.append([])
            got[-1].append(l[2:].split(": ", 1))
        if [[v for _, v in r] for r in got] != m["rows"] or any(
            [c for c, _ in r] != m["cols"] for r in got
        ):
            err("structured", "yaml: " + s)
    elif k == "json":
        got = json.loads(unfence(s, "json") or s)
        if not want and got != m["val"]:
            err("structured", "json list: " + s)
        if want and [[str(v) for v in r.values()] for r in got] != m["rows"]:
            err("structured", "json: " + s)
    elif k in ("html", "html1"):
        p = Rows()
        p.feed(unfence(s, "html"))
        if p.bad or p.stack:
            err("structured", "html not balanced: " + s)
        if k == "html" and p.rows != want:
            err("structured", "html rows: " + s)
        if k == "html1" and p.items != m["val"]:
            err("structured", "html items: " + s)
    elif k == "list":
        if not all(x in s for x in m["val"]):
            err("structured", "list: " + s)
    else:
        return
    ok("structured")


# ---------------------------------------------------------------------------
# one chat turn with meta
# ---------------------------------------------------------------------------
LOOPS = [
    (r"numbers from (\d+) to (\d+) with a loop", None),
    (
        r"prints the numbers from (\d+) to (\d+)|counts from (\d+) to (\d+)",
        lambda a, b: range(a, b + 1),
    ),
    (r"counts down from (\d+) to 1", lambda a: range(a, 0, -1)),
    (r"even numbers from 2 to (\d+)", lambda a: range(2, a + 1, 2)),
    (r"triangle of stars with (\d+) rows", lambda a: ["*" * i for i in range(1, a + 1)]),
    (r"times table of (\d+)", lambda a: ["%d x %d = %d" % (a, i, a * i) for i in range(1, 11)]),
    (r"letters? of the word (\w+)", lambda w: list(w)),
]


def loop_meaning(a, user):
    """run the code of a loop and compare with what the request says"""
    m = re.search(r"```python\n(.*?)\n```", a, re.S)
    for rx, f in LOOPS:
        q = re.search(rx, user)
        if q:
            buf = io.StringIO()
            with contextlib.redirect_stdout(buf):
                exec(compile(m.group(1), "<x>", "exec"), {})
            got = buf.getvalue().split("\n")[:-1]
            args = [int(x) if x.isdigit() else x for x in q.groups() if x]
            want = [str(x) for x in f(*args)] if f else [str(sum(range(args[0], args[1] + 1)))]
            if got != want:
                err("python", "%s -> %s" % (user, got))
            ok("python programs run")
            return


def check_meta(s, meta):
    m = s["messages"][meta["i"]]
    a = m["content"]
    user = next(x["content"] for x in reversed(s["messages"][: meta["i"]]) if x["role"] == "user")
    k = meta["kind"]
    t = s["topic"]
    if t == "structured" and k in ("md", "csv", "yaml", "json", "html", "html1", "list"):
        return check_structured(a, meta)
    if k == "json":
        try:
            v = json.loads(a)
        except ValueError:
            return err("json", a)
        if v != meta["val"] or json.dumps(v, ensure_ascii=False, separators=(",", ":")) != a:
            err("json", "%s != %s" % (a, meta["val"]))
        if t == "json" and isinstance(v, dict):
            for key, x in v.items():
                if isinstance(x, str) and x.lower() not in user.lower():
                    err("json", "value %r is not in the request %r" % (x, user))
                if isinstance(x, int) and not isinstance(x, bool) and str(x) not in user:
                    err("json", "number %r is not in the request %r" % (x, user))
        ok("json answers")
    elif k == "jsoncheck":
        try:
            json.loads(meta["src"])
            good = True
        except ValueError:
            good = False
        if good != meta["ok"] or a.startswith("Yes") != good:
            err("json", "validity: " + user)
        ok("json answers")
    elif k == "field":
        if a != meta["val"]:
            err("json", a)
    elif k == "calc":
        if eval(meta["expr"]) != meta["ans"] or ints(a)[-1:] != [meta["ans"]]:
            err("arith", "%s -> %s" % (user, a))
        ok("arithmetic answers")
    elif k == "divrem":
        x = ints(a)
        if x[-2:] != list(divmod(meta["a"], meta["b"])):
            err("arith", a)
        ok("arithmetic answers")
    elif k in ("first_int", "last_int"):
        x = ints(a)
        if not x or (x[0] if k == "first_int" else x[-1]) != meta["ans"]:
            err("arith", "%s -> %s (expected %s)" % (user, a, meta["ans"]))
        if t == "arithmetic":
            v = solve(user)
            if v is None:
                ok("arithmetic not solved a second time")
            elif v != meta["ans"]:
                err("arith", "second opinion %s: %s -> %s" % (v, user, a))
            else:
                ok("arithmetic solved a second time")
        r = m.get("reasoning")
        if r:
            so = re.search(r"So (?:half is )?(-?\d+)\.$", r)
            e = EQ.findall(r)
            if (int(so.group(1)) if so else int(e[-1][1]) if e else meta["ans"]) != meta["ans"]:
                err("arith", "reasoning %s / %s" % (r, a))
        ok("arithmetic answers")
    elif k == "wordnum":
        w = a.split(" is ")[-1]
        if num_from_words(w) != meta["ans"]:
            err("arith", "%s -> %s" % (user, a))
        ok("arithmetic answers")
    elif k == "rel":
        p, op, q = a.split()
        if not eval("%s%s%s" % (p, "==" if op == "=" else op, q)) or [int(p), int(q)] != ints(user):
            err("arith", a)
        ok("arithmetic answers")
    elif k == "steps":
        if ints(a)[-1] != meta["ans"]:
            err("arith", a)
    elif k in ("py", "pyrun", "pyqa", "pyout", "pyexpr", "pyhas"):
        if k == "py":
            env = {}
            code = re.search(r"```python\n(.*?)\n```", a, re.S).group(1)
            exec(compile(code, "<x>", "exec"), env)
            if repr(eval(meta["expr"], env)) != meta["res"]:
                err(
                    "python",
                    "%s gives %r, not %s" % (meta["expr"], eval(meta["expr"], env), meta["res"]),
                )
            e = re.search(r"Example: `(.*)` returns `(.*)`\.", a)
            if e and repr(eval(e.group(1), env)) != e.group(2):
                err("python", a)
            ok("python functions run")
        elif k == "pyrun":
            loop_meaning(a, user)
        elif k == "pyout":
            buf = io.StringIO()
            with contextlib.redirect_stdout(buf):
                exec(
                    compile(
                        re.search(r"```python\n(.*?)\n```", user, re.S).group(1), "<x>", "exec"
                    ),
                    {},
                )
            if a != "It prints:\n```\n%s\n```" % buf.getvalue().rstrip("\n"):
                err("python", a)
            ok("python outputs")
        elif k == "pyhas":
            e = re.search(r"`(.*)`", user).group(1)
            if a != "`%s` returns `%s`." % (e, meta["txt"]):
                err("python", a)
            ok("python outputs")
        elif k == "pyexpr":
            v = eval(meta["expr"])
            if a != ("It shows `%s`." % v if "print(" in user else "`%r`" % (v,)):
                err("python", "%s: %s" % (meta["expr"], a))
            ok("python outputs")
    elif k == "sql":
        check_sql(a, meta, user)
    elif k == "poem":
        ls = [l for l in a.split("\n") if l]
        ends = [t_poem.endword(l) for l in ls]
        step = 4 if meta["scheme"] == "ABAB" else 2
        for i in range(0, len(ls), step):
            pairs = [(i, i + 2), (i + 1, i + 3)] if step == 4 else [(i, i + 1)]
            for x, y in pairs:
                g = [r for r, ws in t_poem.RHYMES.items() if ends[x] in ws and ends[y] in ws]
                if not g or ends[x] == ends[y]:
                    err("poem", a)
        ok("poems rhyme")
    elif k == "haiku":
        syl = [syllables(l) for l in a.split("\n")]
        if syl != [5, 7, 5]:
            err("haiku", "%s %s" % (syl, a))
        ok("haiku")
    elif k == "exact":
        if a != meta["ans"]:
            err("textops", a)
        ok("text operations")
    elif k in ("rev", "spell", "len", "countl", "has", "vowels", "pal", "letter", "in"):
        w = meta.get("w", "")
        q = re.findall(r'"([^"]+)"', user)
        if w and w not in q:
            err("textops", "word not in request: " + user)
        good = {
            "rev": lambda: a == "".join(reversed(w)),
            "spell": lambda: a.split("-") == list(w),
            "len": lambda: ints(a) == [sum(1 for _ in w)],
            "countl": lambda: ints(a) == [sum(c == meta["l"] for c in w)],
            "has": lambda: a.startswith("Yes") == (meta["l"] in set(w)),
            "vowels": lambda: (ints(a) or [0]) == [sum(c in "aeiou" for c in w)],
            "pal": lambda: a.startswith("Yes") == (list(w) == list(reversed(w))),
            "letter": lambda: a.endswith(" is %s." % meta["ans"]),
            "in": lambda: meta["ans"] in a,
        }[k]()
        if not good:
            err("textops", "%s -> %s" % (user, a))
        ok("text operations")


SYL = {
    "quiet": 2,
    "world": 1,
    "moves": 1,
    "village": 2,
    "smiles": 1,
    "someone": 2,
    "leaves": 1,
    "stones": 1,
    "breathes": 1,
    "breathe": 1,
    "waves": 1,
    "wakes": 1,
    "time": 1,
    "forget": 2,
    "inside": 2,
    "leaf": 1,
    "one": 1,
    "the": 1,
    "alone": 2,
    "gate": 1,
    "bare": 1,
    "stands": 1,
    "lets": 1,
    "eyes": 1,
    "fire": 1,
    "takes": 1,
    "finds": 1,
    "nothing": 2,
    "except": 2,
    "before": 2,
    "carries": 2,
    "becomes": 2,
    "here": 1,
    "breath": 1,
    "small": 1,
    "smile": 1,
}


def syllables(line):
    n = 0
    for w in re.findall(r"[a-z]+", line.lower()):
        if w in SYL:
            n += SYL[w]
            continue
        v = len(re.findall(r"[aeiouy]+", w))
        if w.endswith("e") and not w.endswith("le") and v > 1:
            v -= 1
        if w.endswith(("es", "ed")) and v > 1 and not re.search(r"(s|x|z|ch|sh|t|d)e[sd]$", w):
            v -= 1
        n += v
    return n


# ---------------------------------------------------------------------------
# absolute paths (the API path /v1/... is fine), broken or control characters
BAD_TEXT = re.compile(
    r"((?:^|[\s\"'(=])/(?!v1/)\w+/|\b[A-Za-z]:\\|\ufffd|[\x00-\x08\x0b-\x1f\x7f])"
)


def strings(o):
    if isinstance(o, str):
        yield o
    elif isinstance(o, dict):
        for k, v in o.items():
            yield k
            yield from strings(v)
    elif isinstance(o, list):
        for v in o:
            yield from strings(v)


def check_sample(s, line):
    t = s["topic"]
    words = generate.words_of(s)
    if words > 400:
        err("length", "%d words in %s" % (words, t))
    for x in strings(s):
        if BAD_TEXT.search(x):
            err("text", x[:200])
    if "text" in s:
        if set(s) - {"topic", "text", "meta"} or not s["text"].strip():
            err("format", line[:200])
        check_equations(s["text"])
        return
    if set(s) - {"topic", "messages", "tools", "meta"}:
        err("format", line[:200])
    ms = s["messages"]
    prev = None
    for i, m in enumerate(ms):
        if set(m) - {"role", "content", "reasoning", "tool_calls"} or not isinstance(
            m["content"], str
        ):
            err("format", line[:200])
        r = m["role"]
        allowed = {
            None: ("system", "user"),
            "system": ("user",),
            "user": ("assistant",),
            "assistant": ("user",),
            "call": ("tool",),
            "tool": ("tool", "assistant"),
        }[prev]
        if r not in allowed:
            err("format", "role order: " + line[:200])
        if not m["content"].strip() and not m.get("tool_calls"):
            err("format", "empty: " + line[:200])
        if r != "assistant" and (m.get("reasoning") or m.get("tool_calls")):
            err("format", "reasoning outside of assistant")
        if r == "assistant":
            check_equations(m["content"])
            check_equations(m.get("reasoning", ""))
            for code in re.findall(r"```python\n(.*?)\n```", m["content"], re.S):
                try:
                    compile(code, "<x>", "exec")
                    ok("python compiles")
                except SyntaxError as e:
                    err("python", "%s: %s" % (e, code))
            if m["content"].count("```") % 2:
                err("format", "open fence")
        prev = "call" if m.get("tool_calls") else r
    asst = [m for m in ms if m["role"] == "assistant"]
    if 0 < sum("reasoning" in m for m in asst) < len(asst):
        err("format", "reasoning only in some answers: " + line[:200])
    if ms[-1]["role"] != "assistant" or prev != "assistant":
        err("format", "last message")
    if "tools" in s:
        check_tools(s)
    elif t == "tools":
        err("format", "no tools")
    for meta in s.get("meta", ()):
        check_meta(s, meta)


def norm(x):
    x = re.sub(
        r"^(please: |hey, |hi! |hello\. |ok, |now: |question: |quick question: )", "", x.lower()
    )
    x = x.replace("what's ", "what is ")
    x = re.sub(r"( please\.| thanks!| thank you\.)$", "", x)
    return re.sub(r"\s+", " ", x).strip(" .?!")


def first_pair(s):
    """(normalised first user text, first answer)"""
    if "text" in s:
        return None, s["text"]
    ms = s["messages"]
    i = next(i for i, m in enumerate(ms) if m["role"] == "user")
    a = ms[i + 1]
    return norm(ms[i]["content"]), a["content"] or json.dumps(a.get("tool_calls"))


def identity(s):
    """what must not be in both splits: the first exchange, or the whole chat
    where the first exchange is only an opening"""
    if "text" in s:
        return s["text"]
    ms = s["messages"]
    if s["topic"] in ("multi", "system") or any(m["content"] == "For which city?" for m in ms):
        return "\n".join(norm(m["content"]) for m in ms)
    return first_pair(s) + (ms[0]["content"] if styled(s) else "",)


def styled(s):
    """questions whose meaning comes from the system prompt"""
    return (
        "text" not in s
        and s["messages"][0]["role"] == "system"
        and s["topic"] in ("translate", "chinese")
    )


GENERATIVE = [
    "story",
    "poem",
    "arithmetic",
    "json",
    "sql",
    "python",
    "tools",
    "textops",
    "reasoning",
    "structured",
    "translate",
    "chinese",
    "science",
    "facts",
    "colibri",
    "multi",
    "system",
]
CLOSED = {
    "arithmetic",
    "facts",
    "json",
    "sql",
    "translate",
    "chinese",
    "colibri",
    "science",
    "textops",
    "reasoning",
    "structured",
    "unknown",
}


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--samples", type=int, default=20000)
    ap.add_argument("--eval-samples", type=int, default=4000)
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--jobs", type=int, default=2)
    ap.add_argument("-v", action="store_true", help="print examples of clashes and leaks")
    a = ap.parse_args()
    global VERBOSE
    VERBOSE = a.v

    t0 = time.time()
    lines = list(generate.generate(a.seed, a.samples, meta=True, jobs=a.jobs))
    gen_s = time.time() - t0
    ev = list(generate.generate(a.seed, a.eval_samples, eval_mode=True, meta=True, jobs=a.jobs))

    # determinism: other chunking, other number of jobs
    again = list(generate.generate(a.seed, 700, meta=True, start=100, jobs=1))
    if again != lines[100:800]:
        err("determinism", "samples 100..800 differ")

    raw = [l.encode("utf-8", "strict") for l in lines]
    samples, by = [], collections.defaultdict(list)
    nbytes = collections.Counter()
    plain = []
    for b, l in zip(raw, lines):
        b.decode("utf-8", "strict")
        s = json.loads(l)
        check_sample(s, l)
        s2 = {k: v for k, v in s.items() if k != "meta"}
        p = json.dumps(s2, ensure_ascii=False, separators=(",", ":"))
        plain.append(p)
        txt = (
            s["text"]
            if "text" in s
            else "\n".join(
                m.get("reasoning", "")
                + m["content"]
                + (json.dumps(m["tool_calls"]) if "tool_calls" in m else "")
                for m in s["messages"]
            )
            + (json.dumps(s["tools"]) if "tools" in s else "")
        )
        nbytes[s["topic"]] += len(txt.encode())
        samples.append(s)
        by[s["topic"]].append(p)
    for l in ev:
        check_sample(json.loads(l), l)

    # balance
    n = a.samples
    exp = {t: n * generate.BLOCK.count(t) / len(generate.BLOCK) for t in generate.TOPICS}
    for t in generate.TOPICS:
        if abs(len(by[t]) - exp[t]) > 0.2 * exp[t]:
            err("balance", "%s: %d, expected %.0f" % (t, len(by[t]), exp[t]))

    # duplicates
    dup = {t: 1 - len(set(x)) / len(x) for t, x in by.items()}
    for t in GENERATIVE:
        if dup[t] >= 0.25:
            err("duplicates", "%s %.1f%%" % (t, 100 * dup[t]))

    # one question, one answer (closed topics, single-turn view)
    seen, clash = {}, collections.Counter()
    tot = collections.Counter()
    for s in samples:
        if (
            s["topic"] not in CLOSED
            or "text" in s
            or s["messages"][0]["role"] == "system"
            and s["topic"] in ("translate", "chinese", "json", "sql")
        ):
            continue
        q, an = first_pair(s)
        tot[s["topic"]] += 1
        if seen.setdefault((s["topic"], q), an) != an:
            clash[s["topic"]] += 1
            if clash[s["topic"]] <= 3 and VERBOSE:
                print("clash", s["topic"], "|", q, "|", an[:80], "|", seen[s["topic"], q][:80])
    for t in clash:
        if clash[t] > 0.04 * tot[t]:
            err("ambiguous", "%s: %d of %d" % (t, clash[t], tot[t]))

    # split
    trq, trp = set(), set()
    for s in samples:
        trp.add(identity(s))
        if s["topic"] in CLOSED and "text" not in s and not styled(s):
            for m in s["messages"]:
                if m["role"] == "user":
                    trq.add((s["topic"], norm(m["content"])))
    leak, pairs, nq = collections.Counter(), 0, 0
    for l in ev:
        s = json.loads(l)
        q, an = first_pair(s)
        if identity(s) in trp:
            pairs += 1
            leak[s["topic"] + " pair"] += 1
        if s["topic"] in CLOSED and q is not None and not styled(s):
            nq += 1
            if (s["topic"], q) in trq:
                leak[s["topic"]] += 1
                if VERBOSE and leak[s["topic"]] < 4:
                    print("leak", s["topic"], q)
    if pairs:
        err(
            "split",
            "%d of %d eval pairs are in the training set: %s" % (pairs, len(ev), dict(leak)),
        )
    lq = sum(v for k, v in leak.items() if not k.endswith("pair"))
    if lq > 0.01 * nq:
        err(
            "split",
            "%d of %d closed eval questions are in the training set: %s" % (lq, nq, dict(leak)),
        )

    # report
    print(
        "samples %d in %.1f s (%.0f per second), eval %d"
        % (a.samples, gen_s, a.samples / gen_s, len(ev))
    )
    print("%-12s %8s %10s %8s %6s" % ("topic", "samples", "bytes", "B/sample", "dup%"))
    for t in generate.TOPICS:
        print(
            "%-12s %8d %10d %8.0f %6.1f"
            % (t, len(by[t]), nbytes[t], nbytes[t] / max(1, len(by[t])), 100 * dup.get(t, 0))
        )
    blob = "\n".join(plain).encode()
    text = "\n".join(
        s["text"] if "text" in s else "\n".join(m["content"] for m in s["messages"])
        for s in samples
    )
    words = collections.Counter(re.findall(r"[^\W\d_]+", text.lower()))
    print(
        "total %d bytes of JSONL, %d bytes of text; distinct words %d (%d seen 5 times or more)"
        % (len(blob), sum(nbytes.values()), len(words), sum(v >= 5 for v in words.values()))
    )
    z = zlib.compress(blob, 6)
    print("zlib ratio %.2f (%d -> %d)" % (len(blob) / len(z), len(blob), len(z)))
    print(
        "with reasoning %.1f%%, plain text %.1f%%, with a system prompt %.1f%%, more than one"
        " question %.1f%%"
        % tuple(
            100 * sum(map(f, samples)) / len(samples)
            for f in (
                lambda s: "text" not in s and any("reasoning" in m for m in s["messages"]),
                lambda s: "text" in s,
                lambda s: "text" not in s and s["messages"][0]["role"] == "system",
                lambda s: "text" not in s and sum(m["role"] == "user" for m in s["messages"]) > 1,
            )
        )
    )
    print("most words in a sample: %d" % max(map(generate.words_of, samples)))
    print("checked: " + ", ".join("%s %d" % kv for kv in sorted(COUNT.items())))
    print(
        "same question with another answer: %s; eval questions also in training: %s"
        % (dict(clash), dict(leak))
    )
    for k, v in ERR.items():
        print("FAIL %s: %d" % (k, len(v)))
        for x in v[:6]:
            print("   ", str(x).replace("\n", "\\n")[:400])
    print("ALL CHECKS PASSED" if not ERR else "%d KINDS OF ERRORS" % len(ERR))
    return 1 if ERR else 0


if __name__ == "__main__":
    sys.exit(main())
