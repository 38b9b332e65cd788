"""Fixtures in the containers of the original engine.

GLM int4 per row, int4 per group of 64 and int2 per row with int8 dense, out-mtp-* and out-idx-*
files; OLMoE merged int8.  The reference uses exactly the decoded values.

    python3 make_containers.py OUT_DIR [--seed-shift N]
"""

import json
import pathlib
import sys
import tempfile

import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

import common as C
import make_glm_mtp as G
import make_hf
from model import Config  # noqa: E402  (path set by make_glm_mtp)

# Inputs of every matrix are multiples of 64, as published ones are: the original loader finds the
# group size by probing 16, 32, 48, 64, ...
CONT = Config(
    vocab_size=160,
    hidden_size=192,
    intermediate_size=256,
    moe_intermediate_size=128,
    num_hidden_layers=4,
    first_k_dense_replace=1,
    num_attention_heads=4,
    q_lora_rank=64,
    kv_lora_rank=64,
    qk_nope_head_dim=24,
    qk_rope_head_dim=8,
    v_head_dim=32,
    n_routed_experts=8,
    num_experts_per_tok=2,
    n_shared_experts=1,
    rope_theta=8e6,
    index_topk=12,
    index_n_heads=4,
    index_head_dim=16,
    indexer_types=("full", "full", "full", "shared"),
)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools" / "nano" / "train"))
import export  # noqa: E402


