"""Topic 7: simple Python: functions, loops, reading code, fixing code."""

import contextlib
import copy
import io

from core import turn, build, join_and, num_words
from words import NAMES, FRUITS, SIMPLE

VARS = ["n"] * 8 + ["x", "value", "number", "num"]
LISTS = ["numbers"] * 8 + ["items", "values", "data", "nums"]
STRS = ["text"] * 8 + ["s", "word", "line"]


def fence(code):
    return "```python\n%s\n```" % code


def call(name, *args):
    return "%s(%s)" % (name, ", ".join(repr(a) for a in args))


def run(code, expr):
    env = {}
    exec(compile(code, "<gen>", "exec"), env)
    return eval(expr, env)


def out_of(code):
    buf = io.StringIO()
    with contextlib.redirect_stdout(buf):
        exec(compile(code, "<gen>", "exec"), {})
    return buf.getvalue().rstrip("\n")


def rlist(ctx, lo=0, hi=20, n=(3, 5)):
    return [ctx.randint(lo, hi) for _ in range(ctx.randint(*n))]


# Each maker returns (description, function name, code, argument tuple)
def f_two(ctx):
    a, b = ctx.pick([("a", "b")] * 6 + [("x", "y"), ("first", "second"), ("left", "right")])
    op, nm, d = ctx.pick(
        [
            ("+", "add", "adds two numbers"),
            ("-", "subtract", "subtracts two numbers"),
            ("*", "multiply", "multiplies two numbers"),
            ("//", "int_divide", "divides two numbers without remainder"),
            ("%", "remainder", "returns the remainder of a division"),
            ("**", "power", "raises one number to the power of another"),
        ]
    )
    x, y = ctx.randint(2, 30), ctx.randint(2, 9)
    if op == "**":
        x, y = ctx.randint(2, 9), ctx.randint(2, 3)
    return d, nm, "def %s(%s, %s):\n    return %s %s %s" % (nm, a, b, a, op, b), (x, y)


def f_const(ctx):
    v = ctx.pick(VARS)
    k = ctx.randint(2, 50)
    op, nm, d = ctx.pick(
        [
            ("+", "add_%d" % k, "adds %d to a number" % k),
            ("*", "times_%d" % k, "multiplies a number by %d" % k),
            ("-", "minus_%d" % k, "subtracts %d from a number" % k),
            ("%", "mod_%d" % k, "returns the remainder of a number divided by %d" % k),
        ]
    )
    return d, nm, "def %s(%s):\n    return %s %s %d" % (nm, v, v, op, k), (ctx.randint(1, 60),)


def f_check(ctx):
    v = ctx.pick(VARS)
    k = ctx.randint(2, 60)
    nm, d, e = ctx.pick(
        [
            ("is_even", "checks if a number is even", "%s %% 2 == 0" % v),
            ("is_odd", "checks if a number is odd", "%s %% 2 == 1" % v),
            ("is_positive", "checks if a number is positive", "%s > 0" % v),
            ("is_negative", "checks if a number is negative", "%s < 0" % v),
            (
                "divisible_by_%d" % k,
                "checks if a number is divisible by %d" % k,
                "%s %% %d == 0" % (v, k),
            ),
            ("bigger_than_%d" % k, "checks if a number is bigger than %d" % k, "%s > %d" % (v, k)),
            (
                "between",
                "checks if a number is between %d and %d" % (k, k + 10),
                "%d <= %s <= %d" % (k, v, k + 10),
            ),
        ]
    )
    return d, nm, "def %s(%s):\n    return %s" % (nm, v, e), (ctx.randint(0, 80),)


def f_max(ctx):
    a, b = ctx.pick([("a", "b")] * 5 + [("x", "y")])
    big = ctx.chance(0.5)
    nm, d = (
        ("bigger", "returns the bigger of two numbers")
        if big
        else ("smaller", "returns the smaller of two numbers")
    )
    if ctx.chance(0.6):
        code = "def %s(%s, %s):\n    if %s %s %s:\n        return %s\n    return %s" % (
            nm,
            a,
            b,
            a,
            ">" if big else "<",
            b,
            a,
            b,
        )
    else:
        code = "def %s(%s, %s):\n    return %s(%s, %s)" % (nm, a, b, "max" if big else "min", a, b)
        d += " with %s" % ("max" if big else "min")
    return d, nm, code, (ctx.randint(1, 99), ctx.randint(1, 99))


