"""Topic 10: tool declarations, correct calls, answers from tool results."""

import json

from core import cap, join_and, NEUTRAL_SYSTEM, noisy
from words import CITIES, NAMES, MONTHS, MONTH_DAYS
import tab_facts


def J(o):
    return json.dumps(o, ensure_ascii=False, separators=(",", ":"))


def P(**props):
    return props


def schema(props, required):
    return {"type": "object", "properties": props, "required": required}


S = {"type": "string"}
EVENTS = [
    "dentist",
    "meeting",
    "lunch with {n}",
    "dinner with {n}",
    "call {n}",
    "gym",
    "piano lesson",
    "birthday of {n}",
    "team meeting",
    "haircut",
    "movie night",
    "exam",
    "train to {c}",
    "flight to {c}",
    "picnic",
    "chess club",
]
SKY = ["sunny", "cloudy", "rainy", "windy", "foggy", "snowy", "clear"]
QUERIES = [
    "how to bake bread",
    "history of {c}",
    "best museums in {c}",
    "how bees make honey",
    "cheap bicycles",
    "what is a black hole",
    "hotels in {c}",
    "easy pasta recipe",
    "how to fix a bike",
    "cat names",
    "new books about space",
    "train times to {c}",
    "how to grow tomatoes",
    "chess openings",
    "songs about rain",
    "weather records",
    "how tall is the Eiffel Tower",
    "planets of the solar system",
    "how to learn Italian",
    "famous bridges",
    "restaurants in {c}",
    "parks in {c}",
    "maps of {c}",
    "how to draw a horse",
    "history of chess",
]
UNITS = [
    ("km", "miles", 0.621371, "kilometers", "miles"),
    ("miles", "km", 1.609344, "miles", "kilometers"),
    ("kg", "pounds", 2.204623, "kilograms", "pounds"),
    ("pounds", "kg", 0.453592, "pounds", "kilograms"),
    ("m", "feet", 3.28084, "meters", "feet"),
    ("feet", "m", 0.3048, "feet", "meters"),
    ("cm", "inches", 0.393701, "centimeters", "inches"),
    ("inches", "cm", 2.54, "inches", "centimeters"),
    ("liters", "gallons", 0.264172, "liters", "gallons"),
    ("celsius", "fahrenheit", None, "degrees Celsius", "degrees Fahrenheit"),
    ("fahrenheit", "celsius", None, "degrees Fahrenheit", "degrees Celsius"),
]


# ---- tool specs with name/parameter variations ------------------------------------------
def tool_weather(ctx):
    name = ctx.pick(["get_weather"] * 4 + ["weather", "get_forecast", "current_weather"])
    p = ctx.pick(["city"] * 4 + ["location", "place"])
    props = {p: {"type": "string", "description": "name of the city"}}
    req = [p]
    unit = ctx.chance(0.3)
    if unit:
        props["unit"] = {"type": "string", "enum": ["celsius", "fahrenheit"]}
    return dict(
        kind="weather",
        p=p,
        unit=unit,
        decl={
            "name": name,
            "description": ctx.pick(
                [
                    "Get the weather of a city.",
                    "Current weather for a city.",
                    "Returns the weather.",
                ]
            ),
            "parameters": schema(props, req),
        },
    )


def tool_time(ctx):
    name = ctx.pick(["get_time"] * 4 + ["current_time", "clock"])
    p = ctx.pick(["city"] * 4 + ["place"])
    return dict(
        kind="time",
        p=p,
        decl={
            "name": name,
            "description": ctx.pick(
                ["Get the local time in a city.", "What time is it in a city."]
            ),
            "parameters": schema({p: S}, [p]),
        },
    )