def quantise(w, bits, group=0):
    """symmetric absmax, round half to even -> (stored bytes, scales, decoded)"""
    o, i = w.shape
    qmax = {8: 127, 4: 7, 2: 1}[bits]
    g = group or i
    n = -(-i // g)
    p = torch.nn.functional.pad(w, (0, n * g - i)).view(o, n, g)
    s = (p.abs().amax(-1) / qmax).clamp_min(1e-8)
    q = torch.round(p / s[..., None]).clamp(-qmax - 1, qmax)
    deq = (q * s[..., None]).view(o, n * g)[:, :i].contiguous()
    q = q.view(o, n * g)[:, :i].to(torch.int16)
    if bits == 8:
        data = q.to(torch.int8)
    else:
        per = 8 // bits
        u = torch.nn.functional.pad((q + qmax + 1).to(torch.uint8), (0, -i % per))
        u = u.view(o, -1, per)
        data = sum(u[..., k] << (bits * k) for k in range(per)).to(torch.uint8)
    return data.contiguous(), (s if group else s.view(o)).contiguous(), deq


def glm(out_dir, name, group, ebits, shift, lengths=(2, 9, 33)):
    """As the original converter writes.

    Files numbered from 00000; quantised weights 1-D U8 with 1-D F32 `.qs`; embedding and head int8
    rows; every other matrix in `ebits`; norms, router, bias F32; the MTP pass int8 and without the
    layer's indexer; the indexer pass int8,
    main layers only, weights_proj included."""
    out = pathlib.Path(out_dir) / name
    cfg = CONT
    last = f"model.layers.{cfg.num_hidden_layers}."
    for seed in range(5000 + shift, 5200 + shift):
        m = G.seeded(cfg, seed)
        m.mtp.self_attn.indexer = None
        files, dq = {"out-00000": {}, "out-00001": {}, "out-mtp-00000": {}, "out-idx-00000": {}}, {}
        for k, v in export.tensors(m).items():
            mtp, idx = k.startswith(last), "indexer" in k
            dst = files[
                (
                    "out-mtp-00000"
                    if mtp
                    else "out-idx-00000" if idx else "out-00000" if ".2." not in k else "out-00001"
                )
            ]
            if v.ndim == 1 or "mlp.gate.weight" in k:
                dst[k], dq[k] = v, v
                continue
            bits = 8 if mtp or idx or "embed_tokens" in k or "lm_head" in k else ebits
            q, s, dq[k] = quantise(v, bits, group if bits == 4 else 0)
            dst[k], dst[k + ".qs"] = q.view(torch.uint8).flatten(), s.flatten()
        G.load(m, dq)
        plain = pathlib.Path(tempfile.mkdtemp())
        export.write(m, plain, dtype="float32", eos=[1, 2])
        hf = AutoModelForCausalLM.from_pretrained(
            plain, dtype=torch.float32, attn_implementation="eager"
        ).eval()
        tensors, record, gap, topk = {}, [], float("inf"), float("inf")
        for i, p in enumerate(C.prompts(cfg.vocab_size, lengths, seed)):
            with make_hf.TopkGaps() as near:
                lg = make_hf.trace(hf, p, False)[0].logits[0]
            topk = min(topk, near.smallest)
            gap = min(gap, C.gap(lg, 1) / float(lg.abs().max()))
            seq = list(p)
            for _ in range(12):
                z = make_hf.trace(hf, seq, False)[0].logits[0, -1]
                gap = min(gap, C.gap(z, 1) / float(z.abs().max()))
                seq.append(int(z.argmax()))
            forced, bonus, dl, toks = G.drafts(m, p)
            gap = min(gap, C.gap(dl, 1) / float(dl.abs().max()))
            tensors.update(
                {
                    f"p{i}.logits": lg,
                    f"p{i}.mtp.forced.logits": forced,
                    f"p{i}.mtp.draft.logits": dl,
                }
            )
            record.append(
                dict(
                    prompt=p,
                    argmax=lg.argmax(-1).tolist(),
                    greedy=seq[len(p) :],
                    bonus=bonus,
                    drafts=toks,
                )
            )
        if (
            gap >= C.MIN_LOGIT_GAP
            and topk >= C.MIN_TOPK_GAP
            and C.steady(list(m.parameters()), lambda: G.outputs(m, record), G.outputs(m, record))
        ):
            break
    else:
        raise SystemExit("no steady seed")
    out.mkdir(parents=True, exist_ok=True)
    for f, t in files.items():
        save_file({k: v.contiguous() for k, v in t.items()}, str(out / (f + ".safetensors")))
    (out / "config.json").write_text(
        json.dumps(export.config(cfg, "bfloat16", eos=[1, 2]), indent=1) + "\n"
    )
    C.write(
        out,
        dict(
            name=name,
            made_by=(
                f"transformers {transformers.__version__} on decoded values, fp32; MTP plain torch"
            ),
            seed=seed,
            cases=record,
            smallest_relative_logit_gap=gap,
            smallest_topk_gap=topk,
            exact_greedy=gap >= C.MIN_LOGIT_GAP,
        ),
        tensors,
    )
    print(name, "seed", seed, "gap", gap, "topk", topk)


def olmoe(out_dir, src_dir, name="olmoe_out_int8"):
    src, out = pathlib.Path(src_dir) / "olmoe", pathlib.Path(out_dir) / name
    t, packed = load_file(str(src / "model.safetensors")), {}
    cfg = json.loads((src / "config.json").read_text())
    dq = dict(t)
    for l in range(cfg["num_hidden_layers"]):
        for e in range(cfg["num_experts"]):
            d, s = [], []
            for k in ("gate_proj", "up_proj", "down_proj"):
                n = f"model.layers.{l}.mlp.experts.{e}.{k}.weight"
                a, b, dq[n] = quantise(t[n].float(), 8)
                d.append(a.flatten())
                s.append(b)
                del t[n]
            (
                packed[f"model.layers.{l}.mlp.experts.{e}.merged_weight"],
                packed[f"model.layers.{l}.mlp.experts.{e}.qs"],
            ) = torch.cat(d).view(torch.int8), torch.cat(s)
    out.mkdir(parents=True, exist_ok=True)
    save_file({**t, **packed}, str(out / "model-00001.safetensors"))
    (out / "config.json").write_text((src / "config.json").read_text())
    plain = pathlib.Path(tempfile.mkdtemp())
    plain.mkdir(exist_ok=True)
    save_file(dq, str(plain / "model.safetensors"), metadata={"format": "pt"})
    (plain / "config.json").write_text((src / "config.json").read_text())
    hf = AutoModelForCausalLM.from_pretrained(
        plain, dtype=torch.float32, attn_implementation="eager"
    ).eval()
    tensors, record, gap = {}, [], float("inf")
    for i, p in enumerate(C.prompts(cfg["vocab_size"], (1, 12, 40), 5555)):
        lg = make_hf.trace(hf, p, False)[0].logits[0]
        gap = min(gap, C.gap(lg, 1) / float(lg.abs().max()))
        tensors[f"p{i}.logits"] = lg
        record.append(dict(prompt=p, argmax=lg.argmax(-1).tolist()))
    C.write(
        out,
        dict(
            name=name,
            made_by=f"transformers {transformers.__version__} on decoded values, fp32",
            cases=record,
            smallest_relative_logit_gap=gap,
            exact_greedy=gap >= C.MIN_LOGIT_GAP,
        ),
        tensors,
    )
    print(name, "gap", gap)


if __name__ == "__main__":
    a = sys.argv[1:]
    shift = int(a[2]) if len(a) > 2 else 0
    glm(a[0], "glm_out_int4row", 0, 4, shift)
    glm(a[0], "glm_out_int4g64", 64, 4, shift)
    glm(a[0], "glm_out_int2row", 0, 2, shift)
    olmoe(a[0], a[0])