def f_list(ctx):
    l = ctx.pick(LISTS)
    xs = rlist(ctx, 1, 30)
    k = ctx.pick(
        [
            "largest",
            "smallest",
            "total",
            "count",
            "average",
            "first",
            "last",
            "reverse",
            "sorted",
            "desc",
            "evens",
            "squares",
            "double",
            "uniq",
            "loop_sum",
            "loop_max",
            "bigger",
            "smallerk",
            "contains",
            "firstn",
            "lastn",
            "addk",
            "mulk",
            "countk",
            "removek",
            "product",
            "idx",
        ]
    )
    n = ctx.randint(2, 20)
    M = {
        "largest": ("returns the largest number of a list", "largest", "return max(%s)" % l),
        "smallest": ("returns the smallest number of a list", "smallest", "return min(%s)" % l),
        "total": ("returns the sum of a list", "total", "return sum(%s)" % l),
        "count": ("returns the length of a list", "size", "return len(%s)" % l),
        "average": (
            "returns the average of a list",
            "average",
            "return sum(%s) / len(%s)" % (l, l),
        ),
        "first": ("returns the first element of a list", "first", "return %s[0]" % l),
        "last": ("returns the last element of a list", "last", "return %s[-1]" % l),
        "reverse": ("reverses a list", "reverse", "return %s[::-1]" % l),
        "sorted": ("sorts a list", "sort_list", "return sorted(%s)" % l),
        "desc": (
            "sorts a list from high to low",
            "sort_down",
            "return sorted(%s, reverse=True)" % l,
        ),
        "evens": (
            "returns the even numbers of a list",
            "evens",
            "return [x for x in %s if x %% 2 == 0]" % l,
        ),
        "squares": (
            "returns the square of each number in a list",
            "squares",
            "return [x * x for x in %s]" % l,
        ),
        "double": ("doubles each number in a list", "double_all", "return [2 * x for x in %s]" % l),
        "uniq": (
            "removes duplicates from a list",
            "unique",
            "result = []\n    for x in %s:\n        if x not in result:\n           "
            " result.append(x)\n    return result" % l,
        ),
        "loop_sum": (
            "adds up a list with a loop",
            "sum_list",
            "total = 0\n    for x in %s:\n        total += x\n    return total" % l,
        ),
        "loop_max": (
            "finds the largest number with a loop",
            "find_max",
            "best = %s[0]\n    for x in %s:\n        if x > best:\n            best = x\n    return"
            " best" % (l, l),
        ),
        "product": (
            "multiplies all numbers of a list",
            "product",
            "result = 1\n    for x in %s:\n        result *= x\n    return result" % l,
        ),
        "bigger": (
            "returns the numbers bigger than %d" % n,
            "bigger_than",
            "return [x for x in %s if x > %d]" % (l, n),
        ),
        "smallerk": (
            "returns the numbers smaller than %d" % n,
            "smaller_than",
            "return [x for x in %s if x < %d]" % (l, n),
        ),
        "contains": ("checks if a list contains %d" % n, "contains", "return %d in %s" % (n, l)),
        "firstn": (
            "returns the first %s elements of a list" % num_words(n),
            "first_items",
            "return %s[:%d]" % (l, n),
        ),
        "lastn": (
            "returns the last %s elements of a list" % num_words(n),
            "last_items",
            "return %s[-%d:]" % (l, n),
        ),
        "addk": (
            "adds %d to each number in a list" % n,
            "add_to_all",
            "return [x + %d for x in %s]" % (n, l),
        ),
        "mulk": (
            "multiplies each number in a list by %d" % n,
            "scale",
            "return [x * %d for x in %s]" % (n, l),
        ),
        "countk": (
            "counts how often %d is in a list" % n,
            "count_value",
            "return %s.count(%d)" % (l, n),
        ),
        "removek": (
            "removes all %ds from a list" % n,
            "remove_value",
            "return [x for x in %s if x != %d]" % (l, n),
        ),
        "idx": (
            "finds the position of a value in a list",
            "find",
            "for i, x in enumerate(%s):\n        if x == value:\n            return i\n   "
            " return -1" % l,
        ),
    }
    d, nm, body = M[k]
    if k in ("uniq", "countk", "removek", "contains"):
        xs = ctx.shuffled(xs[:3] + [n, n] if ctx.chance(0.7) else xs)
    if k == "idx":
        return d, nm, "def %s(%s, value):\n    %s" % (nm, l, body), (xs, xs[-1])
    return d, nm, "def %s(%s):\n    %s" % (nm, l, body), (xs,)