def tool_search(ctx):
    name = ctx.pick(["search"] * 4 + ["web_search", "find"])
    p = ctx.pick(["query"] * 4 + ["q", "text"])
    props = {p: {"type": "string"}}
    lim = ctx.chance(0.4)
    if lim:
        props["limit"] = {"type": "integer", "description": "number of results"}
    return dict(
        kind="search",
        p=p,
        lim=lim,
        decl={
            "name": name,
            "description": ctx.pick(["Search the web.", "Find pages on the web."]),
            "parameters": schema(props, [p]),
        },
    )


def tool_event(ctx):
    name = ctx.pick(["add_event"] * 4 + ["create_event", "calendar_add"])
    p = ctx.pick(["title"] * 4 + ["name"])
    return dict(
        kind="event",
        p=p,
        decl={
            "name": name,
            "description": ctx.pick(
                ["Add an event to the calendar.", "Put an event into the calendar."]
            ),
            "parameters": schema(
                {
                    p: S,
                    "date": {"type": "string", "description": "YYYY-MM-DD"},
                    "time": {"type": "string", "description": "HH:MM"},
                },
                [p, "date"],
            ),
        },
    )


def tool_convert(ctx):
    name = ctx.pick(["convert_units"] * 4 + ["convert"])
    f, t = ctx.pick([("from_unit", "to_unit")] * 4 + [("from", "to")])
    return dict(
        kind="convert",
        f=f,
        t=t,
        decl={
            "name": name,
            "description": ctx.pick(["Convert a value between units.", "Unit conversion."]),
            "parameters": schema({"value": {"type": "number"}, f: S, t: S}, ["value", f, t]),
        },
    )


def tool_calc(ctx):
    name = ctx.pick(["calculate"] * 3 + ["calculator"])
    return dict(
        kind="calc",
        decl={
            "name": name,
            "description": "Compute a math expression.",
            "parameters": schema({"expression": S}, ["expression"]),
        },
    )


def tool_timer(ctx):
    name = ctx.pick(["set_timer"] * 3 + ["start_timer"])
    return dict(
        kind="timer",
        decl={
            "name": name,
            "description": "Start a timer.",
            "parameters": schema({"minutes": {"type": "integer"}}, ["minutes"]),
        },
    )


MAKERS = [tool_weather, tool_time, tool_search, tool_event, tool_convert, tool_calc, tool_timer]
WEIGHT = [(22, 0), (16, 1), (16, 2), (18, 3), (16, 4), (7, 5), (5, 6)]


# ---- requests --------------------------------------------------------------------------------
# each returns (key, user, args, result, answer, reason)
def req_weather(ctx, T):
    c = ctx.pick(CITIES)
    sky = ctx.pick(SKY)
    temp = ctx.randint(-8, 36) if sky != "snowy" else ctx.randint(-10, 1)
    args = {T["p"]: c}
    u = (
        ctx.pick(
            [
                "What is the weather in %s?",
                "How is the weather in %s?",
                "Weather in %s?",
                "Is it nice in %s today?",
                "Tell me the weather in %s.",
                "What is it like outside in %s?",
            ]
        )
        % c
    )
    deg = "degrees"
    if T["unit"] and ctx.chance(0.6):
        un = ctx.pick(["celsius", "fahrenheit"])
        args["unit"] = un
        u = u.rstrip(".?") + " in %s" % cap(un) + ("?" if u.endswith("?") else ".")
        if un == "fahrenheit":
            temp = temp * 9 // 5 + 32
        deg = "degrees " + cap(un)
    y = ctx.rng.random()
    if y < 0.10:
        u = (
            ctx.pick(["Do I need an umbrella in %s?", "Is it raining in %s?"]) % c
            if "unit" not in args
            else u
        )
    return "w|" + u, u, args, None, None, None, sky, temp, deg


def w_answer(ctx, u, c, sky, temp, deg):
    if "umbrella" in u:
        return (
            "Yes, take an umbrella. It is rainy in %s."
            if sky == "rainy"
            else "No, you do not need an umbrella. It is %s in %%s." % sky
        ) % c
    if u.startswith("Is it raining"):
        return ("Yes, it is rainy in %s." if sky == "rainy" else "No, it is %s in %%s." % sky) % c
    if abs(temp) == 1:
        deg = deg.replace("degrees", "degree")
    return "It is %s in %s with %d %s." % (sky, c, temp, deg)


