"""Shared part of the makers: seeded weights, full traces, rejection of close calls, files.

A fixture is a directory:

config.json, model*.safetensors
    A tiny checkpoint in the layout that the family publishes (BF16 unless stated; the values are
    exactly those used).
oracle.json
    How it was made. Per prompt: prompt, argmax of every position, 12 greedy tokens (generation does
    not stop at EOS), and with an MTP head `bonus` (argmax after the prompt) and `drafts` (3).
    The smallest decision gaps.
oracle.safetensors, F32 and I32
    For every prompt p of T tokens: p{p}.logits [T,V].
    With an MTP head: p{p}.mtp.forced.logits [T-1,V], row t from (h_t, x_{t+1}) at position t, and
    p{p}.mtp.draft.logits [3,V], step j at position T-1+j, on the cache left by the forced rows, the
    indexer (if any) run anew at every step.
    For the last prompt also:
    p{p}.hidden.{l} [T,D]: input of layer l (0 = embedding); the last one, l = number of layers, is
    AFTER the final norm.
    p{p}.router.{l}.ids [T,K] ascending, and .weights [T,K] in the same order.
    p{p}.index.{l} [T,min(index_topk,T)]: selected positions ascending, -1 = none.
    Containers store no hidden, router or index tensors.

Everything is computed in fp32 on a CPU by Hugging Face transformers (or, where it has no such
model, by the plain torch code of tools/nano/train), never by the engine under test.
"""

import json
import pathlib

import torch

MIN_LOGIT_GAP = (
    2e-3  # relative to max |logit|: a fixture with a closer call is rejected and re-seeded
)
MIN_TOPK_GAP = 1e-5  # absolute, of router and indexer scores
torch.set_num_threads(1)


def stable_topk(x, k, dim=-1, largest=True, sorted=True, real=torch.Tensor.topk):
    """Ties go to the lower index (torch leaves them open).

    Scores of the indexer tie exactly at 0 where all heads are clipped.
    """
    if not largest or not x.is_floating_point():
        return real(x, k, dim, largest, sorted)
    v, i = x.sort(dim=dim, descending=True, stable=True)
    return torch.return_types.topk(
        (v.narrow(dim, 0, k).contiguous(), i.narrow(dim, 0, k).contiguous())
    )


torch.Tensor.topk = torch.topk = stable_topk


def seed_weights(model, seed, gain=1.0, logit_gain=2.0):
    """Linear weights N(0, gain/sqrt(fan_in)), norms near 1, small biases.

    Activations stay O(1), routing is diverse.
    """
    g = torch.Generator().manual_seed(seed)
    n = lambda shape: torch.randn(shape, generator=g)
    with torch.no_grad():
        for name, p in list(model.named_parameters()) + [
            (k, b) for k, b in model.named_buffers() if "bias" in k
        ]:
            if "tid2eid" in name or not p.is_floating_point():
                continue
            tied = getattr(model.config, "tie_word_embeddings", False)
            if p.ndim == 1:
                if ("norm" in name and "bias" not in name) or "scale" in name:
                    p.copy_(1 + 0.1 * n(p.shape))
                else:
                    p.copy_(0.1 * n(p.shape))
            elif "embed" in name:
                p.copy_(
                    n(p.shape) * (0.1 if tied else 1.0)
                )  # tied: else every argmax is the input token
            else:
                fan = p.shape[-1]
                p.copy_(
                    n(p.shape)
                    * gain
                    * fan**-0.5
                    * (logit_gain if name.startswith("lm_head") else 1.0)
                )
            if store_dtype(name) == torch.bfloat16:
                p.copy_(p.bfloat16().float())
    return model


def store_dtype(name):
    """published checkpoints keep selection biases, scales and a few gates in F32"""
    return (
        torch.float32
        if any(
            k in name
            for k in (
                "e_score_correction_bias",
                "hc_",
                "attn_sink",
                "sinks",
                "gate.bias",
                "ape",
                "global_scale",
            )
        )
        else torch.bfloat16
    )


def shrink(folder):
    """rewrite model.safetensors with the stored dtypes (the values are already exact)"""
    from safetensors.torch import load_file, save_file

    f = str(pathlib.Path(folder) / "model.safetensors")
    t = load_file(f)
    out = {}
    for k, v in t.items():
        b = v.bfloat16() if v.dtype == torch.float32 else v
        out[k] = (
            b
            if v.dtype == torch.float32
            and torch.equal(b.float(), v)
            and store_dtype(k) == torch.bfloat16
            else v
        )
    save_file({k: v.contiguous() for k, v in out.items()}, f, metadata={"format": "pt"})


def steady(params, run, want, tries=5, noise=3e-6, limit=2e-3):
    """True if tiny relative noise on all weights moves no output by more than `limit`.

    A flipped choice moves it by 1e-2 and more, so there is no hidden coin toss in routing,
    selection or argmax.
    params: tensors changed in place (and restored);
    run() -> list of tensors to compare with `want`.
    """
    keep = [p.clone() for p in params]
    ok = True
    with torch.no_grad():
        for i in range(tries):
            g = torch.Generator().manual_seed(99 + i)
            for p in params:
                p.mul_(1 + noise * torch.randn(p.shape, generator=g))
            for a, b in zip(run(), want):
                ok = ok and float((a - b).abs().max() / b.abs().max()) < limit
            for p, k in zip(params, keep):
                p.copy_(k)
            if not ok:
                break
    return ok


def gap(v, k):
    """distance between the k-th and the next largest value of the last dimension"""
    if v.shape[-1] <= k:
        return float("inf")
    s = v.sort(-1, descending=True)[0]
    return float((s[..., k - 1] - s[..., k]).min())


def prompts(vocab, lengths, seed, banned=()):
    g = torch.Generator().manual_seed(seed)
    ok = torch.tensor([i for i in range(vocab) if i not in banned])
    return [ok[torch.randint(0, len(ok), (n,), generator=g)].tolist() for n in lengths]


def sort_choice(ids, weights):
    order = ids.argsort(-1)
    return ids.gather(-1, order), weights.gather(-1, order)


def write(out, oracle, tensors):
    from safetensors.torch import save_file

    out = pathlib.Path(out)
    save_file({k: v.contiguous() for k, v in tensors.items()}, str(out / "oracle.safetensors"))
    (out / "oracle.json").write_text(json.dumps(oracle, indent=1) + "\n")