def f_str(ctx):
    s = ctx.pick(STRS)
    w = ctx.pick(SIMPLE)
    L = ctx.pick("abcdeilmnoprst")
    n = ctx.randint(2, 6)
    k = ctx.pick(
        [
            "rev",
            "upper",
            "lower",
            "length",
            "vowels",
            "countl",
            "pal",
            "firstl",
            "lastl",
            "repeat",
            "starts",
            "ends",
            "strip",
            "words",
            "nwords",
            "replace",
            "hello",
            "shout",
            "join",
            "firstn",
            "haslet",
            "title",
        ]
    )
    M = {
        "rev": ("reverses a string", "reverse", "return %s[::-1]" % s),
        "upper": ("makes a string upper case", "to_upper", "return %s.upper()" % s),
        "lower": ("makes a string lower case", "to_lower", "return %s.lower()" % s),
        "length": ("returns the length of a string", "length", "return len(%s)" % s),
        "vowels": (
            "counts the vowels in a string",
            "count_vowels",
            'count = 0\n    for c in %s:\n        if c in "aeiou":\n            count += 1\n   '
            " return count" % s,
        ),
        "countl": (
            "counts the letter %s in a string" % L,
            "count_%s" % L,
            'return %s.count("%s")' % (s, L),
        ),
        "pal": (
            "checks if a string is a palindrome",
            "is_palindrome",
            "return %s == %s[::-1]" % (s, s),
        ),
        "firstl": ("returns the first letter of a string", "first_letter", "return %s[0]" % s),
        "lastl": ("returns the last letter of a string", "last_letter", "return %s[-1]" % s),
        "repeat": ("repeats a string %s times" % num_words(n), "repeat", "return %s * %d" % (s, n)),
        "starts": (
            "checks if a string starts with %s" % L,
            "starts_with_%s" % L,
            'return %s.startswith("%s")' % (s, L),
        ),
        "ends": (
            "checks if a string ends with %s" % L,
            "ends_with_%s" % L,
            'return %s.endswith("%s")' % (s, L),
        ),
        "strip": ("removes spaces at both ends of a string", "clean", "return %s.strip()" % s),
        "words": ("splits a string into words", "words", "return %s.split()" % s),
        "nwords": ("counts the words in a string", "count_words", "return len(%s.split())" % s),
        "replace": (
            "replaces %s by a star in a string" % L,
            "hide_%s" % L,
            'return %s.replace("%s", "*")' % (s, L),
        ),
        "hello": ("greets a person by name", "greet", 'return "Hello, " + %s + "!"' % s),
        "shout": (
            "adds an exclamation mark and makes the text upper case",
            "shout",
            'return %s.upper() + "!"' % s,
        ),
        "join": (
            "puts a dash between the letters of a string",
            "dashes",
            'return "-".join(%s)' % s,
        ),
        "firstn": (
            "returns the first %s letters of a string" % num_words(n),
            "start",
            "return %s[:%d]" % (s, n),
        ),
        "haslet": (
            "checks if the letter %s is in a string" % L,
            "has_%s" % L,
            'return "%s" in %s' % (L, s),
        ),
        "title": (
            "makes the first letter of a string a capital",
            "capital",
            "return %s.capitalize()" % s,
        ),
    }
    d, nm, body = M[k]
    arg = w
    if k in ("words", "nwords"):
        arg = " ".join(ctx.sample(SIMPLE, ctx.randint(2, 4)))
    if k == "strip":
        arg = "  " + w + " "
    if k == "hello":
        arg = ctx.pick(NAMES)
    if k == "pal" and ctx.chance(0.5):
        arg = ctx.pick(["anna", "level", "noon", "radar", "civic"])
    return d, nm, "def %s(%s):\n    %s" % (nm, s, body), (arg,)


def f_num(ctx):
    n = ctx.pick(["n"] * 5 + ["limit", "number"])
    k = ctx.pick(
        [
            "fact",
            "fib",
            "sumn",
            "prime",
            "evensum",
            "digits",
            "countdown",
            "table",
            "gcd",
            "pows",
            "divisors",
            "abs",
            "sign",
            "clamp",
            "sqs",
            "rev",
            "ndig",
        ]
    )
    M = {
        "fact": (
            "computes the factorial of a number",
            "factorial",
            (n,),
            "result = 1\n    for i in range(1, %s + 1):\n        result *= i\n    return result"
            % n,
            (ctx.randint(2, 7),),
        ),
        "fib": (
            "returns the Fibonacci number at position %s" % n,
            "fibonacci",
            (n,),
            "a, b = 0, 1\n    for i in range(%s):\n        a, b = b, a + b\n    return a" % n,
            (ctx.randint(2, 15),),
        ),
        "sumn": (
            "adds all numbers from 1 to %s" % n,
            "sum_to",
            (n,),
            "return sum(range(1, %s + 1))" % n,
            (ctx.randint(3, 40),),
        ),
        "prime": (
            "checks if a number is prime",
            "is_prime",
            (n,),
            "if %s < 2:\n        return False\n    for i in range(2, %s):\n        if %s %% i =="
            " 0:\n            return False\n    return True" % (n, n, n),
            (ctx.randint(2, 50),),
        ),
        "evensum": (
            "adds the even numbers up to %s" % n,
            "sum_even",
            (n,),
            "return sum(range(0, %s + 1, 2))" % n,
            (ctx.randint(3, 30),),
        ),
        "digits": (
            "adds the digits of a number",
            "digit_sum",
            (n,),
            "return sum(int(d) for d in str(%s))" % n,
            (ctx.randint(10, 999),),
        ),
        "countdown": (
            "returns a list that counts down from %s to 1" % n,
            "countdown",
            (n,),
            "return list(range(%s, 0, -1))" % n,
            (ctx.randint(3, 8),),
        ),
        "table": (
            "returns the times table of a number",
            "times_table",
            (n,),
            "return [%s * i for i in range(1, 11)]" % n,
            (ctx.randint(2, 12),),
        ),
        "gcd": (
            "finds the greatest common divisor",
            "gcd",
            ("a", "b"),
            "while b:\n        a, b = b, a % b\n    return a",
            (ctx.randint(2, 12) * 6, ctx.randint(2, 12) * 4),
        ),
        "pows": (
            "returns the powers of two up to position %s" % n,
            "powers",
            (n,),
            "return [2 ** i for i in range(%s)]" % n,
            (ctx.randint(3, 8),),
        ),
        "divisors": (
            "returns all divisors of a number",
            "divisors",
            (n,),
            "return [i for i in range(1, %s + 1) if %s %% i == 0]" % (n, n),
            (ctx.randint(4, 36),),
        ),
        "abs": (
            "returns the absolute value of a number",
            "absolute",
            (n,),
            "if %s < 0:\n        return -%s\n    return %s" % (n, n, n),
            (ctx.randint(-50, 50),),
        ),
        "sign": (
            "returns the sign of a number",
            "sign",
            (n,),
            "if %s > 0:\n        return 1\n    if %s < 0:\n        return -1\n    return 0"
            % (n, n),
            (ctx.randint(-9, 9),),
        ),
        "clamp": (
            "keeps a number between a low and a high limit",
            "clamp",
            ("x", "low", "high"),
            "return max(low, min(x, high))",
            (ctx.randint(-10, 30), 0, ctx.randint(5, 20)),
        ),
        "sqs": (
            "returns the squares from 1 to %s" % n,
            "squares",
            (n,),
            "return [i * i for i in range(1, %s + 1)]" % n,
            (ctx.randint(3, 9),),
        ),
        "rev": (
            "reverses the digits of a number",
            "reverse_digits",
            (n,),
            "return int(str(%s)[::-1])" % n,
            (ctx.randint(12, 989),),
        ),
        "ndig": (
            "counts the digits of a number",
            "count_digits",
            (n,),
            "return len(str(%s))" % n,
            (ctx.randint(1, 99999),),
        ),
    }
    d, nm, ps, body, args = M[k]
    return d, nm, "def %s(%s):\n    %s" % (nm, ", ".join(ps), body), args