def make_request(ctx, T):
    """-> key, dict(u, calls=[args...], results=[...], a, r)"""
    k = T["kind"]
    name = T["decl"]["name"]
    if k == "weather":
        if ctx.chance(0.1):
            c1, c2 = ctx.sample(CITIES, 2)
            t1, t2 = ctx.randint(-5, 35), ctx.randint(-5, 35)
            s1, s2 = ctx.pick(SKY[:5]), ctx.pick(SKY[:5])
            u = ctx.pick(
                [
                    "What is the weather in %s and %s?",
                    "Compare the weather in %s and %s.",
                    "Is %s warmer than %s today?",
                ]
            ) % (c1, c2)
            if u.startswith("Is "):
                if t1 == t2:
                    t1 += 1
                a = (
                    "Yes. %s: %d degrees. %s: %d degrees."
                    if t1 > t2
                    else "No. %s: %d degrees. %s: %d degrees."
                ) % (c1, t1, c2, t2)
            else:
                a = "%s: %s, %d degrees. %s: %s, %d degrees." % (c1, s1, t1, c2, s2, t2)
            return "tw2|%s|%s" % (c1, c2), dict(
                u=u,
                calls=[{T["p"]: c1}, {T["p"]: c2}],
                results=[{"temp": t1, "sky": s1}, {"temp": t2, "sky": s2}],
                a=a,
                r="I need the weather of two cities, so I call %s twice." % name,
            )
        key, u, args, _, _, _, sky, temp, deg = req_weather(ctx, T)
        c = args[T["p"]]
        if ctx.chance(0.06):
            return "t" + key, dict(
                u=u,
                calls=[args],
                results=[{"error": "no data"}],
                a="Sorry, I could not get the weather for %s." % c,
                r="I need the weather of %s, so I call %s." % (c, name),
            )
        return "t" + key, dict(
            u=u,
            calls=[args],
            results=[{"temp": temp, "sky": sky}],
            a=w_answer(ctx, u, c, sky, temp, deg),
            r="I need the weather of %s, so I call %s." % (c, name),
        )
    if k == "time":
        c = ctx.pick(CITIES)
        i = ctx.randint(0, 4)
        t = "%02d:%02d" % (ctx.randint(0, 23), ctx.randint(0, 59))
        u = [
            "What time is it in %s?",
            "Tell me the time in %s.",
            "Local time in %s?",
            "How late is it in %s now?",
            "Is it morning in %s?",
        ][i] % c
        if i == 4:
            m = 5 <= int(t[:2]) < 12
            a = ("Yes, it is %s in %s." if m else "No, it is %s in %s.") % (t, c)
        else:
            a = "It is %s in %s." % (t, c)
        return "tt|%s|%d" % (c, i), dict(
            u=u,
            calls=[{T["p"]: c}],
            results=[{"time": t}],
            a=a,
            r="I need the time in %s, so I call %s." % (c, name),
        )
    if k == "search":
        q = ctx.pick(QUERIES).replace("{c}", ctx.pick(CITIES))
        i = ctx.randint(0, 4)
        u = [
            "Search for %s.",
            "Look up %s.",
            "Find pages about %s.",
            "Please search the web for %s.",
            "Can you search for %s?",
        ][i] % q
        args = {T["p"]: q}
        n = 0
        if T["lim"] and ctx.chance(0.5):
            n = ctx.randint(2, 9)
            args["limit"] = n
            u = u.rstrip(".?") + ctx.pick([". I want %d results.", ". Give me %d results."]) % n
        if ctx.chance(0.12):
            return "ts|%s|%d" % (q, i), dict(
                u=u,
                calls=[args],
                results=[{"results": []}],
                a="I found nothing about %s." % q,
                r="The user wants a web search, so I call %s." % name,
            )
        tt = ctx.sample(
            [
                "Guide",
                "Basics",
                "Top list",
                "Notes",
                "Handbook",
                "Short answer",
                "Facts",
                "Overview",
            ],
            2,
        )
        res = ["%s: %s" % (t, q) for t in tt]
        return "ts|%s|%d" % (q, i), dict(
            u=u,
            calls=[args],
            results=[{"results": res}],
            a="I found %d pages: %s." % (len(res), join_and(res)),
            r="The user wants a web search, so I call %s." % name,
        )
    if k == "event":
        n, c = ctx.pick(NAMES), ctx.pick(CITIES)
        ev = ctx.pick(EVENTS).replace("{n}", n).replace("{c}", c)
        y, m = ctx.pick([2025, 2026, 2027]), ctx.randint(1, 12)
        d = ctx.randint(1, MONTH_DAYS[m - 1])
        date = "%04d-%02d-%02d" % (y, m, d)
        ds = ctx.pick(
            ["%d %s %d" % (d, MONTHS[m - 1], y), "%s %d, %d" % (MONTHS[m - 1], d, y), date]
        )
        args = {T["p"]: ev, "date": date}
        u = ctx.pick(
            [
                'Add "%s" to my calendar on %s',
                'Put "%s" in the calendar for %s',
                'Create an event "%s" on %s',
                'Please add the event "%s" on %s',
            ]
        ) % (ev, ds)
        a = 'Done. "%s" is in your calendar on %s' % (ev, date)
        if ctx.chance(0.72):
            h, mi = ctx.randint(7, 22), ctx.pick([0, 0, 15, 30, 45])
            t = "%02d:%02d" % (h, mi)
            ts = t
            if ctx.chance(0.5):
                ts = "%d%s %s" % (
                    (h - 1) % 12 + 1,
                    ":%02d" % mi if mi else "",
                    "am" if h < 12 else "pm",
                )
            args["time"] = t
            u += " at %s" % ts
            a += " at %s" % t
        ok = not ctx.chance(0.06)
        if not ok:
            a = 'Sorry, I could not add "%s" to the calendar' % ev
        return "te|%s|%s" % (ev, date), dict(
            u=u + ".",
            calls=[args],
            results=[{"ok": True} if ok else {"error": "calendar is read only"}],
            a=a + ".",
            r="The date is %s. I call %s." % (date, name),
        )
    if k == "convert":
        f, t, fac, fn, tn = ctx.pick(UNITS)
        v = ctx.randint(1, 200) if ctx.chance(0.8) else ctx.randint(1, 99) + 0.5
        if f == "celsius":
            res = v * 9 / 5 + 32
        elif f == "fahrenheit":
            res = (v - 32) * 5 / 9
        else:
            res = v * fac
        res = round(res, 1)
        if res == int(res):
            res = int(res)
        i = ctx.randint(0, 4)
        vs = "%g" % v
        u = [
            "Convert %s %s to %s.",
            "How much is %s %s in %s?",
            "What is %s %s in %s?",
            "Change %s %s to %s.",
            "%s %s in %s?",
        ][i] % (vs, fn, tn)
        return "tc|%s|%s|%s" % (vs, f, t), dict(
            u=u,
            calls=[{"value": v, T["f"]: f, T["t"]: t}],
            results=[{"result": res}],
            a="%s %s is %g %s." % (vs, fn, res, tn),
            r="I convert %s from %s to %s with %s." % (vs, f, t, name),
        )
    if k == "calc":
        op = ctx.pick(["+", "-", "*"])
        a, b = ctx.randint(100, 9999), ctx.randint(100, 9999) if op != "*" else ctx.randint(11, 999)
        e = "%d %s %d" % (a, op, b)
        res = eval(e)
        w = {"+": "plus", "-": "minus", "*": "times"}[op]
        u = ctx.pick(
            [
                "What is %s?" % e,
                "Calculate %s." % e,
                "How much is %d %s %d?" % (a, w, b),
                "Compute %d %s %d." % (a, w, b),
            ]
        )
        return "tk|" + e, dict(
            u=u,
            calls=[{"expression": e}],
            results=[{"result": res}],
            a="The result is %d." % res,
            r="The numbers are big, so I use %s." % name,
        )
    m = ctx.randint(1, 90)
    i = ctx.randint(0, 3)
    h = ctx.chance(0.1)
    if h:
        n = ctx.randint(1, 3)
        m = 60 * n
        txt = "%d hour%s" % (n, "" if n == 1 else "s")
    else:
        txt = "%d minute%s" % (m, "" if m == 1 else "s")
    u = ["Set a timer for %s.", "Start a timer of %s.", "Wake me in %s.", "Timer: %s"][i] % txt
    return "tm|%s|%d" % (txt, i), dict(
        u=u,
        calls=[{"minutes": m}],
        results=[{"ok": True}],
        a="The timer is set for %s." % txt,
        r="The user wants a timer of %d minutes. I call %s." % (m, name),
    )


