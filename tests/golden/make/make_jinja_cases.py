"""Fills in what jinja2 makes of small templates, for src/text/jinja/reference_test.cpp.

    python3 make_jinja_cases.py FOLDER     (Debian: python3-jinja2 3.1.2)

FOLDER/{expressions,templates}.jsonl hold rows {"source", "text"} or {"source", "error"}, and
FOLDER/*.context.json the variables. Every row is rendered again from its source; to add a case,
append {"source": "..."} and run this. The environment is the one in which transformers renders
chat templates; strftime_now stands at a fixed time.
"""
import datetime
import json
import pathlib
import sys

import jinja2
import jinja2.ext
from jinja2 import nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

NOW = datetime.datetime(2025, 7, 4, 15, 5, 9)


class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


def environment():
    env = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols]
    )

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(
            x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
        )

    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = NOW.strftime
    return env


def render(env, source, context):
    variables = json.loads(json.dumps(context))  # no case may change those of the next
    try:
        return {"source": source, "text": env.from_string(source).render(**variables)}
    except Exception as error:
        return {"source": source, "error": f"{type(error).__name__}: {error}"}


def main():
    env = environment()
    for name in ("expressions", "templates"):
        path = pathlib.Path(sys.argv[1]) / f"{name}.jsonl"
        context = json.loads(path.with_suffix(".context.json").read_text())
        sources = [json.loads(line)["source"] for line in path.read_text().split("\n") if line]
        rows = [json.dumps(render(env, s, context), ensure_ascii=False) for s in sources]
        path.write_text("\n".join(rows) + "\n")


if __name__ == "__main__":
    main()