def f_geo(ctx):
    k = ctx.pick(
        [
            "rect",
            "square",
            "tri",
            "peri",
            "c2f",
            "f2c",
            "km",
            "min",
            "price",
            "eur",
            "vol",
            "speed",
            "week",
            "age",
        ]
    )
    M = {
        "rect": (
            "returns the area of a rectangle",
            "area",
            ("width", "height"),
            "return width * height",
            (ctx.randint(2, 12), ctx.randint(2, 12)),
        ),
        "square": (
            "returns the area of a square",
            "square_area",
            ("side",),
            "return side * side",
            (ctx.randint(2, 15),),
        ),
        "tri": (
            "returns the area of a triangle",
            "triangle_area",
            ("base", "height"),
            "return base * height / 2",
            (ctx.randint(2, 12), ctx.randint(2, 12)),
        ),
        "peri": (
            "returns the perimeter of a rectangle",
            "perimeter",
            ("width", "height"),
            "return 2 * (width + height)",
            (ctx.randint(2, 12), ctx.randint(2, 12)),
        ),
        "c2f": (
            "converts Celsius to Fahrenheit",
            "to_fahrenheit",
            ("celsius",),
            "return celsius * 9 / 5 + 32",
            (5 * ctx.randint(0, 8),),
        ),
        "f2c": (
            "converts Fahrenheit to Celsius",
            "to_celsius",
            ("fahrenheit",),
            "return (fahrenheit - 32) * 5 / 9",
            (32 + 9 * ctx.randint(0, 10),),
        ),
        "km": (
            "converts kilometers to meters",
            "to_meters",
            ("km",),
            "return km * 1000",
            (ctx.randint(2, 50),),
        ),
        "min": (
            "converts minutes to seconds",
            "to_seconds",
            ("minutes",),
            "return minutes * 60",
            (ctx.randint(2, 50),),
        ),
        "price": (
            "computes the total price",
            "total_price",
            ("price", "count"),
            "return price * count",
            (ctx.randint(2, 20), ctx.randint(2, 9)),
        ),
        "eur": (
            "converts cents to euros",
            "to_euros",
            ("cents",),
            "return cents / 100",
            (50 * ctx.randint(2, 20),),
        ),
        "vol": (
            "returns the volume of a box",
            "volume",
            ("a", "b", "c"),
            "return a * b * c",
            (ctx.randint(2, 6), ctx.randint(2, 6), ctx.randint(2, 6)),
        ),
        "speed": (
            "computes the speed from distance and time",
            "speed",
            ("distance", "time"),
            "return distance / time",
            (10 * ctx.randint(2, 20), 2),
        ),
        "week": (
            "converts weeks to days",
            "to_days",
            ("weeks",),
            "return weeks * 7",
            (ctx.randint(2, 20),),
        ),
        "age": (
            "computes the age from two years",
            "age",
            ("birth_year", "year"),
            "return year - birth_year",
            (ctx.randint(1950, 2010), 2025),
        ),
    }
    d, nm, ps, body, args = M[k]
    return d, nm, "def %s(%s):\n    %s" % (nm, ", ".join(ps), body), args


def f_fizz(ctx):
    a = ctx.randint(2, 7)
    b = ctx.randint(2, 9)
    while b == a:
        b = ctx.randint(2, 9)
    x, y = ctx.sample(
        ["fizz", "buzz", "foo", "bar", "ping", "pong", "tick", "tock", "zip", "zap"], 2
    )
    code = (
        'def check(n):\n    if n %% %d == 0 and n %% %d == 0:\n        return "%s"\n    if n %% %d'
        ' == 0:\n        return "%s"\n    if n %% %d == 0:\n        return "%s"\n    return str(n)'
        % (a, b, x + y, a, x, b, y)
    )
    return (
        "returns %s for multiples of %d, %s for multiples of %d and %s for both"
        % (x, a, y, b, x + y),
        "check",
        code,
        (ctx.pick([a, b, a * b, ctx.randint(1, 50)]),),
    )