CHAT = [
    ("Hello!", "Hello! How can I help you?"),
    ("Thank you!", "You are welcome!"),
    ("Hi", "Hello! How can I help you?"),
    ("What is your name?", "My name is Colibri-nano."),
    ("Good morning!", "Good morning! How can I help you?"),
    ("Bye!", "Goodbye!"),
    ("Thanks a lot!", "You are welcome!"),
]
MISSING = {
    "weather": ("the weather", ["What is the weather in %s?", "How is the weather in %s?"]),
    "time": ("the local time", ["What time is it in %s?", "Tell me the time in %s."]),
    "search": ("a web search", ["Search the web for news about %s.", "Look up hotels in %s."]),
    "event": (
        "a calendar",
        [
            "Add a trip to %s to my calendar on 2026-05-04.",
            "Put a flight to %s in my calendar for 2026-03-12.",
        ],
    ),
}


def describe(tools):
    return join_and([t["decl"]["name"] for t in tools])


def _fact(ctx):
    c = ctx.pick(list(tab_facts.COUNTRIES))
    i = ctx.randint(0, 2)
    return ("fact|cap|%s|%d" % (c, i) if i else None), (
        ["What is the capital of %s?", "Which city is the capital of %s?", "Capital of %s?"][i] % c,
        "The capital of %s is %s." % (c, tab_facts.COUNTRIES[c][0]),
    )


