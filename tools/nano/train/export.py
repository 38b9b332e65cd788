"""Write a trained (or seeded) Nano as a checkpoint in the published glm_moe_dsa layout.

    python3 export.py nano.pt out_dir --tokenizer dir_with_tokenizer.json [--fp8 | --dtype float32]
Layer num_hidden_layers holds the MTP head.  --fp8 stores the matrices as F8_E4M3 with fp32
weight_scale_inv per 128x128 block (the published FP8 form); norms, router, bias, indexer gate,
eh_proj, embedding and head stay BF16/F32.
"""

import argparse
import json
import pathlib
import shutil

import torch
from safetensors.torch import save_file

from model import Config, Nano


def tensors(model):
    """-> {published name: fp32 tensor}"""
    c, s, out = model.c, {k: v.detach().float() for k, v in model.state_dict().items()}, {}
    out["model.embed_tokens.weight"], out["lm_head.weight"], out["model.norm.weight"] = (
        s["embed_tokens"],
        s["lm_head"],
        s["norm"],
    )
    blocks = [(f"layers.{i}.", f"model.layers.{i}.") for i in range(c.num_hidden_layers)]
    last = f"model.layers.{c.num_hidden_layers}."
    for src, dst in blocks + [("mtp.", last)]:
        for k in ("input_layernorm", "post_attention_layernorm"):
            out[dst + k + ".weight"] = s[src + k]
        for k in (
            "q_a_proj",
            "q_a_layernorm",
            "q_b_proj",
            "kv_a_proj_with_mqa",
            "kv_a_layernorm",
            "kv_b_proj",
            "o_proj",
        ):
            out[f"{dst}self_attn.{k}.weight"] = s[f"{src}self_attn.{k}"]
        if src + "self_attn.indexer.wk" in s:
            for k in ("wq_b", "wk", "weights_proj"):
                out[f"{dst}self_attn.indexer.{k}.weight"] = s[f"{src}self_attn.indexer.{k}"]
            for k in ("weight", "bias"):
                out[f"{dst}self_attn.indexer.k_norm.{k}"] = s[f"{src}self_attn.indexer.k_norm_{k}"]
        if src + "mlp.gate" not in s:
            for k in ("gate_proj", "up_proj", "down_proj"):
                out[f"{dst}mlp.{k}.weight"] = s[f"{src}mlp.{k}"]
            continue
        out[dst + "mlp.gate.weight"], out[dst + "mlp.gate.e_score_correction_bias"] = (
            s[src + "mlp.gate"],
            s[src + "mlp.bias"],
        )
        for k in ("gate_proj", "up_proj", "down_proj"):
            out[f"{dst}mlp.shared_experts.{k}.weight"] = s[f"{src}mlp.shared.{k}"]
        for e in range(c.n_routed_experts):
            gate, up = s[src + "mlp.gate_up"][e].chunk(2)
            for k, v in (
                ("gate_proj", gate),
                ("up_proj", up),
                ("down_proj", s[src + "mlp.down"][e]),
            ):
                out[f"{dst}mlp.experts.{e}.{k}.weight"] = v
    for k, n in (
        ("enorm", "enorm"),
        ("hnorm", "hnorm"),
        ("eh_proj", "eh_proj"),
        ("shared_head_norm", "shared_head.norm"),
    ):
        out[f"{last}{n}.weight"] = s[k]
    return out


def config(c, dtype, fp8=False, eos=(1,), pad=1):
    j = dict(
        architectures=["GlmMoeDsaForCausalLM"],
        model_type="glm_moe_dsa",
        dtype=dtype,
        vocab_size=c.vocab_size,
        hidden_size=c.hidden_size,
        intermediate_size=c.intermediate_size,
        moe_intermediate_size=c.moe_intermediate_size,
        num_hidden_layers=c.num_hidden_layers,
        num_nextn_predict_layers=1,
        first_k_dense_replace=c.first_k_dense_replace,
        moe_layer_freq=1,
        mlp_layer_types=["dense"] * c.first_k_dense_replace
        + ["sparse"] * (c.num_hidden_layers - c.first_k_dense_replace),
        num_attention_heads=c.num_attention_heads,
        num_key_value_heads=c.num_attention_heads,
        q_lora_rank=c.q_lora_rank,
        kv_lora_rank=c.kv_lora_rank,
        qk_nope_head_dim=c.qk_nope_head_dim,
        qk_rope_head_dim=c.qk_rope_head_dim,
        qk_head_dim=c.qk_nope_head_dim + c.qk_rope_head_dim,
        v_head_dim=c.v_head_dim,
        n_routed_experts=c.n_routed_experts,
        num_experts_per_tok=c.num_experts_per_tok,
        n_shared_experts=c.n_shared_experts,
        n_group=1,
        topk_group=1,
        norm_topk_prob=True,
        routed_scaling_factor=c.routed_scaling_factor,
        scoring_func="sigmoid",
        topk_method="noaux_tc",
        rms_norm_eps=c.rms_norm_eps,
        hidden_act="silu",
        attention_bias=False,
        attention_dropout=0.0,
        tie_word_embeddings=False,
        rope_parameters=dict(rope_theta=c.rope_theta, rope_type="default"),
        rope_interleave=True,
        indexer_rope_interleave=True,
        max_position_embeddings=c.max_position_embeddings,
        index_topk=c.index_topk,
        index_n_heads=c.index_n_heads,
        index_head_dim=c.index_head_dim,
        indexer_types=list(c.indexer_types),
        eos_token_id=list(eos),
        pad_token_id=pad,
        initializer_range=0.02,
    )
    if fp8:
        j["quantization_config"] = dict(
            quant_method="fp8",
            fmt="e4m3",
            activation_scheme="dynamic",
            weight_block_size=[128, 128],
            modules_to_not_convert=["lm_head", "model.embed_tokens"],
        )
    return j