def f_dict(ctx):
    d = ctx.pick(["data"] * 5 + ["d", "table", "prices"])
    k = ctx.pick(["get", "keys", "count", "has", "vals", "add", "inv"])
    ks = ctx.sample(FRUITS, 2)
    dd = {ks[0]: ctx.randint(1, 9), ks[1]: ctx.randint(1, 9)}
    M = {
        "get": (
            "returns the value of a key, or 0 if it is missing",
            "lookup",
            (d, "key"),
            "return %s.get(key, 0)" % d,
            (dd, ctx.pick(FRUITS)),
        ),
        "keys": (
            "returns the sorted keys of a dictionary",
            "sorted_keys",
            (d,),
            "return sorted(%s)" % d,
            (dd,),
        ),
        "count": (
            "counts how often each item is in a list",
            "count_items",
            ("items",),
            (
                "counts = {}\n    for x in items:\n        counts[x] = counts.get(x, 0) + 1\n   "
                " return counts"
            ),
            ([ks[0], ks[1], ks[0]],),
        ),
        "has": (
            "checks if a key is in a dictionary",
            "has_key",
            (d, "key"),
            "return key in %s" % d,
            (dd, ctx.pick(FRUITS)),
        ),
        "vals": (
            "adds up the values of a dictionary",
            "sum_values",
            (d,),
            "return sum(%s.values())" % d,
            (dd,),
        ),
        "add": (
            "adds a key and a value to a dictionary",
            "put",
            (d, "key", "value"),
            "%s[key] = value\n    return %s" % (d, d),
            (dd, ctx.pick([f for f in FRUITS if f not in ks]), ctx.randint(1, 9)),
        ),
        "inv": (
            "swaps the keys and values of a dictionary",
            "invert",
            (d,),
            "return {v: k for k, v in %s.items()}" % d,
            ({ks[0]: 1, ks[1]: 2},),
        ),
    }
    ds, nm, ps, body, args = M[k]
    return ds, nm, "def %s(%s):\n    %s" % (nm, ", ".join(ps), body), args


MAKERS = [
    (8, f_two),
    (10, f_const),
    (12, f_check),
    (6, f_max),
    (24, f_list),
    (20, f_str),
    (14, f_num),
    (10, f_geo),
    (8, f_fizz),
    (6, f_dict),
]
VERB2BASE = {
    "adds": "add",
    "returns": "return",
    "checks": "check",
    "reverses": "reverse",
    "counts": "count",
    "sorts": "sort",
    "removes": "remove",
}


def _func(ctx):
    d, nm, code, args = ctx.wpick(MAKERS)(ctx)
    expr = call(nm, *args)
    res = run(code, call(nm, *copy.deepcopy(args)))
    rename = None
    if ctx.chance(0.25):
        rename = ctx.pick(
            ["f", "func", "my_function", "solve", "helper", "compute", "do_it", "task"]
        )
        code = code.replace("def %s(" % nm, "def %s(" % rename)
        expr = expr.replace(nm + "(", rename + "(", 1)
    if rename:
        u = ctx.pick(FUNC_ASK[6:]).format(d=d, nm=rename)
        if "Python" not in u:
            u += " Use Python."
    else:
        u = ctx.pick(FUNC_ASK[:6] + FUNC_ASK[7:]).format(d=d, nm=nm)
    return "py|" + u, (u, d, rename or nm, code, expr, res)


FUNC_ASK = [
    "Write a Python function that {d}.",
    "Write a function in Python that {d}.",
    "Python: a function that {d}.",
    "How do I write a Python function that {d}?",
    "Can you write Python code that {d}?",
    "I need a Python function that {d}.",
    "Give me a function {nm} that {d}.",
    "Write a Python function called {nm} that {d}.",
]


def func_turn(ctx):
    u, d, nm, code, expr, res = ctx.draw(_func)
    a = fence(code)
    if ctx.chance(0.45):
        a += "\nExample: `%s` returns `%r`." % (expr, res)
    t = turn(
        u,
        a,
        "The function has the name %s. It %s." % (nm, d),
        {"kind": "py", "expr": expr, "res": repr(res)},
        noise=1,
    )
    return t, (d, nm, code, expr, res)


