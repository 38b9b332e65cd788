"""Share of assistant turns that greedy decoding reproduces exactly, by topic, and a few answers.

    python3 evaluate.py nano.pt eval.jsonl tokenizer.json [--samples N] [--mode sparse|dense]
                        [--ask "question" ...]
Greedy decoding equals the target exactly when the teacher-forced argmax does at every position of
the turn.
"""

import argparse
import collections
import json

import torch
from tokenizers import Tokenizer

import data
from model import Config, Nano


def load(path):
    m = Nano(Config())
    m.load_state_dict(torch.load(path, map_location="cpu")["model"])
    return m.eval()


@torch.no_grad()
def turns(m, tok, sample, mode):
    """-> (correct, total) assistant turns, (draft hits, drafts)"""
    msgs = sample["messages"]
    think = any("reasoning" in x for x in msgs)
    spans = data.render(msgs, sample.get("tools"), think, None, True) + [("<|endoftext|>", True)]
    ids, mask = data.encode([spans], tok)
    if len(ids) > 2000:
        return 0, 0, 0, 0
    x = torch.from_numpy(ids.astype("int64"))[None]
    h = m.trunk(x, mode)
    pred = m.logits(h)[0, :-1].argmax(-1)
    hit = (pred == x[0, 1:]).tolist()
    draft = m.logits(m.draft(h[:, :-1], x[:, 1:], mode))[0].argmax(-1)  # position t predicts t+2
    want, good, total, dh, dn, run = mask[1:], 0, 0, 0, 0, []
    for i, w in enumerate(want):
        if w:
            run.append(hit[i])
            if i + 1 < len(hit):
                dn += 1
                dh += int(draft[i] == pred[i + 1])
        if run and (not w or i == len(want) - 1):
            total, good, run = total + 1, good + all(run), []
    return good, total, dh, dn


@torch.no_grad()
def answer(m, tok, question, mode, think=False, n=120):
    text = (
        "[gMASK]<sop>"
        + ("<|system|>Reasoning Effort: Max" if think else "")
        + f"<|user|>{question}<|assistant|><think>"
        + ("" if think else "</think>")
    )
    ids = tok.encode(text, add_special_tokens=False).ids
    start, stop = len(ids), {
        tok.token_to_id(t) for t in ("<|endoftext|>", "<|user|>", "<|observation|>")
    }
    for _ in range(n):
        nxt = int(m.logits(m.trunk(torch.tensor([ids]), mode))[0, -1, :4072].argmax())
        if nxt in stop:
            break
        ids.append(nxt)
    return tok.decode(ids[start:], skip_special_tokens=False)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("model")
    ap.add_argument("corpus")
    ap.add_argument("tokenizer")
    ap.add_argument("--samples", type=int, default=400)
    ap.add_argument("--mode", default="sparse", choices=("sparse", "dense"))
    ap.add_argument("--threads", type=int, default=1)
    ap.add_argument("--ask", nargs="*", default=[])
    a = ap.parse_args()
    torch.set_num_threads(a.threads)
    m, tok = load(a.model), Tokenizer.from_file(a.tokenizer)
    tally, dh, dn = collections.defaultdict(lambda: [0, 0]), 0, 0
    for i, line in enumerate(open(a.corpus, encoding="utf-8")):
        if i >= a.samples:
            break
        s = json.loads(line)
        if "messages" in s:
            g, t, x, y = turns(m, tok, s, a.mode)
            tally[s["topic"]][0] += g
            tally[s["topic"]][1] += t
            dh, dn = dh + x, dn + y
    for k, (g, t) in sorted(tally.items()):
        print(f"{k:12s} {g:4d} / {t:4d} = {g / max(t, 1):.2f}")
    g, t = sum(v[0] for v in tally.values()), sum(v[1] for v in tally.values())
    print(
        f"{'all':12s} {g:4d} / {t:4d} = {g / max(t, 1):.3f}   draft agrees with the model at"
        f" {dh / max(dn, 1):.3f} of positions"
    )
    for q in a.ask:
        print("Q:", q, "\nA:", answer(m, tok, q, a.mode))


if __name__ == "__main__":
    main()
