"""Tokenizer and chat-template vectors from the reference libraries.

Those are tokenizers, tiktoken and transformers with jinja2.

    python3 make_tokenizers.py SRC OUT [--seed N]
SRC holds <name>/tokenizer.json (+ tokenizer_config.json) or <name>/*.tiktoken.  Written per name:
  <name>.tokenizer.json.xz or <name>.tiktoken.xz   the vocabulary itself
  <name>.vectors.jsonl    {"text", "ids"} (added tokens recognised, no BOS/EOS added),
                          {"text", "ids", "plain": true} (specials not recognised)
  <name>.decode.jsonl     {"ids", "text"}: ids cut anywhere, also inside a character (U+FFFD as the
                          reference prints it)
  <name>.chat.jsonl       {"messages", "tools", "kwargs", "text"}: rendered by the model's own
                          template, or {"error"}
"""

import argparse
import json
import lzma
import pathlib
import random
import unicodedata

HAND = [
    "",
    " ",
    "  ",
    "\n",
    "\r\n",
    "\t",
    "\n\n\n",
    " \n ",
    "a",
    "Hello",
    "Hello world",
    " Hello  world ",
    "hello\nworld",
    "hello \n world",
    "hello\n\n  world\r\n\r\nend",
    "don't DON'T Don'T it's IT'S they're we've I'll I'd I'm 'tis ''s 's",
    "DONſt ſ'ſ K",
    "can’t won’t",
    "1 12 123 1234 12345 1234567890",
    "3.14159 1,000,000 0x1F 1e-9 ½ ² Ⅷ ٣٤٥ १२३",
    "foo_bar-baz.qux/quux\\corge",
    "a+b=c; x<=y && z!=w || !q",
    "if (x) {\n    return y;\n}\n",
    "\tdef f(x):\n\t\treturn x**2  # comment\n",
    "#include <stdio.h>\r\nint main(void) { return 0; }\r\n",
    "<|endoftext|>",
    "a<|endoftext|>b",
    "<|im_start|>user\nhi<|im_end|>",
    "<think>\nx\n</think>\n\nok",
    "<|user|>hi<|assistant|>",
    "[gMASK]<sop><|user|>Hi<|assistant|><think></think>",
    "<｜begin▁of▁sentence｜><｜User｜>hi<｜Assistant｜>",
    "<|start|>user<|message|>hi<|end|>",
    "<|endoftext",
    "|endoftext|>",
    "<|fake_token|>",
    '<tool_call>{"name": "f"}</tool_call>',
    "你好，世界！",
    "今天天气很好。我们去公园吧？",
    "こんにちは世界",
    "カタカナとひらがなと漢字",
    "안녕하세요 세계",
    "Привет, мир!",
    "Γειά σου Κόσμε",
    "שלום עולם",
    "مرحبا بالعالم",
    "สวัสดีชาวโลก",
    "नमस्ते दुनिया",
    "ಕನ್ನಡ தமிழ் తెలుగు",
    "café cafe\u0301 naïve nai\u0308ve Å Å ﬁ ﬀ",
    "e\u0301\u0327\u0323 a\u0300\u0301\u0302",
    "Ǆ ǅ ǆ ß ẞ İ ı",
    "😀 😃👍🏽 👨‍👩‍👧‍👦 🏳️‍🌈 🇩🇪🇫🇷",
    "✓ ★ → ∑ ∫ √ ≠ ∞",
    "\u200b\u200c\u200d\ufeff zero width",
    "\u00a0nbsp\u2003em\u3000ideographic",
    "\u2028line\u2029para",
    "\x00\x01\x7f\x1b[0m",
    "a\u0000b",
    "\ufffd \ufffe",
    "𝒳𝓎𝔷 𠀀𠀁 🀄",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    " " * 100,
    "\n" * 50,
    " \n" * 40,
    "ab" * 200,
    "0" * 64,
    "!" * 70,
    "?!?!?!",
    "...",
    "…",
    "—–-",
    "\"quoted\" 'single' `tick` «guillemets»",
    "http://example.com/a/b?c=d&e=f#g",
    "user@example.com",
    "C:\\Users\\x\\y.txt",
    "/usr/local/bin",
    "$100 €50 £20 ¥1000",
    "50% #tag @name",
    '{"a": [1, 2.5, null, true], "b": "c\\n"}',
    "SELECT * FROM t WHERE a = 'b';",
    "The quick brown fox jumps over the lazy dog.",
    "THE QUICK BROWN FOX",
    "TheQuickBrownFox",
    "the_quick_brown_fox",
    "iPhone 15 Pro Max",
    "HTTPServer2Go",
    "x86_64-linux-gnu",
    "αβγ123абв",
    "abc你好def",
    "你好abc世界",
    "数字123混合abc",
    "ÀÉÎÕÜàéîõü",
    "ﷺ",
    "ǰ̌",
    " leading",
    "trailing ",
    "  two",
    "\n\nlead",
    "tail\n\n",
    "a  b   c    d",
    "a\tb\t\tc",
    "a \tb",
    "\u3042\u3099 か\u3099",
    "ｆｕｌｌｗｉｄｔｈ　１２３",
    "x\u0301\u0301\u0301\u0301\u0301\u0301",
    "'S 'T 'RE 'VE 'M 'LL 'D",
    "’s ’t ’re",
]
RANGES = [(0x20, 0x7E)] * 10 + [
    (0x0A, 0x0A),
    (0x20, 0x20),
    (0x20, 0x20),
    (0x09, 0x0D),
    (0xA0, 0x17F),
    (0x300, 0x36F),
    (0x370, 0x5FF),
    (0x900, 0x97F),
    (0xE00, 0xE7F),
    (0x1100, 0x11FF),
    (0x2000, 0x206F),
    (0x2190, 0x22FF),
    (0x3000, 0x30FF),
    (0x4E00, 0x9FFF),
    (0xAC00, 0xD7A3),
    (0xFF00, 0xFFEF),
    (0x1F300, 0x1F6FF),
    (0x20000, 0x2A6DF),
    (0x1D400, 0x1D7FF),
]


