"""GLM fixtures with an MTP head, and in FP8.  python3 make_glm_mtp.py OUT_DIR [--seed-shift N]

The main model's outputs come from transformers (which ignores layer L); the draft head is the plain
torch code of tools/nano/train/model.py, whose trunk is asserted to agree with transformers on the
same weights.
Extra tensors: p{p}.mtp.forced.logits [T-1,V]: row t from (h_t, x_{t+1});
p{p}.mtp.draft.logits [3,V]: three recursive draft steps after the prompt's bonus token (index set
recomputed each step).
"""

import pathlib
import sys
import tempfile

import torch
import transformers
from transformers import AutoModelForCausalLM

import common as C
import make_hf

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools" / "nano" / "train"))
import export  # noqa: E402
from model import Config, Nano  # noqa: E402

BASE = Config(
    vocab_size=160,
    hidden_size=64,
    intermediate_size=96,
    moe_intermediate_size=32,
    num_hidden_layers=5,
    first_k_dense_replace=1,
    num_attention_heads=4,
    q_lora_rank=48,
    kv_lora_rank=32,
    qk_nope_head_dim=16,
    qk_rope_head_dim=8,
    v_head_dim=24,
    n_routed_experts=16,
    num_experts_per_tok=4,
    rope_theta=8e6,
    index_topk=10,
    index_n_heads=4,
    index_head_dim=16,
    indexer_types=("full", "full", "full", "shared", "full"),
)
# widths that leave ragged 128x128 scale blocks, and expert widths that are no multiple of 64
FP8 = Config(
    vocab_size=160,
    hidden_size=160,
    intermediate_size=224,
    moe_intermediate_size=96,
    num_hidden_layers=4,
    first_k_dense_replace=1,
    num_attention_heads=4,
    q_lora_rank=72,
    kv_lora_rank=40,
    qk_nope_head_dim=24,
    qk_rope_head_dim=8,
    v_head_dim=40,
    n_routed_experts=8,
    num_experts_per_tok=2,
    n_shared_experts=1,
    rope_theta=8e6,
    index_topk=12,
    index_n_heads=2,
    index_head_dim=16,
    indexer_types=("full", "full", "full", "shared"),
)


def seeded(cfg, seed):
    m = Nano(cfg).eval()
    g = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for n, p in list(m.named_parameters()) + [(k, b) for k, b in m.named_buffers()]:
            r = torch.randn(p.shape, generator=g)
            if p.ndim == 1:
                p.copy_(1 + 0.1 * r if "norm" in n and "bias" not in n else 0.1 * r)
            elif n == "embed_tokens":
                p.copy_(r)
            else:
                p.copy_(r * p.shape[-1] ** -0.5 * (2.0 if n == "lm_head" else 1.0))
            if not n.endswith("mlp.bias"):
                p.copy_(p.bfloat16().float())
    return m


def outputs(m, record):
    """Everything a reader can compare: main logits over prompt + greedy, MTP logits."""
    out = []
    with torch.no_grad():
        for r in record:
            seq = r["prompt"] + r["greedy"]
            out.append(m.logits(m.trunk(torch.tensor([seq]), "sparse"))[0])
            if len(r["prompt"]) > 1:
                forced, _, dl, _ = drafts(m, r["prompt"])
                out += [forced, dl]
    return out


def drafts(m, ids, steps=3):
    """-> forced logits [T-1,V], bonus token, draft logits [steps,V], draft tokens.

    An MTP block without indexer attends to everything.
    """
    mode = "sparse" if m.mtp.self_attn.indexer is not None else "dense"
    with torch.no_grad():
        x = torch.tensor([ids])
        h = m.trunk(x, "sparse")
        forced = m.logits(m.draft(h[:, :-1], x[:, 1:], mode))[0]
        bonus = int(m.logits(h)[0, -1].argmax())
        hs, nxt, out, toks = h, x[0, 1:].tolist() + [bonus], [], []
        for _ in range(steps):
            d = m.draft(hs, torch.tensor([nxt]), mode)
            lg = m.logits(d)[0, -1]
            out.append(lg)
            toks.append(int(lg.argmax()))
            hs, nxt = torch.cat([hs, d[:, -1:]], 1), nxt + [toks[-1]]
    return forced, bonus, torch.stack(out), toks


