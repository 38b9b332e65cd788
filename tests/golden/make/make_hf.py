"""Fixtures computed by Hugging Face transformers.

    python3 make_hf.py OUT_DIR [NAME...] [--seed-shift N]

Needs torch and transformers (the version used is recorded in each oracle.json).
"""

import json
import pathlib
import sys

import torch
import transformers
from transformers import AutoConfig, AutoModelForCausalLM

import common as C

GLM = dict(
    model_type="glm_moe_dsa",
    vocab_size=160,
    hidden_size=64,
    intermediate_size=96,
    moe_intermediate_size=32,
    num_attention_heads=4,
    num_key_value_heads=4,
    n_routed_experts=16,
    num_experts_per_tok=4,
    kv_lora_rank=32,
    q_lora_rank=48,
    qk_rope_head_dim=8,
    v_head_dim=24,
    qk_nope_head_dim=16,
    index_head_dim=16,
    index_n_heads=4,
    rms_norm_eps=1e-5,
    routed_scaling_factor=2.5,
    rope_parameters=dict(rope_type="default", rope_theta=8e6),
    eos_token_id=[1, 2],
    bos_token_id=None,
    pad_token_id=1,
    max_position_embeddings=4096,
    n_group=1,
    topk_group=1,
)
CONFIGS = {
    # every layer owns its indexer, context shorter than index_topk: the sparse path must equal
    # dense attention
    "glm_short": (
        dict(GLM, num_hidden_layers=4, first_k_dense_replace=1, index_topk=2048),
        (1, 12, 33),
    ),
    # sparse selection bites from position 6 on; layers 3,4 reuse the selection of layer 2
    "glm_sparse": (
        dict(
            GLM,
            num_hidden_layers=6,
            first_k_dense_replace=2,
            index_topk=6,
            indexer_types=["full", "full", "full", "shared", "shared", "full"],
        ),
        (1, 7, 48),
    ),
    # schedule derived from freq/offset, grouped router, no renormalisation, sizes that fill no
    # vector register
    "glm_odd": (
        dict(
            GLM,
            hidden_size=72,
            intermediate_size=56,
            moe_intermediate_size=24,
            num_attention_heads=3,
            num_key_value_heads=3,
            kv_lora_rank=20,
            q_lora_rank=28,
            qk_rope_head_dim=4,
            v_head_dim=12,
            qk_nope_head_dim=20,
            index_head_dim=12,
            index_n_heads=3,
            n_routed_experts=12,
            num_experts_per_tok=3,
            n_group=3,
            topk_group=2,
            norm_topk_prob=False,
            routed_scaling_factor=1.3,
            num_hidden_layers=7,
            first_k_dense_replace=3,
            index_topk=9,
            index_topk_freq=4,
            index_skip_topk_offset=3,
            n_shared_experts=2,
            vocab_size=131,
        ),
        (1, 10, 40),
    ),
    "olmoe": (
        dict(
            model_type="olmoe",
            vocab_size=160,
            hidden_size=64,
            intermediate_size=32,
            num_hidden_layers=3,
            num_attention_heads=4,
            num_key_value_heads=4,
            num_experts=16,
            num_experts_per_tok=4,
            norm_topk_prob=False,
            rms_norm_eps=1e-5,
            eos_token_id=1,
            pad_token_id=1,
            max_position_embeddings=4096,
            rope_parameters=dict(rope_type="default", rope_theta=10000.0),
        ),
        (1, 12, 40),
    ),
    "olmoe_clip": (
        dict(
            model_type="olmoe",
            vocab_size=131,
            hidden_size=72,
            intermediate_size=40,
            num_hidden_layers=2,
            num_attention_heads=6,
            num_key_value_heads=2,
            num_experts=10,
            num_experts_per_tok=3,
            norm_topk_prob=True,
            clip_qkv=1.5,
            rms_norm_eps=1e-5,
            eos_token_id=1,
            pad_token_id=1,
            max_position_embeddings=4096,
            tie_word_embeddings=True,
            rope_parameters=dict(rope_type="default", rope_theta=10000.0),
        ),
        (1, 9, 33),
    ),
}


def attach(model, log):
    """record routing and selection of each layer during one forward"""
    hooks = []
    for name, mod in model.named_modules():
        kind = type(mod).__name__
        parts = name.split(".")
        at = parts.index("layers") + 1 if "layers" in parts else len(parts)
        layer = int(parts[at]) if at < len(parts) else None
        if layer is None:
            continue
        if kind.endswith(("Router", "TopkRouter", "TopKRouter", "HashRouter")):
            hooks.append(
                mod.register_forward_hook(lambda m, a, o, l=layer: log["router"].__setitem__(l, o))
            )
        elif kind.endswith("Indexer"):
            hooks.append(
                mod.register_forward_hook(lambda m, a, o, l=layer: log["index"].__setitem__(l, o))
            )
    return hooks


class TopkGaps:
    """Smallest distance between the last chosen and the first rejected value.

    Of every top-k (router, indexer) inside `with`.
    """

    def __enter__(self):
        self.smallest, self.real = float("inf"), torch.Tensor.topk

        def watched(x, k, *a, **kw):
            if x.is_floating_point() and x.shape[-1] > k:
                v = self.real(x.detach().float(), k + 1)[0]
                d = v[..., k - 1] - v[..., k]
                exact = (v[..., k - 1] == 0) & (v[..., k] == 0)  # a true tie, decided by position
                d = d[torch.isfinite(d) & (v[..., k] > -1e30) & ~exact]
                if d.numel():
                    self.smallest = min(self.smallest, float(d.min()))
            return self.real(x, k, *a, **kw)

        torch.Tensor.topk = torch.topk = watched
        return self

    def __exit__(self, *a):
        torch.Tensor.topk = torch.topk = self.real