def texts(seed, n=260):
    r, out = random.Random(seed), list(HAND)
    words = (
        "the of and Model weights cache EXPERT 42 3.14 don't 你好 мир 🙂 naïve foo_bar() \n\n \t {}"
        " [] ... -- https://x.y ' \" ` ' ' ,".split(" ")
    )
    for i in range(n):
        if i % 3 == 0:
            out.append(
                "".join(
                    r.choice(words) + r.choice([" ", "", "  ", "\n", "\r\n", "\t"])
                    for _ in range(r.randint(1, 30))
                )
            )
        else:
            s = ""
            while len(s) < r.randint(1, 60):
                a, b = r.choice(RANGES)
                for _ in range(r.choice([1, 1, 2, 5])):
                    ch = chr(r.randint(a, b))
                    if unicodedata.category(ch) != "Cs":
                        s += ch
            out.append(s)
    return out


CHATS = [
    dict(messages=[dict(role="user", content="Hi")]),
    dict(
        messages=[
            dict(role="system", content="You are brief."),
            dict(role="user", content="What is 2+2?"),
        ]
    ),
    dict(
        messages=[
            dict(role="user", content="a"),
            dict(role="assistant", content="b"),
            dict(role="user", content="  c  \n"),
        ]
    ),
    dict(
        messages=[
            dict(role="user", content="a"),
            dict(role="assistant", content="<think>\nwhy\n</think>\n\nb"),
            dict(role="user", content="c"),
        ]
    ),
    dict(
        messages=[
            dict(role="user", content="a"),
            dict(role="assistant", content="b", reasoning_content="because"),
            dict(role="user", content="c"),
        ]
    ),
    dict(
        messages=[
            dict(role="user", content="Weather in Köln?"),
            dict(
                role="assistant",
                content="",
                tool_calls=[
                    dict(
                        id="c1",
                        type="function",
                        function=dict(name="weather", arguments=dict(city="Köln", days=2)),
                    )
                ],
            ),
            dict(role="tool", content='{"t": 21}', tool_call_id="c1", name="weather"),
            dict(role="assistant", content="21 degrees."),
            dict(role="user", content='Thanks <b>&"'),
        ],
        tools=[
            dict(
                type="function",
                function=dict(
                    name="weather",
                    description="Get the weather — °C",
                    parameters=dict(
                        type="object",
                        properties=dict(
                            city=dict(type="string"),
                            days=dict(type="integer", description="how many"),
                        ),
                        required=["city"],
                    ),
                ),
            )
        ],
    ),
    dict(
        messages=[
            dict(role="user", content="two calls"),
            dict(
                role="assistant",
                content="ok",
                tool_calls=[
                    dict(id="c1", type="function", function=dict(name="f", arguments=dict(x=1))),
                    dict(id="c2", type="function", function=dict(name="g", arguments={})),
                ],
            ),
            dict(role="tool", content="1", tool_call_id="c1", name="f"),
            dict(role="tool", content="two\nlines", tool_call_id="c2", name="g"),
        ],
        tools=[
            dict(
                type="function",
                function=dict(
                    name="f",
                    description="F",
                    parameters=dict(type="object", properties=dict(x=dict(type="number"))),
                ),
            ),
            dict(
                type="function",
                function=dict(
                    name="g", description="G", parameters=dict(type="object", properties={})
                ),
            ),
        ],
    ),
]
KWARGS = [
    dict(add_generation_prompt=True),
    dict(add_generation_prompt=False),
    dict(add_generation_prompt=True, enable_thinking=False),
    dict(add_generation_prompt=True, reasoning_effort="high"),
]


