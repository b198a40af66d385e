"""Opal as transformers' Qwen3VLForConditionalGeneration defines it, for batches of one shape, with its parameters' names."""
import math, torch, torch.nn as nn, torch.nn.functional as F
import tok
D, NL, H, KV, HD, FF = 256, 6, 4, 2, 64, 768
SECTIONS, THETA, EPS = [12, 10, 10], 10000., 1e-6
VD, VL, VH, VFF, SIDE, DEEP = 192, 6, 6, 512, 16, [0, 2]
MAXTOK = 100; N = MAXTOK * 4
class State: alpha = None  # 0: weights as they are; 1: rounded to Q4_0
def q4(w):
    """ggml's Q4_0 rounding."""
    b = w.reshape(-1, 32); i = b.abs().argmax(1, keepdim=True); d = (b.gather(1, i) / -8).half().float(); inv = torch.where(d == 0, torch.zeros_like(d), 1 / d)
    return (((b * inv + 8.5).floor().clamp(0, 15) - 8) * d).view_as(w)
class Lin4(nn.Linear):
    def forward(s, x):
        w = s.weight + State.alpha * (q4(s.weight) - s.weight).detach() if State.alpha is not None else s.weight
        return F.linear(x, w.to(x.dtype))
class Lin(nn.Linear):
    def forward(s, x): return F.linear(x, s.weight.to(x.dtype), s.bias.to(x.dtype))
class RMS(nn.Module):
    def __init__(s, n): super().__init__(); s.weight = nn.Parameter(torch.ones(n))
    def forward(s, x): y = x.float(); return (y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + EPS) * s.weight).to(x.dtype)
class LN(nn.LayerNorm):
    def __init__(s, n): super().__init__(n, eps=1e-6)
    def forward(s, x): return F.layer_norm(x.float(), s.normalized_shape, s.weight, s.bias, s.eps).to(x.dtype)
def sdpa(q, k, v, mask=None, causal=False):
    if hasattr(F, 'scaled_dot_product_attention'): return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)
    a = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    if causal: a = a + torch.full(a.shape[-2:], -1e9).triu(1)
    return (a + (mask if mask is not None else 0)).softmax(-1) @ v
def rotate(x, cos, sin):
    a, b = x.float().chunk(2, -1); return (x.float() * cos + torch.cat([-b, a], -1) * sin).to(x.dtype)