def trace(model, ids, full):
    log = dict(router={}, index={})
    hooks = attach(model, log) if full else []
    with torch.no_grad():
        out = model(torch.tensor([ids]), use_cache=False, output_hidden_states=full)
    for h in hooks:
        h.remove()
    return out, log


def choice(o):
    """(ids, weights) out of a router's output tuple, whatever its order"""
    ids = next(t for t in o if not t.is_floating_point())
    k = ids.shape[-1]
    cands = [t for t in o if t.is_floating_point()]
    w = next((t for t in cands if t.shape[-1] == k and t is not cands[0]), None)
    if w is None:
        w = next(t for t in cands if t.shape[-1] == k)
    return ids, w


def make(name, out_dir, shift=0):
    cfg, lengths = CONFIGS[name]
    for seed in range(1000 + shift, 1200 + shift):
        c = AutoConfig.for_model(
            cfg["model_type"], **{k: v for k, v in cfg.items() if k != "model_type"}
        )
        c._attn_implementation = "eager"
        model = C.seed_weights(AutoModelForCausalLM.from_config(c).float().eval(), seed)
        vocab = c.vocab_size
        tensors, record, gaps = {}, [], dict(logit=float("inf"))
        ps = C.prompts(vocab, lengths, seed)
        for i, p in enumerate(ps):
            full = i == len(ps) - 1
            with TopkGaps() as near:
                out, log = trace(model, p, full)
            gaps["topk"] = min(gaps.get("topk", float("inf")), near.smallest)
            lg = out.logits[0]
            gaps["logit"] = min(gaps["logit"], C.gap(lg, 1) / float(lg.abs().max()))
            tensors[f"p{i}.logits"] = lg
            seq = list(p)
            for _ in range(12):
                o = trace(model, seq, False)[0].logits[0, -1]
                gaps["logit"] = min(gaps["logit"], C.gap(o, 1) / float(o.abs().max()))
                seq.append(int(o.argmax()))
            record.append(dict(prompt=p, argmax=lg.argmax(-1).tolist(), greedy=seq[len(p) :]))
            if full:
                for l, h in enumerate(out.hidden_states):
                    tensors[f"p{i}.hidden.{l}"] = h[0]
                for l, o in log["router"].items():
                    ids, w = choice(o)
                    k = ids.shape[-1]
                    ids, w = C.sort_choice(ids.view(-1, k), w.view(-1, k))
                    tensors[f"p{i}.router.{l}.ids"], tensors[f"p{i}.router.{l}.weights"] = (
                        ids.int(),
                        w,
                    )
                for l, o in log["index"].items():
                    o = o[0] if isinstance(o, tuple) else o
                    if o.ndim == 3 and not o.is_floating_point():
                        tensors[f"p{i}.index.{l}"] = causal_only(o[0])
        full_run = lambda: [
            trace(model, r["prompt"] + r["greedy"], False)[0].logits[0] for r in record[1:]
        ]
        if (
            gaps["logit"] < C.MIN_LOGIT_GAP
            or gaps["topk"] < C.MIN_TOPK_GAP
            or not C.steady(
                [p for p in model.parameters() if p.is_floating_point()], full_run, full_run()
            )
        ):
            continue
        out = pathlib.Path(out_dir) / name
        model.save_pretrained(out)
        (out / "generation_config.json").unlink(missing_ok=True)
        if name != "glm_short":  # one fixture stays F32
            C.shrink(out)
        if name.startswith("glm_odd"):  # leave the schedules to be derived
            j = json.loads((out / "config.json").read_text())
            for k in ("indexer_types", "mlp_layer_types", "layer_types"):
                j.pop(k, None)
            (out / "config.json").write_text(json.dumps(j, indent=2) + "\n")
        C.write(
            out,
            dict(
                name=name,
                made_by=(
                    f"transformers {transformers.__version__}, torch {torch.__version__}, fp32,"
                    " eager attention, no cache"
                ),
                seed=seed,
                cases=record,
                smallest_relative_logit_gap=gaps["logit"],
                smallest_topk_gap=gaps["topk"],
                exact_greedy=gaps["logit"] >= C.MIN_LOGIT_GAP,
            ),
            tensors,
        )
        print(
            name,
            "seed",
            seed,
            "steady, gap",
            gaps["logit"],
            "topk",
            gaps["topk"],
            "size",
            sum(f.stat().st_size for f in out.iterdir()),
            "max",
            float(lg.abs().max()),
        )
        return
    raise SystemExit(f"no steady seed for {name}")


def causal_only(sel):
    """[T,k] chosen positions; sorted, padded with -1.

    Entries after the query were chosen for want of others and are dropped.
    """
    t, k = sel.shape
    out = torch.full((t, k), -1, dtype=torch.int32)
    for i in range(t):
        s = sorted(x for x in sel[i].tolist() if 0 <= x <= i)
        out[i, : len(s)] = torch.tensor(s, dtype=torch.int32)
    return out


if __name__ == "__main__":
    a = sys.argv[1:]
    shift = 0
    if "--seed-shift" in a:
        at = a.index("--seed-shift")
        shift = int(a[at + 1])
        del a[at : at + 2]
    for n in a[1:] or CONFIGS:
        make(n, a[0], shift)
