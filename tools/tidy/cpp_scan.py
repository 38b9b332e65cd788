"""What the checks need to know about a C++ file: its includes, its functions and their lengths.

This is no parser. It blanks out comments, strings and preprocessor lines (keeping every line break)
and follows braces, which is enough for code that clang-format has laid out.
"""

import re
from dataclasses import dataclass

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]')
TOKENS = re.compile(
    r"//[^\n]*(?:\\\n[^\n]*)*"  # line comment
    r"|/\*.*?\*/"  # block comment
    r'|\bR"(?P<raw>[^(\s]*)\(.*?\)(?P=raw)"'  # raw string
    r'|"(?:\\.|[^"\\\n])*"'  # string
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'"  # character, not a digit separator
    r"|^[ \t]*#(?:[^\n\\]|\\\n|\\.)*",  # preprocessor line with its continuations
    re.DOTALL | re.MULTILINE,
)
SCOPE = re.compile(r"\b(?:namespace|class|struct|union|enum|extern)\b")
CONTROL = re.compile(r"^(?:if|for|while|switch|catch|do|else|try|return)\b")


@dataclass
class Include:
    line: int
    target: str
    quoted: bool


@dataclass
class Function:
    name: str
    line: int  # of the opening brace
    lines: int  # from the opening brace's line to the closing brace's


def includes(text):
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            found.append(Include(number, match[2], match[1] == '"'))
    return found


def blank(text):
    """`text` without comments, strings and preprocessor lines, each character in its line."""

    def erase(match):
        gap = re.sub(r"[^\n]", " ", match[0])
        return '""' + gap[2:] if match[0][0] in '"R' and len(gap) >= 2 else gap

    return TOKENS.sub(erase, text)


def without_template(head):
    """The head of a declaration without its template clauses, which stand on lines of their own."""
    return re.sub(
        r"\b(?:template\s*<.*?>|requires\b.*?)[ \t]*\n", "", head, flags=re.DOTALL
    ).strip()


def initialises_member(head):
    """Whether the brace after `head` is that of x_ in `S() : x_{1} {`."""
    after_colon = re.search(r"\)\s*(?:noexcept\s*)?:(?!:)", head)
    return after_colon is not None and re.search(r"[\w>]\s*$", head) is not None


def opens_function(head):
    """Whether a brace after `head` (the text since the last ; { or }) starts a function's body."""
    head = without_template(head)
    if "(" not in head or ")" not in head or CONTROL.match(head):
        return False
    before = head[: head.index("(")]
    if SCOPE.search(before) and not re.search(r"\boperator\b", before):
        # A function may return `struct X`, but a type with parentheses in its head is a type
        # only when the parentheses belong to an attribute.
        return re.search(r"\b(?:alignas|__attribute__)\s*$", before) is None and "=" not in before
    return True


def function_name(head):
    head = without_template(head)
    before = head[: head.index("(")]
    if before.strip() in ("TEST", "TEST_F", "TEST_P", "TYPED_TEST"):
        return re.sub(r"\s+", " ", head.strip())
    match = re.search(r"((?:[\w~]+(?:<[^<>]*>)?::)*(?:operator\s*\S+|~?\w+))\s*$", before)
    return match[1] if match else "lambda"


def functions(text):
    """Functions of a file, outermost only: a lambda counts as part of the function around it."""
    code = blank(text)
    found, depth_of_body, depth_of_value = [], None, None
    depth, line, head_start = 0, 1, 0
    name = start = None
    for at, char in enumerate(code):
        if char == "\n":
            line += 1
        elif char == "{":
            head = code[head_start:at]
            outside = depth_of_body is None and depth_of_value is None
            if outside and initialises_member(head):
                depth_of_value = depth
            elif outside and opens_function(head):
                depth_of_body, name, start = depth, function_name(head), line
            depth += 1
            head_start = at + 1 if depth_of_value is None else head_start
        elif char == "}":
            depth = max(0, depth - 1)
            if depth_of_body is not None and depth == depth_of_body:
                found.append(Function(name, start, line - start + 1))
                depth_of_body = None
            head_start = at + 1 if depth_of_value is None else head_start
            depth_of_value = None if depth_of_value == depth else depth_of_value
        elif char == ";":
            head_start = at + 1
    return found
