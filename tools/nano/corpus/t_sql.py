"""Topic 6: simple SQL over small schemas."""

from core import turn, build, join_and, plural
from words import NAMES, CITIES, COLORS, FRUITS, DAYS, JOBS, SHOP, HOBBIES

PETS = ["cat", "dog", "rabbit", "parrot", "hamster", "pony"]
# table: (columns: name -> (type, kind, values), singular noun)
T = {
    "users": [
        ("id", "i", None),
        ("name", "t", NAMES),
        ("age", "i", (10, 80)),
        ("city", "t", CITIES),
    ],
    "products": [
        ("id", "i", None),
        ("name", "t", list(SHOP)),
        ("price", "i", (1, 100)),
        ("color", "t", COLORS),
    ],
    "orders": [
        ("id", "i", None),
        ("customer", "t", NAMES),
        ("item", "t", list(SHOP)),
        ("quantity", "i", (1, 50)),
    ],
    "books": [
        ("id", "i", None),
        (
            "title",
            "t",
            [
                "The Red River",
                "The Lost Door",
                "A Small Star",
                "The Old Clock",
                "The Quiet Island",
                "My First Song",
            ],
        ),
        ("pages", "i", (40, 700)),
        ("year", "i", (1950, 2024)),
    ],
    "cities": [
        ("id", "i", None),
        ("name", "t", CITIES),
        (
            "country",
            "t",
            ["Italy", "France", "Spain", "Japan", "China", "Peru", "Kenya", "Germany"],
        ),
        ("population", "i", (1000, 900000)),
    ],
    "pets": [
        ("id", "i", None),
        ("name", "t", ["Rex", "Luna", "Milo", "Bella", "Kiki", "Toto", "Nala"]),
        ("kind", "t", PETS),
        ("age", "i", (1, 20)),
    ],
    "employees": [
        ("id", "i", None),
        ("name", "t", NAMES),
        ("job", "t", JOBS),
        ("salary", "i", (1000, 9000)),
    ],
    "students": [
        ("id", "i", None),
        ("name", "t", NAMES),
        ("grade", "i", (1, 12)),
        ("hobby", "t", HOBBIES),
    ],
    "fruits": [
        ("id", "i", None),
        ("name", "t", FRUITS),
        ("weight", "i", (10, 900)),
        ("color", "t", ["red", "green", "yellow", "orange"]),
    ],
    "events": [
        ("id", "i", None),
        ("title", "t", ["concert", "meeting", "party", "lesson", "picnic", "match"]),
        ("day", "t", DAYS),
        ("seats", "i", (10, 500)),
    ],
    "cars": [
        ("id", "i", None),
        ("model", "t", ["Alfa", "Bravo", "Comet", "Delta", "Eagle", "Fox"]),
        ("color", "t", COLORS),
        ("year", "i", (1990, 2024)),
    ],
    "movies": [
        ("id", "i", None),
        ("title", "t", ["Night Train", "Blue Sea", "The Long Road", "Two Moons", "Cold Sun"]),
        ("year", "i", (1950, 2024)),
        ("rating", "i", (1, 10)),
    ],
    "servers": [
        ("id", "i", None),
        ("host", "t", ["alpha", "beta", "gamma", "delta", "web1", "db1"]),
        ("status", "t", ["online", "offline", "busy"]),
        ("memory", "i", (1, 512)),
    ],
    "tasks": [
        ("id", "i", None),
        ("title", "t", ["clean", "write", "call", "test", "pack", "paint"]),
        ("owner", "t", NAMES),
        ("hours", "i", (1, 40)),
    ],
}
ADJ_HI = {
    "age": ("older than", "younger than"),
    "price": ("more expensive than", "cheaper than"),
    "pages": ("with more than", "with fewer than"),
    "year": ("after", "before"),
}


def schema_str(t, ctx=None):
    cols = T[t]
    if ctx is not None and ctx.chance(0.25):
        return "%s(%s)" % (
            t,
            ", ".join("%s %s" % (c, "INTEGER" if k == "i" else "TEXT") for c, k, _ in cols),
        )
    return "%s(%s)" % (t, ", ".join(c for c, _, _ in cols))