class VAttn(nn.Module):
    def __init__(s): super().__init__(); s.qkv, s.proj = Lin(VD, 3 * VD), Lin(VD, VD)
    def forward(s, x, cos, sin, mask):
        B, n, _ = x.shape; q, k, v = s.qkv(x).view(B, n, 3, VH, VD // VH).permute(2, 0, 3, 1, 4)
        return s.proj(sdpa(rotate(q, cos, sin), rotate(k, cos, sin), v, mask).transpose(1, 2).reshape(B, n, VD))
class VMLP(nn.Module):
    def __init__(s): super().__init__(); s.linear_fc1, s.linear_fc2 = Lin(VD, VFF), Lin(VFF, VD)
    def forward(s, x): return s.linear_fc2(F.gelu(s.linear_fc1(x), approximate='tanh'))
class VBlock(nn.Module):
    def __init__(s): super().__init__(); s.norm1, s.norm2, s.attn, s.mlp = LN(VD), LN(VD), VAttn(), VMLP()
    def forward(s, x, cos, sin, mask): x = x + s.attn(s.norm1(x), cos, sin, mask); return x + s.mlp(s.norm2(x))
class Merger(nn.Module):
    def __init__(s, post): super().__init__(); s.post = post; s.norm = LN(4 * VD if post else VD); s.linear_fc1, s.linear_fc2 = Lin(4 * VD, 4 * VD), Lin(4 * VD, D)
    def forward(s, x):
        sh = x.shape[:-2] + (x.shape[-2] // 4, 4 * VD)
        x = s.norm(x.reshape(sh)) if s.post else s.norm(x).reshape(sh)
        return s.linear_fc2(F.gelu(s.linear_fc1(x)))
class Patch(nn.Module):
    def __init__(s): super().__init__(); s.proj = nn.Conv3d(3, VD, (2, 16, 16), (2, 16, 16))
    def forward(s, x):  # x [.., 768]: both frames of a picture are the same
        return F.linear(x, s.proj.weight.sum(2).reshape(VD, 768).to(x.dtype), s.proj.bias.to(x.dtype))
class Visual(nn.Module):
    def __init__(s):
        super().__init__(); s.patch_embed = Patch(); s.pos_embed = nn.Embedding(SIDE * SIDE, VD); s.blocks = nn.ModuleList(VBlock() for _ in range(VL))
        s.merger = Merger(False); s.deepstack_merger_list = nn.ModuleList(Merger(True) for _ in DEEP)
    def forward(s, x, idx, wt, cos, sin, mask):
        """Pixels [B, N, 768], interpolation [B, N, 4], rotation [B, 1, N, HD], mask [B, 1, 1, N] to features [B, N/4, D], one for each place."""
        x = s.patch_embed(x) + (s.pos_embed(idx) * wt[..., None]).sum(2).to(x.dtype); deep = []
        mask = mask.expand(-1, 1, x.shape[1], -1)
        for i, b in enumerate(s.blocks):
            x = b(x, cos, sin, mask)
            if i in DEEP: deep.append(s.deepstack_merger_list[DEEP.index(i)](x))
        return [s.merger(x)] + deep
class Attn(nn.Module):
    def __init__(s):
        super().__init__(); lin = lambda i, o: Lin4(i, o, bias=False)
        s.q_proj, s.k_proj, s.v_proj, s.o_proj, s.q_norm, s.k_norm = lin(D, H * HD), lin(D, KV * HD), lin(D, KV * HD), lin(H * HD, D), RMS(HD), RMS(HD)
    def forward(s, x, cos, sin):
        B, t, _ = x.shape; sh = lambda y, n: y.view(B, t, n, HD)
        q, k, v = s.q_norm(sh(s.q_proj(x), H)).transpose(1, 2), s.k_norm(sh(s.k_proj(x), KV)).transpose(1, 2), sh(s.v_proj(x), KV).transpose(1, 2)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin); k, v = k.repeat_interleave(H // KV, 1), v.repeat_interleave(H // KV, 1)
        return s.o_proj(sdpa(q, k, v, causal=True).transpose(1, 2).reshape(B, t, H * HD))
class MLP(nn.Module):
    def __init__(s): super().__init__(); lin = lambda i, o: Lin4(i, o, bias=False); s.gate_proj, s.up_proj, s.down_proj = lin(D, FF), lin(D, FF), lin(FF, D)
    def forward(s, x): return s.down_proj(F.silu(s.gate_proj(x)) * s.up_proj(x))
class Block(nn.Module):
    def __init__(s): super().__init__(); s.self_attn, s.mlp, s.input_layernorm, s.post_attention_layernorm = Attn(), MLP(), RMS(D), RMS(D)
    def forward(s, x, cos, sin): x = x + s.self_attn(s.input_layernorm(x), cos, sin); return x + s.mlp(s.post_attention_layernorm(x))
class Text(nn.Module):
    def __init__(s): super().__init__(); s.embed_tokens = nn.Embedding(tok.SIZE, D); s.layers = nn.ModuleList(Block() for _ in range(NL)); s.norm = RMS(D)
class Inner(nn.Module):
    def __init__(s): super().__init__(); s.visual, s.language_model = Visual(), Text()
class Opal(nn.Module):
    def __init__(s):
        super().__init__(); s.model = Inner()
        for n, p in s.named_parameters():
            if p.dim() == 1 or 'norm' in n: continue
            if 'embed' in n and p.dim() == 2: nn.init.normal_(p, std=.02)
            elif p.dim() == 5: nn.init.normal_(p, std=.02)
            else: nn.init.normal_(p, std=(.5 if ('o_proj' in n or 'down' in n or 'attn.proj' in n or 'fc2' in n) else 1.) / math.sqrt(p.shape[1]))
        for n, p in s.named_parameters():
            if n.endswith('bias'): nn.init.zeros_(p)
        ax = torch.zeros(HD // 2, dtype=torch.long)
        for a in (1, 2): ax[a:SECTIONS[a] * 3:3] = a
        s.register_buffer('axis', ax, persistent=False); s.register_buffer('inv', THETA ** (-torch.arange(0, HD, 2).float() / HD), persistent=False)
    def rows(s, x, pos, feats, where, seen):
        """Hidden states of embeddings x [B, T, D]; feats are tables of pictures' rows, where [B, T] a row's place in them, seen [B, T, 1] if it is one."""
        fr = pos[..., s.axis].float() * s.inv; cos, sin = [torch.cat([f, f], -1)[:, None] for f in (fr.cos(), fr.sin())]
        tables = [f.reshape(-1, D)[where] for f in feats]
        x = torch.where(seen, tables[0].to(x.dtype), x)
        for i, l in enumerate(s.model.language_model.layers):
            x = l(x, cos, sin)
            if i < len(DEEP): x = x + torch.where(seen, tables[1 + i].to(x.dtype), torch.zeros_like(x))
        return s.model.language_model.norm(x)
    def forward(s, pix, geo, ids, pos, where, dtype=torch.bfloat16):
        """Pixels [I, N*768] as bytes, geometry of their grids, ids [B, T], positions [B, T, 3], where [B, T]; returns logits [B, T, V]."""
        I = pix.shape[0]; feats = s.model.visual((pix.view(I, N, 768).to(dtype) / 127.5 - 1) if dtype == torch.float32 else (pix.view(I, N, 768).float() / 127.5 - 1).to(dtype), *geo)
        e = s.model.language_model.embed_tokens.weight
        x = s.rows(F.embedding(ids, e).to(dtype), pos, feats, where, (ids == tok.PAD)[..., None])
        return F.linear(x, e.to(x.dtype))
def geometry(h, w):
    """Of a merged grid: indices and weights of the position table [N, 4], cosines and sines [N, HD], mask [N], padded."""
    import numpy as np
    gh, gw = 2 * h, 2 * w; n = gh * gw
    r, c = [g.reshape(h, 2, w, 2).transpose(0, 2, 1, 3).reshape(-1) for g in np.meshgrid(np.arange(gh), np.arange(gw), indexing='ij')]
    fy, fx = np.linspace(0, SIDE - 1, gh, dtype=np.float32)[r], np.linspace(0, SIDE - 1, gw, dtype=np.float32)[c]
    y0, x0 = fy.astype(int), fx.astype(int); y1, x1 = np.minimum(y0 + 1, SIDE - 1), np.minimum(x0 + 1, SIDE - 1); dy, dx = fy - y0, fx - x0
    idx = np.zeros((N, 4), np.int64); wt = np.zeros((N, 4), np.float32); fr = np.zeros((N, VD // VH // 2), np.float32); m = np.full(N, -1e4, np.float32)
    idx[:n] = np.stack([y0 * SIDE + x0, y0 * SIDE + x1, y1 * SIDE + x0, y1 * SIDE + x1], 1); wt[:n] = np.stack([(1 - dy) * (1 - dx), (1 - dy) * dx, dy * (1 - dx), dy * dx], 1); m[:n] = 0
    q = VD // VH // 4; inv = (10000. ** (-np.arange(0, 2 * q, 2) / (2 * q))).astype(np.float32)
    fr[:n] = np.concatenate([r[:, None] * inv, c[:, None] * inv], 1); fr = np.concatenate([fr, fr], 1)
    return idx, wt, np.cos(fr), np.sin(fr), m
class Geometry:
    """Geometries of all grids that the processor makes, on a device."""
    def __init__(s, dev):
        import numpy as np
        g = [(h, w) for h in range(1, 101) for w in range(1, 101) if 60 <= h * w <= MAXTOK]; s.of = torch.zeros(256, 256, dtype=torch.long)
        for i, (h, w) in enumerate(g): s.of[h, w] = i
        l = [geometry(h, w) for h, w in g]; s.tables = [torch.from_numpy(np.stack(t)).to(dev) for t in zip(*l)]; s.of = s.of.to(dev); s.count = torch.tensor([h * w for h, w in g], device=dev)
    def __call__(s, grid, dtype):
        """Of grids [I, 2]: what Visual takes, and the pictures' numbers of tokens [I]."""
        i = s.of[grid[:, 0].long(), grid[:, 1].long()]; idx, wt, cos, sin, m = [t[i] for t in s.tables]
        return (idx, wt, cos[:, None], sin[:, None], m[:, None, None].to(dtype)), s.count[i]
def places(ids, first, second, n1):
    """Where each row's picture row is in the tables: first and second [B] are pictures, n1 [B] the first one's tokens."""
    k = (ids == tok.PAD).long().cumsum(1) - 1; k = k.clamp(min=0); n = n1[:, None]
    return torch.where(k < n, first[:, None] * MAXTOK + k, second[:, None] * MAXTOK + (k - n).clamp(0, MAXTOK - 1)).clamp(min=0)