# ---- loops and small programs -------------------------------------------------
def _loop(ctx):
    k = ctx.pick(
        [
            "range",
            "range",
            "while",
            "list",
            "table",
            "down",
            "even",
            "nested",
            "sumloop",
            "star",
            "dict",
            "ifelse",
            "letters",
            "enum",
            "fstr",
        ]
    )
    v = ctx.pick(["i"] * 6 + ["n", "k", "x"])
    a, b = ctx.randint(1, 9), ctx.randint(3, 12)
    fr = ctx.sample(FRUITS, 3)
    w = ctx.pick(SIMPLE)
    if k == "range":
        d, c = "prints the numbers from %d to %d" % (
            a,
            a + b,
        ), "for %s in range(%d, %d):\n    print(%s)" % (v, a, a + b + 1, v)
    elif k == "while":
        d, c = "counts from %d to %d with a while loop" % (
            a,
            a + b,
        ), "%s = %d\nwhile %s <= %d:\n    print(%s)\n    %s += 1" % (v, a, v, a + b, v, v)
    elif k == "list":
        d, c = "prints each item of the list %s" % join_and(
            fr
        ), "items = [%s]\nfor item in items:\n    print(item)" % ", ".join('"%s"' % f for f in fr)
    elif k == "table":
        d, c = (
            "prints the times table of %d" % b,
            'for %s in range(1, 11):\n    print(%d, "x", %s, "=", %d * %s)' % (v, b, v, b, v),
        )
    elif k == "down":
        d, c = "counts down from %d to 1" % b, "for %s in range(%d, 0, -1):\n    print(%s)" % (
            v,
            b,
            v,
        )
    elif k == "even":
        d, c = "prints the even numbers from 2 to %d" % (
            2 * b
        ), "for %s in range(2, %d, 2):\n    print(%s)" % (v, 2 * b + 1, v)
    elif k == "nested":
        a, b = ctx.randint(2, 4), ctx.randint(2, 4)
        d, c = "prints all pairs of numbers from 1 to %d and 1 to %d" % (
            a,
            b,
        ), "for i in range(1, %d):\n    for j in range(1, %d):\n        print(i, j)" % (
            a + 1,
            b + 1,
        )
    elif k == "sumloop":
        d, c = "adds the numbers from 1 to %d with a loop" % (
            b * 5
        ), "total = 0\nfor %s in range(1, %d):\n    total += %s\nprint(total)" % (v, b * 5 + 1, v)
    elif k == "star":
        d, c = (
            "prints a triangle of stars with %d rows" % a,
            'for %s in range(1, %d):\n    print("*" * %s)' % (v, a + 1, v),
        )
    elif k == "dict":
        d, c = (
            "prints the keys and values of a dictionary",
            'prices = {"%s": %d, "%s": %d}\nfor name, price in prices.items():\n    print(name,'
            " price)" % (fr[0], a, fr[1], b),
        )
    elif k == "ifelse":
        d, c = (
            "checks if x is bigger than %d" % b,
            'x = %d\nif x > %d:\n    print("bigger")\nelse:\n    print("not bigger")' % (a, b),
        )
    elif k == "letters":
        d, c = "prints each letter of the word %s" % w, 'for c in "%s":\n    print(c)' % w
    elif k == "enum":
        d, c = "prints a numbered list of %s" % join_and(
            fr
        ), "items = [%s]\nfor i, item in enumerate(items, 1):\n    print(i, item)" % ", ".join(
            '"%s"' % f for f in fr
        )
    else:
        n = ctx.pick(NAMES)
        d, c = "prints a greeting for %s who is %d years old" % (
            n,
            a + b,
        ), 'name = "%s"\nage = %d\nprint(f"Hello {name}, you are {age} years old.")' % (n, a + b)
    o = out_of(c)
    if ctx.chance(0.55) or o.count("\n") > 8:
        u = (
            ctx.pick(
                [
                    "Write Python code that %s.",
                    "Python code that %s, please.",
                    "Write a small Python program that %s.",
                    "Show me Python code that %s.",
                ]
            )
            % d
        )
        return "pyl|" + u, (d, c, u, None)
    u = ctx.pick(
        ["What does this code print?\n%s", "What is the output of this code?\n%s"]
    ) % fence(c)
    return "pyl|" + u, (d, c, u, o)


def loop_turn(ctx):
    d, c, u, o = ctx.draw(_loop)
    if o is None:
        return turn(u, fence(c), "I write code that %s." % d, {"kind": "pyrun"}, noise=1)
    return turn(
        u,
        "It prints:\n```\n%s\n```" % o,
        "The code %s." % d,
        {"kind": "pyout", "code": c, "out": o},
        noise=0,
    )


def _expr(ctx):
    k = ctx.pick(
        [
            "arith",
            "len",
            "slice",
            "idx",
            "upper",
            "sum",
            "mod",
            "cmp",
            "in",
            "mul",
            "max",
            "type",
            "sorted",
            "rev",
            "bool",
            "concat",
        ]
    )
    w = ctx.pick(SIMPLE)
    a, b = ctx.randint(2, 40), ctx.randint(2, 9)
    xs = rlist(ctx, 1, 20)
    e = {
        "arith": "%d + %d * %d" % (a, b, ctx.randint(2, 5)),
        "len": 'len("%s")' % w,
        "slice": '"%s"[:%d]' % (w, ctx.randint(1, 3)),
        "idx": "%s[%d]" % (xs, ctx.randint(0, len(xs) - 1)),
        "upper": '"%s".upper()' % w,
        "sum": "sum(%s)" % xs,
        "mod": "%d %% %d" % (a, b),
        "cmp": "%d > %d" % (a, b * 4),
        "in": "%d in %s" % (ctx.pick(xs + [a]), xs),
        "mul": '"%s" * %d' % (w, ctx.randint(2, 3)),
        "max": "%s(%s)" % (ctx.pick(["max", "min", "len"]), xs),
        "type": "type(%s).__name__" % ctx.pick(["%d" % a, '"%s"' % w, "%d.5" % a, str(xs), "True"]),
        "sorted": "sorted(%s)" % xs,
        "rev": '"%s"[::-1]' % w,
        "bool": ctx.pick(
            ["%d == %d" % (a, ctx.pick([a, b])), "not %s" % ctx.pick(["True", "False"])]
        ),
        "concat": '"%s" + "%s"' % (w, ctx.pick(SIMPLE)),
    }[k]
    return "pye|" + e, e