def make(out_dir, name, cfg, fp8, shift, lengths):
    out = pathlib.Path(out_dir) / name
    for seed in range(4000 + shift, 4200 + shift):
        m = seeded(cfg, seed)
        if fp8:  # the reference uses exactly what the file stores
            dq = {}
            for k, v in export.tensors(m).items():
                if v.ndim == 2 and not any(s in k for s in export.KEEP):
                    q, s = export.to_fp8(v)
                    dq[k] = (
                        q.float()
                        * s.repeat_interleave(128, 0)[: v.shape[0]].repeat_interleave(128, 1)[
                            :, : v.shape[1]
                        ]
                    )
                else:
                    dq[k] = v if any(s in k for s in export.F32) else v.bfloat16().float()
            load(m, dq)
        plain = pathlib.Path(tempfile.mkdtemp())
        export.write(m, plain, dtype="float32", eos=[1, 2])
        hf = AutoModelForCausalLM.from_pretrained(
            plain, dtype=torch.float32, attn_implementation="eager"
        ).eval()
        tensors, record, gap, topk, agree = {}, [], float("inf"), float("inf"), 0.0
        ps = C.prompts(cfg.vocab_size, lengths, seed)
        for i, p in enumerate(ps):
            full = i == len(ps) - 1
            with make_hf.TopkGaps() as near:
                o, log = make_hf.trace(hf, p, full)
            topk = min(topk, near.smallest)
            lg = o.logits[0]
            with torch.no_grad():
                agree = max(
                    agree,
                    float((m.logits(m.trunk(torch.tensor([p]), "sparse"))[0] - lg).abs().max()),
                )
            gap = min(gap, C.gap(lg, 1) / float(lg.abs().max()))
            seq = list(p)
            for _ in range(12):
                z = make_hf.trace(hf, seq, False)[0].logits[0, -1]
                gap = min(gap, C.gap(z, 1) / float(z.abs().max()))
                seq.append(int(z.argmax()))
            rec = dict(prompt=p, argmax=lg.argmax(-1).tolist(), greedy=seq[len(p) :])
            tensors[f"p{i}.logits"] = lg
            if len(p) > 1:
                forced, bonus, dl, toks = drafts(m, p)
                gap = min(gap, C.gap(dl, 1) / float(dl.abs().max()))
                tensors[f"p{i}.mtp.forced.logits"], tensors[f"p{i}.mtp.draft.logits"] = forced, dl
                rec.update(bonus=bonus, drafts=toks)
            if full:
                for l, h in enumerate(o.hidden_states):
                    tensors[f"p{i}.hidden.{l}"] = h[0]
                for l, r in log["router"].items():
                    ids, w = make_hf.choice(r)
                    ids, w = C.sort_choice(ids, w)
                    tensors[f"p{i}.router.{l}.ids"], tensors[f"p{i}.router.{l}.weights"] = (
                        ids.int(),
                        w,
                    )
                for l, s in log["index"].items():
                    tensors[f"p{i}.index.{l}"] = make_hf.causal_only(s[0])
            record.append(rec)
        assert agree < 2e-4, agree
        if (
            gap >= C.MIN_LOGIT_GAP
            and topk >= C.MIN_TOPK_GAP
            and C.steady(list(m.parameters()), lambda: outputs(m, record), outputs(m, record))
        ):
            break
    else:
        raise SystemExit("no steady seed")
    export.write(m, out, fp8=fp8, dtype="bfloat16", shard_mib=1, eos=[1, 2])
    C.write(
        out,
        dict(
            name=name,
            made_by=(
                f"transformers {transformers.__version__} (main), plain torch (MTP), fp32; trunks"
                f" agree to {agree:.1e}"
            ),
            seed=seed,
            cases=record,
            smallest_relative_logit_gap=gap,
            smallest_topk_gap=topk,
            exact_greedy=gap >= C.MIN_LOGIT_GAP,
        ),
        tensors,
    )
    print(name, "seed", seed, "gap", gap, "topk", topk, "agree", agree)


def load(m, named):
    """put published-name tensors back into a Nano (inverse of export.tensors)"""
    c, state = m.c, m.state_dict()
    for src, dst in [(f"layers.{i}.", f"model.layers.{i}.") for i in range(c.num_hidden_layers)] + [
        ("mtp.", f"model.layers.{c.num_hidden_layers}.")
    ]:
        for k in state:
            if not k.startswith(src):
                continue
            r = k[len(src) :]
            if r == "mlp.gate_up":
                state[k].copy_(
                    torch.stack(
                        [
                            torch.cat(
                                [
                                    named[f"{dst}mlp.experts.{e}.gate_proj.weight"],
                                    named[f"{dst}mlp.experts.{e}.up_proj.weight"],
                                ]
                            )
                            for e in range(c.n_routed_experts)
                        ]
                    )
                )
            elif r == "mlp.down":
                state[k].copy_(
                    torch.stack(
                        [
                            named[f"{dst}mlp.experts.{e}.down_proj.weight"]
                            for e in range(c.n_routed_experts)
                        ]
                    )
                )
            else:
                r = (
                    r.replace("mlp.shared.", "mlp.shared_experts.")
                    .replace("mlp.bias", "mlp.gate.e_score_correction_bias")
                    .replace("k_norm_", "k_norm.")
                )
                n = dst + r
                state[k].copy_(named[n] if n in named else named[n + ".weight"])
    for k, n in (
        ("embed_tokens", "model.embed_tokens"),
        ("lm_head", "lm_head"),
        ("norm", "model.norm"),
    ):
        state[k].copy_(named[n + ".weight"])
    last = f"model.layers.{c.num_hidden_layers}."
    for k, n in (
        ("enorm", "enorm"),
        ("hnorm", "hnorm"),
        ("eh_proj", "eh_proj"),
        ("shared_head_norm", "shared_head.norm"),
    ):
        state[k].copy_(named[f"{last}{n}.weight"])
    return m


if __name__ == "__main__":
    a = sys.argv[1:]
    shift = int(a[2]) if len(a) > 2 else 0
    make(a[0], "glm_mtp", BASE, False, shift, (2, 9, 40))
    make(a[0], "glm_fp8", FP8, True, shift, (2, 9, 33))
