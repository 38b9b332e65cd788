"""Train the byte-level BPE tokenizer of hummingbird-nano and write tokenizer.json.

Same construction as GLM-5.x: no normaliser, the GLM split expression, byte alphabet,
ignore_merges, 36 added tokens in the published order, padded vocabulary.

    python3 tokenizer.py corpus.jsonl out_dir
"""

import json
import pathlib
import random
import sys

from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    pre_tokenizers,
    processors,
    trainers,
)

VOCAB = 4096  # rows of the embedding
BASE = 4036  # byte alphabet + merges; ids 4036..4071 are added tokens, 4072..4095 unused
SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
ADDED = [
    "<|endoftext|>",
    "[MASK]",
    "[gMASK]",
    "[sMASK]",
    "<sop>",
    "<eop>",
    "<|system|>",
    "<|user|>",
    "<|assistant|>",
    "<|observation|>",
    "<|begin_of_image|>",
    "<|end_of_image|>",
    "<|begin_of_video|>",
    "<|end_of_video|>",
    "<|begin_of_audio|>",
    "<|end_of_audio|>",
    "<|begin_of_transcription|>",
    "<|end_of_transcription|>",
    "<|code_prefix|>",
    "<|code_middle|>",
    "<|code_suffix|>",
    "<think>",
    "</think>",
    "<tool_call>",
    "</tool_call>",
    "<tool_response>",
    "</tool_response>",
    "<arg_key>",
    "</arg_key>",
    "<arg_value>",
    "</arg_value>",
    "/nothink",
    "<|begin_of_box|>",
    "<|end_of_box|>",
    "<|image|>",
    "<|video|>",
]
SPECIAL = set(ADDED) - {
    "<think>",
    "</think>",
    "<tool_call>",
    "</tool_call>",
    "<tool_response>",
    "</tool_response>",
    "<arg_key>",
    "</arg_key>",
    "<arg_value>",
    "</arg_value>",
    "/nothink",
}


def texts(path, share, rng):
    for line in open(path, encoding="utf-8"):
        if rng.random() > share:
            continue
        s = json.loads(line)
        if "text" in s:
            yield s["text"]
            continue
        for t in s.get("tools", ()):
            if rng.random() < 0.3:
                yield json.dumps(t, ensure_ascii=False)
        for m in s["messages"]:
            yield m["content"]
            if m.get("reasoning"):
                yield m["reasoning"]
            for c in m.get("tool_calls", ()):
                for k, v in c["arguments"].items():
                    yield k
                    yield v if isinstance(v, str) else json.dumps(v, ensure_ascii=False)


def main():
    corpus, out = sys.argv[1], pathlib.Path(sys.argv[2])
    tok = Tokenizer(models.BPE(ignore_merges=True))
    tok.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(SPLIT), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tok.decoder = decoders.ByteLevel()
    tok.post_processor = processors.ByteLevel(trim_offsets=False)
    trainer = trainers.BpeTrainer(
        vocab_size=BASE,
        min_frequency=2,
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tok.train_from_iterator(texts(corpus, 0.15, random.Random(1)), trainer)
    tok.add_tokens([AddedToken(t, special=t in SPECIAL, normalized=False) for t in ADDED])
    assert tok.get_vocab_size() == BASE + len(ADDED), tok.get_vocab_size()
    assert tok.token_to_id("<|endoftext|>") == BASE
    out.mkdir(parents=True, exist_ok=True)
    tok.save(str(out / "tokenizer.json"))
    print(tok.get_vocab_size(), tok.encode("Hello, I am hummingbird-nano. 12345 你好").tokens)


if __name__ == "__main__":
    main()