def expr_turn(ctx):
    e = ctx.draw(_expr)
    r = eval(e)
    u = (
        ctx.pick(
            [
                "What is the value of `%s` in Python?",
                "Python: what is `%s`?",
                "What does `print(%s)` show?",
            ]
        )
        % e
    )
    a = "`%r`" % (r,)
    if u.endswith("show?"):
        a = "It shows `%s`." % (r,)
    return turn(u, a, None, {"kind": "pyexpr", "expr": e}, noise=0)


def _class(ctx):
    cn, f1, f2 = ctx.pick(
        [
            ("Dog", "name", "age"),
            ("Person", "name", "city"),
            ("Book", "title", "pages"),
            ("Car", "model", "year"),
            ("Point", "x", "y"),
            ("Product", "name", "price"),
            ("City", "name", "country"),
            ("Song", "title", "length"),
            ("Player", "name", "score"),
            ("Cat", "name", "color"),
            ("Task", "title", "done"),
            ("Box", "width", "height"),
        ]
    )
    m = ctx.pick([None, None, "show", "speak"])
    code = (
        "class %s:\n    def __init__(self, %s, %s):\n        self.%s = %s\n        self.%s = %s"
        % (cn, f1, f2, f1, f1, f2, f2)
    )
    d = "a Python class %s with %s and %s" % (cn, f1, f2)
    if m == "show":
        code += "\n\n    def show(self):\n        print(self.%s, self.%s)" % (f1, f2)
        d += " and a method show"
    elif m == "speak":
        w = ctx.pick(["Hello", "Hi", "Wow", "Good day", "Ciao"])
        code += '\n\n    def speak(self):\n        return "%s"' % w
        d += " and a method speak that returns %s" % w
    return "pyc|" + code, (d, code)


def class_turn(ctx):
    d, code = ctx.draw(_class)
    return turn(
        ctx.pick(["Write %s.", "Make %s.", "I need %s."]) % d,
        fence(code),
        None,
        {"kind": "pyrun"},
        noise=1,
    )


def _fix(ctx):
    if ctx.chance(0.6):
        d, nm, code, args = ctx.wpick(MAKERS)(ctx)
    else:
        code = _loop(ctx)[1][1]
    how = ctx.pick(["colon", "paren", "indent"])
    first = code.split("\n")
    if how == "colon":
        i = next((i for i, l in enumerate(first) if l.endswith(":")), None)
        if i is None:
            how = "paren"
        else:
            first[i] = first[i][:-1]
            why = "The colon was missing at the end of line %d." % (i + 1)
    if how == "indent":
        i = next((i for i, l in enumerate(first) if l.startswith("    ")), None)
        if i is None:
            how = "paren"
        else:
            first[i] = first[i].lstrip()
            why = "Line %d must be indented." % (i + 1)
    if how == "paren":
        i = next(
            (i for i in range(len(first) - 1, -1, -1) if first[i].rstrip(":").endswith(")")), None
        )
        if i is None:
            return "pyfix|none", None
        l = first[i]
        first[i] = l[: l.rindex(")")] + l[l.rindex(")") + 1 :]
        why = "A closing bracket was missing in line %d." % (i + 1)
    bad = "\n".join(first)
    try:
        compile(bad, "<bad>", "exec")
        return "pyfix|none", None
    except SyntaxError:
        pass
    return "pyfix|%s|%s" % (how, code), (code, bad, why)


def fix_turn(ctx):
    for _ in range(50):
        it = ctx.draw(_fix)
        if it:
            break
    if not it:
        return expr_turn(ctx)
    code, bad, why = it
    u = ctx.pick(
        [
            "Fix this Python code:\n%s",
            "This code has an error. Please fix it.\n%s",
            "What is wrong with this code?\n%s",
        ]
    ) % fence(bad)
    return turn(u, "%s\n%s" % (why, fence(code)), None, {"kind": "pyrun"}, noise=0)


