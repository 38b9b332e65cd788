"""Turn corpus.jsonl into one token stream with a loss mask.

Conversations are rendered in the GLM-5.2 prompt format (see chat_template.jinja; `--check` proves
that both agree).  A document is one sample, or several joined as one longer conversation.

    python3 data.py corpus.jsonl tokenizer.json stream.npz [--seed N]
    python3 data.py --check corpus.jsonl tokenizer.json chat_template.jinja
"""

import json
import random
import sys

import numpy as np
from tokenizers import Tokenizer

TOOLS_HEAD = (
    "<|system|>\n# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
    "You are provided with function signatures within <tools></tools> XML tags:\n<tools>\n"
)
TOOLS_TAIL = (
    "</tools>\n\nFor each function call, output the function name and arguments within the"
    " following XML format:\n"
    "<tool_call>{function-name}<arg_key>{arg-key-1}</arg_key><arg_value>{arg-value-1}</arg_value>"
    "<arg_key>{arg-key-2}</arg_key><arg_value>{arg-value-2}</arg_value>...</tool_call>"
)


def dumps(v):
    return json.dumps(v, ensure_ascii=False)


def render(messages, tools, think, effort, keep_all):
    """-> list of (text, is_target). Targets are what the model must learn to write."""
    out = [("[gMASK]<sop>", False)]
    if think:
        out.append((f"<|system|>Reasoning Effort: {'High' if effort == 'high' else 'Max'}", False))
    if tools:
        out.append((TOOLS_HEAD + "".join(dumps(t) + "\n" for t in tools) + TOOLS_TAIL, False))
    last_user = max(i for i, m in enumerate(messages) if m["role"] == "user")
    for i, m in enumerate(messages):
        role, content = m["role"], m["content"]
        if role == "system":
            out.append(("<|system|>" + content, False))
        elif role == "user":
            # <|user|> after an answer is the end-of-turn token that the answer must produce
            out += [
                ("<|user|>", i > 0 and messages[i - 1]["role"] == "assistant"),
                (content, False),
            ]
        elif role == "assistant":
            out.append(("<|assistant|>", False))
            live = keep_all or i > last_user
            if think and live and m.get("reasoning"):
                out += [("<think>", False), (m["reasoning"].strip() + "</think>", True)]
            else:
                out.append(("<think></think>", False))
            target = live or not think
            body = content.strip()
            for c in m.get("tool_calls", ()):
                body += "<tool_call>" + c["name"]
                for k, v in c["arguments"].items():
                    value = v if isinstance(v, str) else dumps(v)
                    body += f"<arg_key>{k}</arg_key><arg_value>{value}</arg_value>"
                body += "</tool_call>"
            out.append((body, target))
        else:
            if messages[i - 1]["role"] != "tool":
                out.append(("<|observation|>", True))
            out.append(("<tool_response>" + content + "</tool_response>", False))
    return out


def documents(path, rng):
    """Yield rendered documents; joins simple samples into longer conversations."""
    plain, reasoned = [], []
    for line in open(path, encoding="utf-8"):
        s = json.loads(line)
        if "text" in s:
            yield [("[gMASK]<sop>", False), (s["text"] + "<|endoftext|>", True)]
            continue
        m, tools = s["messages"], s.get("tools")
        has_reason = any("reasoning" in x for x in m)
        if tools or m[0]["role"] == "system" or rng.random() < 0.55:
            yield finish(m, tools, has_reason, rng)
            continue
        pool = reasoned if has_reason else plain
        pool.append(m)
        if len(pool) >= 64:
            rng.shuffle(pool)
            while pool:
                k = rng.choice((2, 2, 3, 3, 4, 6, 9))
                part, pool[:] = pool[:k], pool[k:]
                yield finish([x for p in part for x in p], None, has_reason, rng)


def finish(m, tools, think, rng):
    keep_all = False
    if think:
        keep_all = rng.random() < 0.4
        if not keep_all:
            users = [i for i, x in enumerate(m) if x["role"] == "user"]
            if len(users) > 1:
                cut = rng.randrange(1, len(users) + 1)
                m = m if cut == len(users) else m[: users[cut]]
    return render(m, tools, think, rng.choice(("high", None)), keep_all) + [("<|endoftext|>", True)]


def encode(docs, tok):
    """Encode whole documents at once, so that token borders are those of the joined text."""
    texts, spans = [], []
    for d in docs:
        texts.append("".join(t for t, _ in d))
        spans.append(d)
    ids, mask = [], []
    for text, d, e in zip(texts, spans, tok.encode_batch(texts, add_special_tokens=False)):
        edge, flags = 0, []
        for t, target in d:
            edge += len(t)
            flags.append((edge, target))
        j, m = 0, np.empty(len(e.ids), np.uint8)
        for n, (a, _) in enumerate(e.offsets):
            while a >= flags[j][0]:
                j += 1
            m[n] = flags[j][1]
        ids.append(np.array(e.ids, np.uint16))
        mask.append(m)
    return np.concatenate(ids), np.concatenate(mask)


def main():
    if sys.argv[1] == "--check":
        return check(*sys.argv[2:5])
    src, tokfile, out = sys.argv[1:4]
    seed = int(sys.argv[5]) if len(sys.argv) > 5 else 1
    tok, rng = Tokenizer.from_file(tokfile), random.Random(seed)
    ids, mask, batch = [], [], []

    def flush():
        i, m = encode(batch, tok)
        ids.append(i)
        mask.append(m)
        batch.clear()

    for d in documents(src, rng):
        batch.append(d)
        if len(batch) == 20000:
            flush()
    flush()
    ids, mask = np.concatenate(ids), np.concatenate(mask)
    np.savez(out, ids=ids, mask=mask)
    print(f"{len(ids)} tokens, {mask.mean():.3f} targets")


def check(src, tokfile, template):
    from jinja2 import Environment

    env = Environment(trim_blocks=True, lstrip_blocks=True)
    env.filters["tojson"] = lambda v, ensure_ascii=False: json.dumps(v, ensure_ascii=ensure_ascii)
    tpl = env.from_string(open(template, encoding="utf-8").read())
    n = 0
    for line in open(src, encoding="utf-8"):
        s = json.loads(line)
        if "text" in s:
            continue
        m, tools = s["messages"], s.get("tools")
        think = any("reasoning" in x for x in m)
        for keep in (True, False):
            want = "".join(t for t, _ in render(m, tools, think, "high", keep))
            msgs = [
                {("reasoning_content" if k == "reasoning" else k): v for k, v in x.items()}
                for x in m
            ]
            got = tpl.render(
                messages=msgs,
                tools=tools,
                enable_thinking=think,
                reasoning_effort="high",
                clear_thinking=not keep,
            )
            assert got == want, (got, want)
            n += 1
        if n > 4000:
            break
    print(n, "renderings agree")


if __name__ == "__main__":
    main()
