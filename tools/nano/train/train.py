"""Train hummingbird-nano on a CPU within a time budget.

    python3 train.py stream.npz eval.npz out.pt --minutes 110 [--resume out.pt]

Schedule by elapsed time: short rows first, then 512, then 2048 tokens with the indexer trained
(dense attention), then sparse attention; learning rate warms up, stays, and falls at the end.
"""

import argparse
import json
import time

import numpy as np
import torch
import torch.nn.functional as F

import model as M
from model import Config, Nano

PHASES = [
    (0.00, 256, 32, "dense"),
    (0.35, 256, 64, "dense"),
    (0.60, 512, 24, "dense"),
    (0.80, 1024, 12, "warm"),
    (0.88, 2048, 6, "sparse"),
]


def newton_schulz(g):
    """orthogonalise the last two dimensions (Muon)"""
    x = g.bfloat16()
    flip = x.shape[-2] > x.shape[-1]
    if flip:
        x = x.mT
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(5):
        a = x @ x.mT
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
    return (x.mT if flip else x).float()


class Optimiser:
    """Muon for hidden matrices (stacked experts are batches of matrices), AdamW for the rest."""

    def __init__(self, model):
        self.state, self.t = {}, 0
        self.muon, self.adam = [], []
        for n, p in model.named_parameters():
            hidden = (
                p.ndim >= 2
                and not any(k in n for k in ("embed", "lm_head", "mlp.gate", "weights_proj"))
                or "gate_up" in n
                or "gate_proj" in n
            )
            (self.muon if hidden else self.adam).append((n, p))
        for n, p in self.muon:
            self.state[n] = [torch.zeros_like(p)]
        for n, p in self.adam:
            self.state[n] = [torch.zeros_like(p), torch.zeros_like(p)]

    @torch.no_grad()
    def step(self, lr, wd=0.05):
        self.t += 1
        for n, p in self.muon:
            if p.grad is None:
                continue
            m = self.state[n][0]
            m.lerp_(p.grad, 0.05)
            u = p.grad.lerp(m, 0.95)
            u = (
                torch.cat([newton_schulz(h) for h in u.chunk(2, 1)], 1)
                if "gate_up" in n
                else newton_schulz(u)
            )
            p.mul_(1 - lr * wd).add_(u, alpha=-lr * 0.2 * max(p.shape[-2:]) ** 0.5)
        b1, b2 = 0.9, 0.98
        for n, p in self.adam:
            if p.grad is None:
                continue
            m, v = self.state[n]
            m.lerp_(p.grad, 1 - b1)
            v.lerp_(p.grad.square(), 1 - b2)
            u = (m / (1 - b1**self.t)) / ((v / (1 - b2**self.t)).sqrt() + 1e-8)
            rate = lr * (0.3 if "mlp.gate" in n else 1.0)
            p.mul_(1 - rate * (wd if p.ndim > 1 else 0)).add_(u, alpha=-rate)


def batch(stream, t, b, rng):
    ids, mask = stream
    at = rng.integers(0, len(ids) - t - 2, b)
    x = np.stack([ids[a : a + t + 2] for a in at]).astype(np.int64)
    m = np.stack([mask[a : a + t + 2] for a in at]).astype(np.float32)
    return torch.from_numpy(x), torch.from_numpy(m)


def losses(model, x, m, mode, dt, others=0.15):
    """-> losses of the main head and of the draft head.

    Taken at all target positions and at a share of the others.
    """
    h = model.trunk(x[:, :-2], mode, dt)
    d = model.draft(h, x[:, 1:-1], mode)

    def head(hidden, ids, mask):
        at = (mask.flatten() > 0) | (torch.rand(mask.numel()) < others)
        return (
            F.cross_entropy(
                model.logits(hidden.flatten(0, 1)[at]).float(), ids.flatten()[at], reduction="none"
            ),
            mask.flatten()[at],
        )

    main, w1 = head(h, x[:, 1:-1], m[:, 1:-1])
    draft, w2 = head(d, x[:, 2:], m[:, 2:])
    return main, draft, w1, w2