def chat(name, folder, out):
    import transformers

    tok = transformers.PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"))
    cfg = (
        json.loads((folder / "tokenizer_config.json").read_text())
        if (folder / "tokenizer_config.json").exists()
        else {}
    )
    tpl = (
        (folder / "chat_template.jinja").read_text()
        if (folder / "chat_template.jinja").exists()
        else cfg.get("chat_template")
    )
    if not isinstance(tpl, str):
        return 0
    plain = lambda t: t["content"] if isinstance(t, dict) else t
    for k in ("bos_token", "eos_token", "pad_token"):
        if cfg.get(k):
            setattr(tok, k, plain(cfg[k]))
    (out / f"{name}.chat_template.jinja").write_text(tpl)
    (out / f"{name}.special.json").write_text(
        json.dumps(
            {k: plain(cfg[k]) for k in ("bos_token", "eos_token", "pad_token") if cfg.get(k)}
        )
        + "\n"
    )
    n = 0
    with open(out / f"{name}.chat.jsonl", "w") as f:
        for c in CHATS:
            for kw in KWARGS:
                row = dict(messages=c["messages"], tools=c.get("tools"), kwargs=kw)
                try:
                    text = tok.apply_chat_template(
                        c["messages"], tools=c.get("tools"), tokenize=False, chat_template=tpl, **kw
                    )
                    if "Current date" in text or "Today Date" in text:
                        import re

                        row["date_line"] = re.search(
                            r"[^\n]*(Current date|Today Date)[^\n]*", text
                        )[0]
                    row["text"] = text
                except Exception as e:
                    row["error"] = type(e).__name__
                f.write(json.dumps(row, ensure_ascii=False) + "\n")
                n += 1
    return n


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("src", type=pathlib.Path), ap.add_argument(
        "out", type=pathlib.Path
    ), ap.add_argument("--seed", type=int, default=11)
    a = ap.parse_args()
    a.out.mkdir(parents=True, exist_ok=True)
    for folder in sorted(a.src.iterdir()):
        name, rank = folder.name, next(iter(folder.glob("*.tiktoken")), None)
        if rank:
            import tiktoken
            from tiktoken.load import load_tiktoken_bpe

            pat = (
                r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
                r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
            )
            ranks = load_tiktoken_bpe(str(rank))
            enc = tiktoken.Encoding(
                name,
                pat_str=pat,
                mergeable_ranks=ranks,
                special_tokens={"<|endoftext|>": len(ranks)},
            )
            encode = lambda t: enc.encode(t, allowed_special="all")
            plain_encode = lambda t: enc.encode(t, disallowed_special=())
            decode, size = lambda ids: enc.decode(ids), len(ranks)
            (a.out / f"{name}.pattern.txt").write_text(pat + "\n")
            (a.out / f"{name}.tiktoken.xz").write_bytes(lzma.compress(rank.read_bytes(), preset=9))
        else:
            from tokenizers import Tokenizer

            t = Tokenizer.from_file(str(folder / "tokenizer.json"))
            encode = lambda s: t.encode(s, add_special_tokens=False).ids
            plain_encode = None
            decode, size = lambda ids: t.decode(ids, skip_special_tokens=False), t.get_vocab_size()
            raw = (folder / "tokenizer.json").read_bytes()
            (a.out / f"{name}.tokenizer.json.xz").write_bytes(lzma.compress(raw, preset=9))
        r = random.Random(a.seed)
        with open(a.out / f"{name}.vectors.jsonl", "w") as f:
            for s in texts(a.seed):
                f.write(json.dumps(dict(text=s, ids=encode(s))) + "\n")
                if plain_encode and "<|" in s:
                    f.write(json.dumps(dict(text=s, ids=plain_encode(s), plain=True)) + "\n")
        with open(a.out / f"{name}.decode.jsonl", "w") as f:
            for s in texts(a.seed + 1):
                ids = encode(s)
                if len(ids) > 2:
                    i = r.randrange(len(ids))
                    ids = ids[i : r.randint(i + 1, len(ids))]
                f.write(json.dumps(dict(ids=ids, text=decode(ids))) + "\n")
            for _ in range(60):
                ids = [r.randrange(size) for _ in range(r.randint(1, 12))]
                try:
                    f.write(json.dumps(dict(ids=ids, text=decode(ids))) + "\n")
                except Exception:
                    pass
        print(name, "chat rows", 0 if rank else chat(name, folder, a.out))


if __name__ == "__main__":
    main()