QA = [
    (
        [
            "What is a variable in Python?",
            "Explain variables in Python.",
            "Python: what is a variable?",
        ],
        "A variable is a name for a value, for example `x = 5`.",
    ),
    (
        ["What is a list in Python?", "Explain lists in Python.", "Python list?"],
        "A list holds several values in order, for example `[1, 2, 3]`.",
    ),
    (
        ["What is a dictionary in Python?", "Explain dictionaries in Python.", "What is a dict?"],
        'A dictionary maps keys to values, for example `{"a": 1}`.',
    ),
    (
        ["What is a string in Python?", "Explain strings in Python."],
        'A string is text between quotes, for example `"hello"`.',
    ),
    (
        [
            "What is a function in Python?",
            "Explain functions in Python.",
            "Why do we use functions?",
        ],
        "A function is a named block of code. You define it with `def` and call it by its name.",
    ),
    (
        ["What is a for loop?", "Explain the for loop in Python."],
        "A for loop repeats code for each item, for example `for x in [1, 2, 3]: print(x)`.",
    ),
    (
        ["What is a while loop?", "Explain the while loop in Python."],
        "A while loop repeats code as long as a condition is true.",
    ),
    (
        ["What does len do in Python?", "What is len in Python?"],
        '`len` returns the number of items, for example `len("cat")` is `3`.',
    ),
    (
        ["What does print do in Python?", "How do I print text in Python?"],
        '`print` shows text on the screen, for example `print("Hello")`.',
    ),
    (
        ["What does return do in Python?", "Explain return in Python."],
        "`return` ends a function and gives back a value.",
    ),
    (
        ["How do I write a comment in Python?", "What is a comment in Python?"],
        "A comment starts with `#`. Python ignores it.",
    ),
    (
        ["What is a tuple in Python?", "Explain tuples in Python."],
        "A tuple is like a list that cannot change, for example `(1, 2)`.",
    ),
    (
        ["What is a set in Python?", "Explain sets in Python."],
        "A set holds each value only once, for example `{1, 2, 3}`.",
    ),
    (
        ["What does range do in Python?", "Explain range in Python."],
        "`range(3)` gives the numbers 0, 1 and 2.",
    ),
    (
        ["What is a boolean in Python?", "Explain True and False in Python."],
        "A boolean is either `True` or `False`.",
    ),
    (
        ["How do I read a file in Python?", "Python: how to read a file?"],
        '```python\nwith open("file.txt") as f:\n    text = f.read()\nprint(text)\n```',
    ),
    (
        ["How do I write to a file in Python?", "Python: how to write a file?"],
        '```python\nwith open("file.txt", "w") as f:\n    f.write("hello")\n```',
    ),
    (
        ["How do I ask the user for input in Python?", "Python: how do I read input?"],
        '```python\nname = input("Your name: ")\nprint("Hello", name)\n```',
    ),
    (
        ["How do I catch an error in Python?", "Show me try and except in Python."],
        '```python\ntry:\n    x = int("abc")\nexcept ValueError:\n    print("not a number")\n```',
    ),
    (
        ["How do I import a module in Python?", "Python: how to use a module?"],
        "```python\nimport math\nprint(math.sqrt(16))\n```",
    ),
    (
        ["How do I turn a string into a number in Python?", "Python: string to int?"],
        'Use `int`, for example `int("42")` gives `42`.',
    ),
    (
        ["How do I turn a number into a string in Python?", "Python: int to string?"],
        "Use `str`, for example `str(42)` gives `'42'`.",
    ),
    (
        ["How do I sort a list in Python?", "Python: sort a list?"],
        "Use `sorted`, for example `sorted([3, 1, 2])` gives `[1, 2, 3]`.",
    ),
    (
        ["How do I add an item to a list in Python?", "Python: append to a list?"],
        "Use `append`, for example `items.append(4)`.",
    ),
    (
        [
            "How do I write Hello World in Python?",
            "Hello world in Python",
            "Show me a hello world program in Python.",
        ],
        '```python\nprint("Hello, world!")\n```',
    ),
    (
        ["How do I compare two values in Python?", "Python: equal or not?"],
        "Use `==` for equal and `!=` for not equal.",
    ),
    (
        ["What does `%` do in Python?", "What is the modulo operator in Python?"],
        "`%` gives the remainder of a division, for example `7 % 3` is `1`.",
    ),
    (
        ["What does `//` do in Python?", "What is integer division in Python?"],
        "`//` divides and drops the remainder, for example `7 // 2` is `3`.",
    ),
    (
        ["What does `**` do in Python?", "How do I compute powers in Python?"],
        "`**` is the power operator, for example `2 ** 3` is `8`.",
    ),
    (
        ["What is a lambda in Python?", "Explain lambda in Python."],
        "A lambda is a short function without a name, for example `lambda x: x + 1`.",
    ),
    (
        ["What is a class in Python?", "Explain classes in Python."],
        "A class is a plan for objects with data and methods.",
    ),
    (
        ["What is None in Python?", "Explain None in Python."],
        "`None` means that there is no value.",
    ),
]


def _qa(ctx):
    i = ctx.randint(0, len(QA) - 1)
    j = ctx.randint(0, len(QA[i][0]) - 1)
    return ("pyqa|%d|%d" % (i, j) if j else None), (QA[i][0][j], QA[i][1])


def qa_turn(ctx):
    q, a = ctx.draw(_qa)
    return turn(q, a, None, {"kind": "pyqa"} if a.startswith("```") else None)


def one(ctx):
    return ctx.wpick(
        [
            (52, lambda c: func_turn(c)[0]),
            (17, loop_turn),
            (12, expr_turn),
            (4, class_turn),
            (7, fix_turn),
            (7, qa_turn),
        ]
    )(ctx)


def sample(ctx):
    n = ctx.wpick([(62, 1), (26, 2), (12, 3)])
    turns = []
    for _ in range(n):
        if ctx.chance(0.18):
            t, (d, nm, code, expr, res) = func_turn(ctx)
            turns.append(t)
            y = ctx.rng.random()
            if y < 0.5:
                turns.append(
                    turn(
                        ctx.pick(["What does `%s` return?", "What is the result of `%s`?"]) % expr,
                        "`%s` returns `%r`." % (expr, res),
                        None,
                        {"kind": "pyhas", "txt": repr(res)},
                        noise=0,
                    )
                )
            elif y < 0.8:
                turns.append(
                    turn(
                        ctx.pick(["What does the function do?", "Explain the code."]),
                        "The function `%s` %s." % (nm, d),
                    )
                )
            else:
                turns.append(
                    turn(
                        ctx.pick(["How do I call it?", "Show me how to use it."]),
                        fence("print(%s)" % expr),
                        None,
                        {"kind": "pyqa"},
                    )
                )
            continue
        turns.append(one(ctx))
    return build(ctx, "python", turns)
