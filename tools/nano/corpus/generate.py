#!/usr/bin/env python3
"""Deterministic corpus generator for hummingbird-nano (Python stdlib only).

    python3 tools/nano/corpus/generate.py --seed 1 --samples 600000 --out train.jsonl
    python3 tools/nano/corpus/generate.py --seed 1 --samples 4000 --eval --out eval.jsonl

Sample number i depends only on (seed, split, i), so --start/--jobs never change
the output.  See README.md.
"""

import argparse
import hashlib
import json
import multiprocessing
import random
import sys

import core
import t_chinese
import t_colibri
import t_facts
import t_json
import t_math
import t_mixed
import t_poem
import t_python
import t_reason
import t_science
import t_smalltalk
import t_sql
import t_story
import t_structured
import t_textops
import t_tools
import t_translate

TOPICS = {
    "story": t_story.sample,
    "poem": t_poem.sample,
    "arithmetic": t_math.sample,
    "facts": t_facts.sample,
    "json": t_json.sample,
    "sql": t_sql.sample,
    "python": t_python.sample,
    "translate": t_translate.sample,
    "chinese": t_chinese.sample,
    "tools": t_tools.sample,
    "colibri": t_colibri.sample,
    "smalltalk": t_smalltalk.sample,
    "textops": t_textops.sample,
    "reasoning": t_reason.sample,
    "science": t_science.sample,
    "structured": t_structured.sample,
    "multi": t_mixed.multi_sample,
    "system": t_mixed.system_sample,
    "unknown": t_mixed.unknown_sample,
}
MAIN = list(TOPICS)[:16]
# slots per block of 320 samples: 16 topics x 18 = 90 %, multi 5 %, system 3 %, unknown 2 %
BLOCK = MAIN * 18 + ["multi"] * 16 + ["system"] * 10 + ["unknown"] * 6
MAX_WORDS = 400


def rng_for(*parts):
    d = hashlib.blake2b("|".join(map(str, parts)).encode(), digest_size=8).digest()
    return random.Random(int.from_bytes(d, "big"))


def words_of(s):
    """word count of a sample, everything included except tool declarations"""
    if "text" in s:
        return core.word_count(s["text"])
    n = 0
    for m in s["messages"]:
        n += core.word_count(m["content"]) + core.word_count(m.get("reasoning", ""))
        for c in m.get("tool_calls", ()):
            n += core.word_count(json.dumps(c["arguments"]))
    return n


def block_order(seed, split, b):
    order = list(BLOCK)
    rng_for(seed, split, "block", b).shuffle(order)
    return order


def make(seed, i, topic, eval_mode=False, meta=False):
    split = "eval" if eval_mode else "train"
    for attempt in range(500):
        ctx = core.Ctx(rng_for(seed, split, i, attempt), eval_mode, topic)
        try:
            s = TOPICS[topic](ctx)
        except core.NoCombo:
            continue
        if words_of(s) > MAX_WORDS:
            continue
        if not meta:
            s.pop("meta", None)
        return s
    raise RuntimeError("cannot make a sample for topic %s" % topic)


def _chunk(args):
    seed, lo, hi, topic, eval_mode, meta = args
    split = "eval" if eval_mode else "train"
    out, b, order = [], -1, None
    for i in range(lo, hi):
        if topic:
            t = topic
        else:
            if i // len(BLOCK) != b:
                b = i // len(BLOCK)
                order = block_order(seed, split, b)
            t = order[i % len(BLOCK)]
        out.append(
            json.dumps(make(seed, i, t, eval_mode, meta), ensure_ascii=False, separators=(",", ":"))
        )
    return out


def generate(seed, samples, topic=None, eval_mode=False, meta=False, start=0, jobs=1):
    """yield JSON lines"""
    step = 1600
    tasks = [
        (seed, lo, min(lo + step, start + samples), topic, eval_mode, meta)
        for lo in range(start, start + samples, step)
    ]
    if jobs > 1:
        with multiprocessing.Pool(jobs) as pool:
            for lines in pool.imap(_chunk, tasks):
                yield from lines
    else:
        for t in tasks:
            yield from _chunk(t)


def main():
    ap = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--samples", type=int, default=1000)
    ap.add_argument("--start", type=int, default=0, help="index of the first sample")
    ap.add_argument("--out", default="-", help="output file (JSONL), - for stdout")
    ap.add_argument("--topic", choices=list(TOPICS), help="only this topic")
    ap.add_argument("--eval", action="store_true", help="only held-out combinations")
    ap.add_argument("--meta", action="store_true", help="keep the fields used by checks.py")
    ap.add_argument("--jobs", type=int, default=multiprocessing.cpu_count())
    a = ap.parse_args()
    f = sys.stdout if a.out == "-" else open(a.out, "w", encoding="utf-8", newline="\n")
    for line in generate(a.seed, a.samples, a.topic, a.eval, a.meta, a.start, a.jobs):
        f.write(line + "\n")
    if f is not sys.stdout:
        f.close()


if __name__ == "__main__":
    main()