KEEP = (
    "embed_tokens",
    "lm_head",
    "norm",
    "mlp.gate.",
    "weights_proj",
    "eh_proj",
    "e_score_correction_bias",
)
F32 = ("e_score_correction_bias", "weight_scale_inv")


def to_fp8(w, block=128):
    """-> (F8_E4M3 weight, fp32 scale per block); weight = fp8 * scale; ragged edges allowed"""
    o, i = w.shape
    so, si = -(-o // block), -(-i // block)
    p = torch.nn.functional.pad(w, (0, si * block - i, 0, so * block - o)).view(
        so, block, si, block
    )
    scale = p.abs().amax((1, 3)).clamp_min(1e-12) / 448.0
    q = (p / scale[:, None, :, None]).view(so * block, si * block)[:o, :i].to(torch.float8_e4m3fn)
    return q, scale


def store(t, fp8, dtype):
    out = {}
    for k, v in t.items():
        if fp8 and v.ndim == 2 and not any(s in k for s in KEEP):
            out[k], out[k.replace(".weight", ".weight_scale_inv")] = to_fp8(v)
        else:
            out[k] = (
                v.float()
                if any(s in k for s in F32) or dtype == "float32"
                else v.to(getattr(torch, dtype))
            )
    return {k: v.contiguous() for k, v in out.items()}


def write(model, out, fp8=False, dtype="bfloat16", shard_mib=24, **cfg):
    """shards in name order with an index, as published checkpoints have"""
    out = pathlib.Path(out)
    out.mkdir(parents=True, exist_ok=True)
    t = store(tensors(model), fp8, dtype)
    shards, size = [{}], 0
    for k, v in t.items():
        n = v.numel() * v.element_size()
        if size + n > shard_mib << 20 and shards[-1]:
            shards.append({})
            size = 0
        shards[-1][k] = v
        size += n
    index = {}
    for i, s in enumerate(shards, 1):
        name = (
            f"model-{i:05d}-of-{len(shards):05d}.safetensors"
            if len(shards) > 1
            else "model.safetensors"
        )
        save_file(s, str(out / name), metadata={"format": "pt"})
        index.update({k: name for k in s})
    if len(shards) > 1:
        total = sum(v.numel() * v.element_size() for v in t.values())
        (out / "model.safetensors.index.json").write_text(
            json.dumps(dict(metadata=dict(total_size=total), weight_map=index), indent=0) + "\n"
        )
    (out / "config.json").write_text(
        json.dumps(config(model.c, dtype, fp8, **cfg), indent=1) + "\n"
    )


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("checkpoint"), ap.add_argument("out")
    ap.add_argument("--tokenizer"), ap.add_argument("--fp8", action="store_true"), ap.add_argument(
        "--dtype", default="bfloat16"
    )
    a = ap.parse_args()
    model = Nano(Config())
    model.load_state_dict(torch.load(a.checkpoint, map_location="cpu")["model"])
    import tokenizer as T

    ids = {t: T.BASE + i for i, t in enumerate(T.ADDED)}
    write(
        model,
        a.out,
        a.fp8,
        a.dtype,
        eos=[ids["<|endoftext|>"], ids["<|user|>"], ids["<|observation|>"]],
        pad=ids["<|endoftext|>"],
    )
    out, here = pathlib.Path(a.out), pathlib.Path(__file__).parent
    shutil.copy(pathlib.Path(a.tokenizer) / "tokenizer.json", out)
    shutil.copy(here / "chat_template.jinja", out)
    (out / "generation_config.json").write_text(
        json.dumps(
            dict(
                do_sample=True,
                temperature=0.7,
                top_p=0.95,
                eos_token_id=[ids["<|endoftext|>"], ids["<|user|>"], ids["<|observation|>"]],
                pad_token_id=ids["<|endoftext|>"],
            ),
            indent=1,
        )
        + "\n"
    )
    (out / "tokenizer_config.json").write_text(
        json.dumps(
            dict(
                tokenizer_class="PreTrainedTokenizerFast",
                eos_token="<|endoftext|>",
                pad_token="<|endoftext|>",
                model_max_length=2048,
                clean_up_tokenization_spaces=False,
            ),
            indent=1,
        )
        + "\n"
    )


if __name__ == "__main__":
    main()