@torch.no_grad()
def evaluate(model, stream, t, b, mode, n=6):
    rng = np.random.default_rng(0)
    model.eval()
    s = np.zeros(4)
    for _ in range(n):
        x, m = batch(stream, t, b, rng)
        main, draft, w1, w2 = losses(model, x, m, mode, torch.bfloat16, 0)
        s += [float((main * w1).sum()), float(w1.sum()), float((draft * w2).sum()), float(w2.sum())]
    model.train()
    return s[0] / s[1], s[2] / s[3]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("train"), ap.add_argument("eval"), ap.add_argument("out")
    ap.add_argument("--minutes", type=float, default=110)
    ap.add_argument("--lr", type=float, default=4e-3)
    ap.add_argument("--resume")
    ap.add_argument("--steps", type=int, default=10**9)
    a = ap.parse_args()
    torch.manual_seed(1)
    torch.set_num_threads(2)
    load = lambda f: (lambda z: (z["ids"], z["mask"]))(np.load(f))
    train, held = load(a.train), load(a.eval)
    model = Nano(Config())
    opt, rng = Optimiser(model), np.random.default_rng(1)
    spent, step, tokens = 0.0, 0, 0
    if a.resume:
        ck = torch.load(a.resume)
        model.load_state_dict(ck["model"])
        opt.state, opt.t = ck["state"], ck["t"]
        spent, step, tokens = ck["spent"], ck["step"], ck["tokens"]
    M.amx = load_amx()
    for block in [*model.layers, model.mtp]:
        block.self_attn.forward = torch.compile(block.self_attn.forward, dynamic=False)
    print(sum(p.numel() for p in model.parameters()), "parameters", flush=True)
    last_save = time.time()
    t0 = time.time() - spent
    model.train()
    avg = None
    while True:
        done = (time.time() - t0) / (a.minutes * 60)
        if done >= 1 or step >= a.steps:
            break
        t, b, mode = [p[1:] for p in PHASES if done >= p[0]][-1]
        lr = a.lr * min(1, (step + 1) / 100) * (1 if done < 0.6 else max(0.02, (1 - done) / 0.4))
        x, m = batch(train, t, b, rng)
        main_, draft, w1, w2 = losses(model, x, m, mode, torch.bfloat16)
        lm, ld = main_.mean(), draft.mean()
        loss = lm + 0.3 * ld + 0.005 * sum(moe.balance for moe in model.moes())
        for mod in model.modules():
            if getattr(mod, "index_loss", None) is not None:
                loss = loss + 0.2 * mod.index_loss
                mod.index_loss = None
        for p in model.parameters():
            p.grad = None
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step(lr)
        speed = 3e-3 if done < 0.6 else 1e-3 if done < 0.8 else 2e-4
        for moe in model.moes():
            moe.bias.add_(torch.sign(moe.load.float().mean() - moe.load.float()), alpha=speed)
            moe.bias.sub_(moe.bias.mean())
        step, tokens = step + 1, tokens + t * b
        cur = float((main_.detach() * w1).sum() / w1.sum())
        avg = cur if avg is None else 0.98 * avg + 0.02 * cur
        if step % 50 == 0 or step <= 3:
            load_max = max(float(moe.load.max() / moe.load.float().mean()) for moe in model.moes())
            balance = sum(float(moe.balance.detach()) for moe in model.moes()) / len(model.moes())
            print(
                json.dumps(
                    dict(
                        step=step,
                        s=round(time.time() - t0),
                        tokens=tokens,
                        T=t,
                        mode=mode,
                        lr=round(lr, 5),
                        loss=round(avg, 4),
                        draft=round(ld.item(), 3),
                        load_max=round(load_max, 2),
                        balance=round(balance, 3),
                    )
                ),
                flush=True,
            )
        if step % 500 == 0:
            e = evaluate(model, held, t, b, mode if mode == "sparse" else "dense")
            print(
                json.dumps(dict(step=step, eval=round(e[0], 4), eval_draft=round(e[1], 4))),
                flush=True,
            )
        if time.time() - last_save > 300:
            save(a.out, model, opt, time.time() - t0, step, tokens)
            last_save = time.time()
    save(a.out, model, opt, time.time() - t0, step, tokens)


def load_amx():
    """compile the AMX experts where the CPU has them; otherwise the plain loop is used"""
    if "amx_bf16" not in open("/proc/cpuinfo").read():
        return None
    import pathlib
    from torch.utils.cpp_extension import load

    return load(
        "experts_amx",
        [str(pathlib.Path(__file__).with_name("experts_amx.cpp"))],
        extra_cflags=["-O3", "-march=sapphirerapids", "-fopenmp"],
        extra_ldflags=["-fopenmp"],
    )


def save(out, model, opt, spent, step, tokens):
    import os

    torch.save(
        dict(
            model=model.state_dict(),
            state=opt.state,
            t=opt.t,
            spent=spent,
            step=step,
            tokens=tokens,
        ),
        out + ".tmp",
    )
    os.replace(out + ".tmp", out)


if __name__ == "__main__":
    main()