def _miss(ctx, have):
    k = ctx.pick([x for x in MISSING if x not in have])
    c = ctx.pick(CITIES)
    i = ctx.randint(0, 1)
    return "tmiss|%s|%s|%d" % (k, c, i), (MISSING[k][0], MISSING[k][1][i] % c)


def final(text, think):
    m = {"role": "assistant", "content": text}
    if think:
        m["reasoning"] = (
            "The tool failed. I say so."
            if text.startswith("Sorry")
            else "I have the result. I answer with it."
        )
    return m


def _clarify(ctx, T):
    c = ctx.pick(CITIES)
    i = ctx.randint(0, 2)
    return "tclar|%s|%s|%d" % (T["kind"], c, i), (c, i)


def sample(ctx):
    idx = []
    n = ctx.wpick([(40, 1), (30, 2), (20, 3), (10, 4)])
    while len(idx) < n:
        i = ctx.wpick(WEIGHT)
        if i not in idx:
            idx.append(i)
    tools = [MAKERS[i](ctx) for i in idx]
    msgs = []
    if ctx.chance(0.2):
        msgs.append(
            {
                "role": "system",
                "content": ctx.pick(
                    NEUTRAL_SYSTEM + ("Use the tools when you need them.", "You can call tools.")
                ),
            }
        )
    think = ctx.chance(0.3)
    turns = ctx.wpick([(60, 1), (28, 2), (12, 3)])
    for t in range(turns):
        y = ctx.rng.random()
        if y < 0.80 or (t == 0 and y < 0.86):
            T = ctx.pick(tools)
            if T["kind"] in ("weather", "time") and ctx.chance(0.10):
                c, i = ctx.draw(_clarify, T)
                wx = T["kind"] == "weather"
                msgs.append(
                    {
                        "role": "user",
                        "content": (
                            (
                                "What is the weather?",
                                "How is the weather today?",
                                "Tell me the weather.",
                            )
                            if wx
                            else (
                                "What time is it there?",
                                "What is the local time?",
                                "Tell me the local time.",
                            )
                        )[i],
                    }
                )
                msgs.append({"role": "assistant", "content": "For which city?"})
                if think:
                    msgs[-1]["reasoning"] = "The city is missing. I must ask."
                msgs.append(
                    {
                        "role": "user",
                        "content": ctx.pick(["%s.", "In %s.", "For %s.", "%s, please."]) % c,
                    }
                )
                m = {"role": "assistant", "content": ""}
                if think:
                    m["reasoning"] = "The city is %s. I call %s." % (c, T["decl"]["name"])
                m["tool_calls"] = [{"name": T["decl"]["name"], "arguments": {T["p"]: c}}]
                msgs.append(m)
                if wx:
                    sky, temp = ctx.pick(SKY[:5]), ctx.randint(-3, 35)
                    msgs.append({"role": "tool", "content": J({"temp": temp, "sky": sky})})
                    msgs.append(final(w_answer(ctx, "", c, sky, temp, "degrees"), think))
                else:
                    tm = "%02d:%02d" % (ctx.randint(0, 23), ctx.randint(0, 59))
                    msgs.append({"role": "tool", "content": J({"time": tm})})
                    msgs.append(final("It is %s in %s." % (tm, c), think))
                continue
            q = ctx.draw(make_request, T)
            msgs.append({"role": "user", "content": noisy(ctx, q["u"], 1)})
            m = {"role": "assistant", "content": ""}
            if think:
                m["reasoning"] = q["r"]
            m["tool_calls"] = [{"name": T["decl"]["name"], "arguments": a} for a in q["calls"]]
            msgs.append(m)
            for r in q["results"]:
                msgs.append({"role": "tool", "content": J(r)})
            msgs.append(final(q["a"], think))
        elif y < 0.88:
            u, a = ctx.pick(CHAT) if not ctx.eval_mode else ctx.draw(_fact)
            m = {"role": "assistant", "content": a}
            if think:
                m["reasoning"] = "I can answer this directly."
            msgs += [{"role": "user", "content": u}, m]
        elif y < 0.92:
            u, a = ctx.draw(_fact)
            m = {"role": "assistant", "content": a}
            if think:
                m["reasoning"] = "I know this. I do not need a tool."
            msgs += [{"role": "user", "content": u}, m]
        elif y < 0.95 and not ctx.eval_mode:
            msgs += [
                {
                    "role": "user",
                    "content": ctx.pick(
                        [
                            "Which tools do you have?",
                            "What tools can you use?",
                            "What can you do with tools?",
                        ]
                    ),
                },
                {"role": "assistant", "content": "I can use %s." % describe(tools)},
            ]
            if think:
                msgs[-1]["reasoning"] = "I list the names of my tools."
        else:
            have = [x["kind"] for x in tools]
            if all(k in have for k in MISSING):
                return sample(ctx)
            what, u = ctx.draw(_miss, have)
            m = {"role": "assistant", "content": "I am sorry, I do not have a tool for %s." % what}
            if think:
                m["reasoning"] = "I have only %s. None of them fits." % describe(tools)
            msgs += [{"role": "user", "content": u}, m]
    return {"topic": "tools", "messages": msgs, "tools": [t["decl"] for t in tools]}
