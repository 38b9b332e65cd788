"""hummingbird-nano in plain torch: the glm_moe_dsa architecture, written for fast CPU training.

Names of parameters follow the checkpoint (experts are stacked; export.py splits them).
Shapes: B sequences, T tokens, D hidden, E experts, K experts per token.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn


@dataclass
class Config:
    vocab_size: int = 4096
    hidden_size: int = 256
    intermediate_size: int = 640
    moe_intermediate_size: int = 64
    num_hidden_layers: int = 8
    first_k_dense_replace: int = 1
    num_attention_heads: int = 8
    q_lora_rank: int = 128
    kv_lora_rank: int = 64
    qk_nope_head_dim: int = 32
    qk_rope_head_dim: int = 16
    v_head_dim: int = 32
    n_routed_experts: int = 128
    num_experts_per_tok: int = 8
    n_shared_experts: int = 1
    routed_scaling_factor: float = 2.5
    rms_norm_eps: float = 1e-5
    rope_theta: float = 100000.0
    index_topk: int = 256
    index_n_heads: int = 4
    index_head_dim: int = 32
    indexer_types: tuple = ("full", "full", "full", "shared", "shared", "shared", "full", "shared")
    max_position_embeddings: int = 2048


def rms(x, w, eps):
    return F.rms_norm(x, (x.shape[-1],), w, eps)


def rope_tables(n, dim, theta, dtype):
    ang = torch.arange(n, dtype=torch.float64)[:, None] * theta ** (
        -torch.arange(0, dim, 2, dtype=torch.float64) / dim
    )
    return ang.cos().to(dtype), ang.sin().to(dtype)


def rotate(x, cos, sin):
    """Adjacent pairs; x [..., T, dim]; tables [T, dim/2].

    Output order is [even | odd], the same for q and k.
    """
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


amx = None  # the compiled experts_amx module, set by train.py where the CPU has AMX


class ExpertFfn(torch.autograd.Function):
    """y[t] = sum_k w[t,k] * down_e(silu(gate_e x_t) * up_e x_t), e = pick[t,k].

    x is bf16, the rest fp32 (AMX).
    """

    @staticmethod
    def forward(ctx, x, w, gate_up, down, pick):
        e, (n, k) = gate_up.shape[0], pick.shape
        flat = pick.reshape(-1)
        order = torch.argsort(flat, stable=True)
        rows = order // k
        start = F.pad(torch.bincount(flat, minlength=e).cumsum(0), (1, 0))
        slot = torch.empty_like(order)
        slot[order] = torch.arange(n * k)
        gate_up, down = gate_up.bfloat16(), down.bfloat16()
        y, h = amx.forward(x, gate_up, down, rows, start)
        ctx.save_for_backward(x, h, w, gate_up, down, rows, start, order, slot)
        return amx.combine(y, slot.view(n, k), w)

    @staticmethod
    def backward(ctx, gy):
        x, h, w, gate_up, down, rows, start, order, slot = ctx.saved_tensors
        gx, gw, ggu, gdn = amx.backward(
            x, gy.contiguous(), h, w.view(-1)[order], gate_up, down, rows, start
        )
        gx = amx.combine(gx, slot.view_as(w), torch.ones_like(w))
        return gx, gw[slot].view_as(w), ggu, gdn, None


def experts_plain(x, w, gate_up, down, pick):
    """the plain twin of ExpertFfn, any dtype"""
    out = torch.zeros_like(x)
    for e in pick.unique().tolist():
        t, k = torch.where(pick == e)
        g, u = F.linear(x[t], gate_up[e]).chunk(2, -1)
        out.index_add_(0, t, F.linear(F.silu(g) * u, down[e]) * w[t, k, None].to(x.dtype))
    return out


class Moe(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c = c
        e, d, i = c.n_routed_experts, c.hidden_size, c.moe_intermediate_size
        self.gate = nn.Parameter(torch.randn(e, d) * 0.02)
        self.register_buffer("bias", torch.zeros(e))
        self.gate_up = nn.Parameter(torch.randn(e, 2 * i, d) * d**-0.5)
        self.down = nn.Parameter(torch.randn(e, d, i) * 0.25 * i**-0.5)
        self.shared = Mlp(c, i * c.n_shared_experts)
        self.load = None

    def forward(self, x):
        c, n = self.c, x.shape[0]
        e, k = c.n_routed_experts, c.num_experts_per_tok
        s = torch.sigmoid(F.linear(x.float(), self.gate.float()))
        with torch.no_grad():
            pick = (s + self.bias).topk(k, -1, sorted=False)[1]
            self.load = torch.bincount(pick.view(-1), minlength=e)
        # Switch-style balance term, 1 when even; the selection bias alone lost the race against
        # the router early on
        self.balance = e * ((self.load / (n * k)) * (s / s.sum(-1, keepdim=True)).mean(0)).sum()
        w = s.gather(1, pick)
        w = (w / (w.sum(-1, keepdim=True) + 1e-20) * c.routed_scaling_factor).contiguous()
        fast = amx is not None and x.dtype == torch.bfloat16
        if fast:
            y = ExpertFfn.apply(x, w, self.gate_up, self.down, pick)
        else:
            y = experts_plain(x, w, self.gate_up.to(x.dtype), self.down.to(x.dtype), pick)
        return y + self.shared(x), s


class Mlp(nn.Module):
    def __init__(self, c, width):
        super().__init__()
        d = c.hidden_size
        self.gate_proj = nn.Parameter(torch.randn(width, d) * d**-0.5)
        self.up_proj = nn.Parameter(torch.randn(width, d) * d**-0.5)
        self.down_proj = nn.Parameter(torch.randn(d, width) * 0.25 * width**-0.5)

    def forward(self, x):
        t = x.dtype
        return F.linear(
            F.silu(F.linear(x, self.gate_proj.to(t))) * F.linear(x, self.up_proj.to(t)),
            self.down_proj.to(t),
        )


class Indexer(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c = c
        self.wq_b = nn.Parameter(
            torch.randn(c.index_n_heads * c.index_head_dim, c.q_lora_rank) * c.q_lora_rank**-0.5
        )
        self.wk = nn.Parameter(torch.randn(c.index_head_dim, c.hidden_size) * c.hidden_size**-0.5)
        self.k_norm_weight = nn.Parameter(torch.ones(c.index_head_dim))
        self.k_norm_bias = nn.Parameter(torch.zeros(c.index_head_dim))
        self.weights_proj = nn.Parameter(
            torch.randn(c.index_n_heads, c.hidden_size) * c.hidden_size**-0.5
        )

    def forward(self, h, q_latent, cos, sin):
        """-> scores [B, T, T] in fp32, causal mask not applied"""
        c, (b, t, _) = self.c, h.shape
        r = c.qk_rope_head_dim
        q = (
            F.linear(q_latent.float(), self.wq_b.float())
            .view(b, t, c.index_n_heads, c.index_head_dim)
            .transpose(1, 2)
        )
        k = F.layer_norm(
            F.linear(h.float(), self.wk.float()),
            (c.index_head_dim,),
            self.k_norm_weight.float(),
            self.k_norm_bias.float(),
            1e-6,
        )
        cos, sin = cos.float(), sin.float()
        q = torch.cat([rotate(q[..., :r], cos, sin), q[..., r:]], -1)
        k = torch.cat([rotate(k[..., :r], cos, sin), k[..., r:]], -1)
        dot = F.relu(q @ k.transpose(-1, -2).unsqueeze(1)) * c.index_head_dim**-0.5
        w = F.linear(h.float(), self.weights_proj.float()) * c.index_n_heads**-0.5
        return torch.einsum("bhts,bth->bts", dot, w)


class Attention(nn.Module):
    def __init__(self, c, full):
        super().__init__()
        self.c = c
        h, qk = c.num_attention_heads, c.qk_nope_head_dim + c.qk_rope_head_dim

        def p(o, i, scale=1.0):
            return nn.Parameter(torch.randn(o, i) * scale * i**-0.5)

        self.q_a_proj = p(c.q_lora_rank, c.hidden_size)
        self.q_a_layernorm = nn.Parameter(torch.ones(c.q_lora_rank))
        self.q_b_proj = p(h * qk, c.q_lora_rank)
        self.kv_a_proj_with_mqa = p(c.kv_lora_rank + c.qk_rope_head_dim, c.hidden_size)
        self.kv_a_layernorm = nn.Parameter(torch.ones(c.kv_lora_rank))
        self.kv_b_proj = p(h * (c.qk_nope_head_dim + c.v_head_dim), c.kv_lora_rank)
        self.o_proj = p(c.hidden_size, h * c.v_head_dim, 0.25)
        self.indexer = Indexer(c) if full else None
        self.index_loss = None

    def forward(self, x, cos, sin, causal, mode, keep):
        """mode: 'dense', 'warm' (dense, and train the indexer on detached inputs), 'sparse' (train
        it and obey it).
        keep [B, T, T] bool: the selection of the nearest full layer."""
        c, (b, t, _) = self.c, x.shape
        dt, h = x.dtype, c.num_attention_heads
        n, r, v = c.qk_nope_head_dim, c.qk_rope_head_dim, c.v_head_dim
        ql = rms(F.linear(x, self.q_a_proj.to(dt)), self.q_a_layernorm.to(dt), 1e-6)
        q = F.linear(ql, self.q_b_proj.to(dt)).view(b, t, h, n + r).transpose(1, 2)
        kv = F.linear(x, self.kv_a_proj_with_mqa.to(dt))
        lat = rms(kv[..., : c.kv_lora_rank], self.kv_a_layernorm.to(dt), 1e-6)
        kr = rotate(kv[..., c.kv_lora_rank :], cos, sin).unsqueeze(1).expand(b, h, t, r)
        kvb = F.linear(lat, self.kv_b_proj.to(dt)).view(b, t, h, n + v).transpose(1, 2)
        q = torch.cat([q[..., :n], rotate(q[..., n:], cos, sin)], -1) * (n + r) ** -0.5
        k = torch.cat([kvb[..., :n], kr], -1)
        logits = q @ k.transpose(-1, -2)
        scores, mask = None, causal
        if self.indexer is not None and mode != "dense":
            scores = self.indexer(x.detach(), ql.detach(), cos, sin) + causal.float()
            if mode == "sparse":
                top = scores.detach().topk(min(c.index_topk, t), -1)[1]
                keep = torch.zeros(b, t, t, dtype=torch.bool).scatter_(-1, top, True)
        if mode == "sparse":
            mask = causal + torch.zeros(b, t, t, dtype=dt).masked_fill_(
                ~keep, float("-inf")
            ).unsqueeze(1)
        prob = torch.softmax(logits + mask, -1)
        if scores is not None:
            with torch.no_grad():
                target = prob.detach().float().mean(1)
            if mode == "sparse":
                scores = scores.masked_fill(~keep, float("-inf"))
            logp = F.log_softmax(scores, -1)
            self.index_loss = -(target * logp.masked_fill(target == 0, 0)).sum(-1).mean()
        o = (prob @ kvb[..., n:]).transpose(1, 2).reshape(b, t, h * v)
        return F.linear(o, self.o_proj.to(dt)), keep


class Block(nn.Module):
    def __init__(self, c, dense, full):
        super().__init__()
        self.c = c
        self.input_layernorm = nn.Parameter(torch.ones(c.hidden_size))
        self.post_attention_layernorm = nn.Parameter(torch.ones(c.hidden_size))
        self.self_attn = Attention(c, full)
        self.mlp = Mlp(c, c.intermediate_size) if dense else Moe(c)

    def forward(self, x, cos, sin, causal, mode, keep):
        c, dt = self.c, x.dtype
        a, keep = self.self_attn(
            rms(x, self.input_layernorm.to(dt), c.rms_norm_eps), cos, sin, causal, mode, keep
        )
        x = x + a
        h = rms(x, self.post_attention_layernorm.to(dt), c.rms_norm_eps)
        if isinstance(self.mlp, Moe):
            y, _ = self.mlp(h.view(-1, c.hidden_size))
            return x + y.view_as(x), keep
        return x + self.mlp(h), keep


class Nano(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c = c
        self.embed_tokens = nn.Parameter(torch.randn(c.vocab_size, c.hidden_size) * 0.5)
        self.layers = nn.ModuleList(
            [
                Block(c, i < c.first_k_dense_replace, c.indexer_types[i] == "full")
                for i in range(c.num_hidden_layers)
            ]
        )
        self.norm = nn.Parameter(torch.ones(c.hidden_size))
        self.lm_head = nn.Parameter(torch.randn(c.vocab_size, c.hidden_size) * 0.02)
        self.mtp = Block(c, False, True)
        self.enorm = nn.Parameter(torch.ones(c.hidden_size))
        self.hnorm = nn.Parameter(torch.ones(c.hidden_size))
        self.eh_proj = nn.Parameter(
            torch.randn(c.hidden_size, 2 * c.hidden_size) * (2 * c.hidden_size) ** -0.5
        )
        self.shared_head_norm = nn.Parameter(torch.ones(c.hidden_size))

    def tables(self, t, dt):
        cos, sin = rope_tables(t, self.c.qk_rope_head_dim, self.c.rope_theta, dt)
        causal = torch.full((t, t), float("-inf")).triu(1).to(dt)
        return cos, sin, causal

    def trunk(self, ids, mode="dense", dt=torch.float32):
        cos, sin, causal = self.tables(ids.shape[1], dt)
        x, keep = F.embedding(ids, self.embed_tokens).to(dt), None
        for layer in self.layers:
            x, keep = layer(x, cos, sin, causal, mode, keep)
        return rms(x, self.norm.to(dt), self.c.rms_norm_eps)

    def draft(self, h, next_ids, mode="dense"):
        """h [B,T,D]: final-norm hidden of positions t; next_ids: tokens t+1.

        -> hidden that predicts t+2
        """
        dt, eps = h.dtype, self.c.rms_norm_eps
        cos, sin, causal = self.tables(next_ids.shape[1], dt)
        e = F.embedding(next_ids, self.embed_tokens).to(dt)
        u = F.linear(
            torch.cat([rms(e, self.enorm.to(dt), eps), rms(h, self.hnorm.to(dt), eps)], -1),
            self.eh_proj.to(dt),
        )
        y, _ = self.mtp(u, cos, sin, causal, mode, None)
        return rms(y, self.shared_head_norm.to(dt), eps)

    def logits(self, h):
        return F.linear(h, self.lm_head.to(h.dtype))

    def moes(self):
        return [m for m in self.modules() if isinstance(m, Moe)]