def val(ctx, c):
    n, k, v = c
    if v is None:
        return ctx.randint(1, 200)
    if k == "t":
        return ctx.pick(v)
    a, b = v
    x = ctx.randint(a, b)
    return x if b - a < 100 or n == "year" else max(a, x // 10 * 10)


def lit(v):
    return "'%s'" % v if isinstance(v, str) else str(v)


def icols(t):
    return [c for c in T[t] if c[1] == "i" and c[0] != "id"]


def tcols(t):
    return [c for c in T[t] if c[1] == "t"]


def pl(w):
    return {"city": "cities", "country": "countries", "hobby": "hobbies", "salary": "salaries"}.get(
        w, w if w.endswith("s") else plural(w)
    )


def cond(ctx, t):
    """-> (english suffix, sql, structured condition)"""
    if ctx.chance(0.5):
        c = ctx.pick(icols(t))
        v = val(ctx, c)
        n = c[0]
        k = ctx.wpick([(4, ">"), (4, "<"), (2, "="), (1, ">="), (1, "<=")])
        if k == ">":
            e = ctx.pick(
                [
                    "where %s is more than %d",
                    "where %s is greater than %d",
                    "where %s is above %d",
                    "with %s over %d",
                ]
            ) % (n, v)
        elif k == "<":
            e = ctx.pick(
                [
                    "where %s is less than %d",
                    "where %s is smaller than %d",
                    "where %s is below %d",
                    "with %s under %d",
                ]
            ) % (n, v)
        elif k == "=":
            e = ctx.pick(["where %s is %d", "with %s %d", "where %s equals %d"]) % (n, v)
        elif k == ">=":
            e = "where %s is at least %d" % (n, v)
        else:
            e = "where %s is at most %d" % (n, v)
        return e, "%s %s %d" % (n, k, v), (n, k, v)
    c = ctx.pick(tcols(t))
    v = val(ctx, c)
    if ctx.chance(0.15):
        L = v[0]
        return (
            ctx.pick(["where %s starts with %s", "whose %s begins with %s"]) % (c[0], L),
            "%s LIKE '%s%%'" % (c[0], L),
            (c[0], "like", L),
        )
    if ctx.chance(0.12):
        return "where %s is not %s" % (c[0], v), "%s <> '%s'" % (c[0], v), (c[0], "<>", v)
    e = ctx.pick(["where %s is %s", "with %s %s", "whose %s is %s"]) % (c[0], v)
    return e, "%s = '%s'" % (c[0], v), (c[0], "=", v)


def where(ctx, t):
    e, s, p = cond(ctx, t)
    if ctx.chance(0.18):
        for _ in range(9):
            e2, s2, p2 = cond(ctx, t)
            if p2[0] != p[0]:
                op = ctx.pick(["AND", "AND", "OR"])
                return "%s %s %s" % (e, op.lower(), e2), "%s %s %s" % (s, op, s2), [p, op, p2]
    return e, s, [p]


def _query(ctx):
    t = ctx.pick(list(T))
    k = ctx.wpick(
        [
            (8, "all"),
            (9, "cols"),
            (20, "where"),
            (10, "colwhere"),
            (9, "count"),
            (10, "countw"),
            (10, "agg"),
            (8, "order"),
            (6, "limit"),
            (6, "group"),
            (11, "insert"),
            (8, "update"),
            (8, "delete"),
            (4, "distinct"),
            (4, "between"),
            (3, "create"),
            (3, "aggw"),
            (4, "topn"),
        ]
    )
    cols = [c[0] for c in T[t]]
    q = {"t": t, "k": k}
    ex = ""
    if k == "all":
        i = ctx.randint(0, 4)
        u = (
            "Show all %s.",
            "List all %s.",
            "Get everything from %s.",
            "Select all rows from %s.",
            "Give me all %s.",
        )[i] % t
        s = "SELECT * FROM %s;" % t
        ex = "|%d" % i
    elif k in ("cols", "colwhere"):
        cs = [c for c in cols if c != "id"]
        cs = ctx.sample(cs, ctx.randint(1, 2))
        if k == "cols":
            u = ctx.pick(
                ["Show the %s of all %s.", "List %s for all %s.", "Get the %s of the %s."]
            ) % (join_and(cs), t)
            s = "SELECT %s FROM %s;" % (", ".join(cs), t)
        else:
            e, w, p = where(ctx, t)
            u = ctx.pick(
                ["Show the %s of %s %s.", "Get %s from %s %s.", "List %s of the %s %s."]
            ) % (join_and(cs), t, e)
            s = "SELECT %s FROM %s WHERE %s;" % (", ".join(cs), t, w)
            q["w"] = p
        q["cs"] = cs
    elif k == "where":
        e, w, p = where(ctx, t)
        u = ctx.pick(
            [
                "Show all %s %s.",
                "Find %s %s.",
                "List the %s %s.",
                "Get all %s %s.",
                "Which %s are there %s?",
            ]
        ) % (t, e)
        s = "SELECT * FROM %s WHERE %s;" % (t, w)
        q["w"] = p
    elif k == "count":
        u = (
            ctx.pick(
                [
                    "How many %s are there?",
                    "Count the %s.",
                    "Count all %s.",
                    "What is the number of %s?",
                ]
            )
            % t
        )
        s = "SELECT COUNT(*) FROM %s;" % t
    elif k == "countw":
        e, w, p = where(ctx, t)
        u = ctx.pick(["How many %s are there %s?", "Count the %s %s."]) % (t, e)
        s = "SELECT COUNT(*) FROM %s WHERE %s;" % (t, w)
        q["w"] = p
    elif k in ("agg", "aggw"):
        c = ctx.pick(icols(t))[0]
        f, wd = ctx.pick(
            [("AVG", "average"), ("MAX", "highest"), ("MIN", "lowest"), ("SUM", "total")]
        )
        if f == "MAX" and ctx.chance(0.4):
            wd = "maximum"
        if f == "MIN" and ctx.chance(0.4):
            wd = "minimum"
        if k == "agg":
            u = ctx.pick(
                [
                    "What is the %s %s of the %s?",
                    "Find the %s %s in %s.",
                    "Get the %s %s of all %s.",
                ]
            ) % (wd, c, t)
            s = "SELECT %s(%s) FROM %s;" % (f, c, t)
        else:
            e, w, p = where(ctx, t)
            u = "What is the %s %s of %s %s?" % (wd, c, t, e)
            s = "SELECT %s(%s) FROM %s WHERE %s;" % (f, c, t, w)
            q["w"] = p
        q["f"], q["c"] = f, c
    elif k == "order":
        c = ctx.pick(T[t][1:])[0]
        d = ctx.chance(0.5)
        u = ctx.pick(
            ["Show all %s sorted by %s%s.", "List the %s ordered by %s%s.", "Sort the %s by %s%s."]
        ) % (t, c, ctx.pick([", highest first", " in descending order"]) if d else "")
        s = "SELECT * FROM %s ORDER BY %s%s;" % (t, c, " DESC" if d else "")
    elif k == "limit":
        n = ctx.randint(1, 20)
        u = ctx.pick(["Show the first %d %s.", "Get only %d %s.", "Give me %d rows from %s."]) % (
            n,
            t,
        )
        s = "SELECT * FROM %s LIMIT %d;" % (t, n)
    elif k == "topn":
        n = ctx.randint(1, 10)
        c = ctx.pick(icols(t))[0]
        hi = ctx.chance(0.6)
        u = "Show the %d %s with the %s %s." % (n, t, "highest" if hi else "lowest", c)
        s = "SELECT * FROM %s ORDER BY %s%s LIMIT %d;" % (t, c, " DESC" if hi else "", n)
    elif k == "group":
        c = ctx.pick(tcols(t))[0]
        u = ctx.pick(
            ["How many %s are there for each %s?", "Count the %s by %s.", "Count the %s per %s."]
        ) % (t, c)
        s = "SELECT %s, COUNT(*) FROM %s GROUP BY %s;" % (c, t, c)
    elif k == "insert":
        cs = T[t][1:]
        vs = [val(ctx, c) for c in cs]
        u = ctx.pick(["Add a row to %s: %s.", "Insert into %s: %s.", "Add to %s: %s."]) % (
            t,
            ", ".join("%s %s" % (c[0], v) for c, v in zip(cs, vs)),
        )
        s = "INSERT INTO %s (%s) VALUES (%s);" % (
            t,
            ", ".join(c[0] for c in cs),
            ", ".join(lit(v) for v in vs),
        )
        q["vs"] = vs
    elif k == "update":
        c = ctx.pick(T[t][1:])
        v = val(ctx, c)
        if ctx.chance(0.5):
            i = ctx.randint(1, 200)
            u = ctx.pick(
                [
                    "Set the %s to %s for the row with id %d in %s.",
                    "Change %s to %s where id is %d in %s.",
                ]
            ) % (c[0], v, i, t)
            s = "UPDATE %s SET %s = %s WHERE id = %d;" % (t, c[0], lit(v), i)
        else:
            c2 = ctx.pick([x for x in T[t][1:] if x[0] != c[0]])
            v2 = val(ctx, c2)
            u = "Update %s: set %s to %s where %s is %s." % (t, c[0], v, c2[0], v2)
            s = "UPDATE %s SET %s = %s WHERE %s = %s;" % (t, c[0], lit(v), c2[0], lit(v2))
    elif k == "delete":
        if ctx.chance(0.35):
            i = ctx.randint(1, 200)
            u = ctx.pick(["Delete the row with id %d from %s.", "Remove id %d from %s."]) % (i, t)
            s = "DELETE FROM %s WHERE id = %d;" % (t, i)
        else:
            e, w, p = where(ctx, t)
            u = ctx.pick(["Delete all %s %s.", "Remove the %s %s."]) % (t, e)
            s = "DELETE FROM %s WHERE %s;" % (t, w)
            q["w"] = p
    elif k == "distinct":
        c = ctx.pick(tcols(t))[0]
        u = ctx.pick(
            [
                "Which different %s are in %s?",
                "List the distinct %s in %s.",
                "Show each %s in %s only once.",
            ]
        ) % (c, t)
        if "different" in u or "distinct" in u:
            u = u.replace(" %s " % c, " %s " % pl(c))
        s = "SELECT DISTINCT %s FROM %s;" % (c, t)
    elif k == "between":
        c = ctx.pick(icols(t))
        a, b = sorted([val(ctx, c), val(ctx, c)])
        if a == b:
            b += 10
        u = ctx.pick(
            ["Show %s where %s is between %d and %d.", "Find %s with %s between %d and %d."]
        ) % (t, c[0], a, b)
        s = "SELECT * FROM %s WHERE %s BETWEEN %d AND %d;" % (t, c[0], a, b)
    else:
        cs = T[t]
        u = ctx.pick(
            ["Create a table %s with the columns %s.", "Make a table named %s with %s."]
        ) % (t, join_and(["%s (%s)" % (c[0], "number" if c[1] == "i" else "text") for c in cs]))
        s = "CREATE TABLE %s (%s);" % (
            t,
            ", ".join("%s %s" % (c[0], "INTEGER" if c[1] == "i" else "TEXT") for c in cs),
        )
    q["sql"] = s
    return "sql|" + s + ex, (t, k, u, s, q)


def fence(s):
    return "```sql\n%s\n```" % s


def query_turn(ctx, with_schema=True, plain=False):
    t, k, u, s, q = ctx.draw(_query)
    if with_schema and k != "create" and ctx.chance(0.75):
        sc = schema_str(t, ctx)
        u = (
            ctx.pick(
                ["Table: %s. %s", "Table %s. %s", "Given the table %s. %s", "I have a table %s. %s"]
            )
            % (sc, u)
            if ctx.chance(0.85)
            else "%s Table: %s." % (u, sc)
        )
    elif ctx.chance(0.5):
        u = (
            "Write SQL: " + u
            if ctx.chance(0.5)
            else ctx.pick(["Write an SQL query. ", "SQL please. "]) + u
        )
    else:
        u = u + ctx.pick([" Write the SQL.", " Answer in SQL.", " Use SQL."])
    r = {
        "where": "I need SELECT with WHERE",
        "count": "I need COUNT",
        "countw": "I need COUNT with WHERE",
        "insert": "I need INSERT",
        "update": "I need UPDATE with WHERE",
        "delete": "I need DELETE with WHERE",
        "group": "I need GROUP BY",
        "order": "I need ORDER BY",
        "agg": "I need an aggregate",
    }.get(k, "I need a simple query")
    return turn(
        u,
        s if plain else fence(s),
        "The table is %s. %s." % (t, r),
        {"kind": "sql", "tables": [t], "q": q},
        noise=1,
    ), (t, k, s, q)


def _follow(ctx, t, s):
    """extend the previous SELECT"""
    base = s[:-1]
    k = ctx.pick(["order", "limit", "count"])
    new = None
    if k == "order" and "ORDER" not in s and "LIMIT" not in s:
        c = ctx.pick(T[t][1:])[0]
        d = ctx.chance(0.4)
        u, new = "Now sort the result by %s%s." % (
            c,
            " from high to low" if d else "",
        ), base + " ORDER BY %s%s;" % (c, " DESC" if d else "")
    elif k == "limit" and "LIMIT" not in s:
        n = ctx.randint(1, 20)
        u, new = (
            ctx.pick(["Only the first %d rows.", "Limit it to %d rows."]) % n,
            base + " LIMIT %d;" % n,
        )
    elif (
        k == "count"
        and s.startswith("SELECT * FROM")
        and "WHERE" in s
        and "ORDER" not in s
        and "LIMIT" not in s
    ):
        u, new = "Now only count them.", s.replace("SELECT *", "SELECT COUNT(*)")
    return "sql|%s" % new, (u, new) if new else None


EXPLAIN = [
    ("SELECT", "SELECT reads rows from a table."),
    ("INSERT", "INSERT adds a new row to a table."),
    ("UPDATE", "UPDATE changes rows in a table."),
    ("DELETE", "DELETE removes rows from a table."),
    ("WHERE", "WHERE keeps only the rows that match a condition."),
    ("ORDER BY", "ORDER BY sorts the result."),
    ("LIMIT", "LIMIT keeps only the first rows of the result."),
    ("COUNT(*)", "COUNT(*) counts the rows."),
    ("GROUP BY", "GROUP BY puts rows with the same value into one group."),
    ("DISTINCT", "DISTINCT removes duplicate rows from the result."),
    ("AVG", "AVG gives the average of a column."),
    ("SUM", "SUM adds up all values of a column."),
    ("MAX", "MAX gives the highest value of a column."),
    ("MIN", "MIN gives the lowest value of a column."),
    ("LIKE", "LIKE compares text with a pattern."),
    ("BETWEEN", "BETWEEN checks if a value is in a range."),
    ("JOIN", "JOIN combines rows from two tables."),
    ("NULL", "NULL means that there is no value."),
    ("PRIMARY KEY", "A primary key identifies each row of a table."),
    ("CREATE TABLE", "CREATE TABLE makes a new table."),
    ("DROP TABLE", "DROP TABLE deletes a table."),
]


def _explain(ctx):
    i = ctx.randint(0, len(EXPLAIN) - 1)
    qs = [
        "What does %s do in SQL?",
        "Explain %s in SQL.",
        "What is %s in SQL?",
        "SQL: what is %s for?",
    ]
    j = ctx.randint(0, 3)
    return ("sqlx|%d|%d" % (i, j) if j else None), (qs[j] % EXPLAIN[i][0], EXPLAIN[i][1])


JOINS = [
    (
        "users",
        "orders",
        "users.name = orders.customer",
        "name",
        "item",
        "the name of each user with the item of the order",
    ),
    (
        "employees",
        "tasks",
        "employees.name = tasks.owner",
        "job",
        "title",
        "the job of each employee with the title of the task",
    ),
    (
        "users",
        "students",
        "users.name = students.name",
        "city",
        "hobby",
        "the city of each user with the hobby of the student",
    ),
    (
        "products",
        "orders",
        "products.name = orders.item",
        "price",
        "quantity",
        "the price of each product with the quantity of the order",
    ),
    (
        "users",
        "tasks",
        "users.name = tasks.owner",
        "name",
        "title",
        "the name of each user with the title of the task",
    ),
    (
        "cities",
        "users",
        "cities.name = users.city",
        "country",
        "name",
        "the country of each city with the name of the user",
    ),
]


def _join(ctx):
    a, b, on, x, y, en = ctx.pick(JOINS)
    e, w, p = cond(ctx, b) if ctx.chance(0.5) else ("", "", None)
    s = "SELECT %s.%s, %s.%s FROM %s JOIN %s ON %s" % (a, x, b, y, a, b, on)
    u = "Tables: %s and %s. Show %s" % (schema_str(a), schema_str(b), en)
    if w:
        s += " WHERE %s.%s" % (b, w)
        u += " " + e.replace("where ", "where %s." % b).replace("with ", "with %s." % b).replace(
            "whose ", "where %s." % b
        )
    return "sqlj|" + s, (a, b, u + ".", s + ";")


def sample(ctx):
    ctx.rng.random()  # a draw that recorded corpora have: sample i must stay sample i
    plain = ctx.chance(0.08)
    system = (
        ctx.pick(
            ["Answer only with SQL, no code block.", "Reply with one line of SQL and nothing else."]
        )
        if plain
        else None
    )
    turns = []
    n = ctx.wpick([(52, 1), (30, 2), (18, 3)])
    for i in range(n):
        y = ctx.rng.random()
        if not plain and y < 0.08:
            q, a = ctx.draw(_explain)
            turns.append(turn(q, a))
            continue
        if not plain and y < 0.13:
            a, b, u, s = ctx.draw(_join)
            turns.append(
                turn(
                    u,
                    fence(s),
                    "I need a JOIN of %s and %s." % (a, b),
                    {"kind": "sql", "tables": [a, b], "q": {"sql": s}},
                    noise=1,
                )
            )
            continue
        t1, (t, k, s, q) = query_turn(ctx, plain=plain)
        turns.append(t1)
        if k in ("all", "where", "cols", "colwhere") and ctx.chance(0.3):
            f = ctx.try_draw(_follow, t, s)
            if f:
                turns.append(
                    turn(
                        f[0],
                        f[1] if plain else fence(f[1]),
                        None,
                        {"kind": "sql", "tables": [t], "q": {"sql": f[1]}},
                    )
                )
    return build(ctx, "sql", turns, system=system)
