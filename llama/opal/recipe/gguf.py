"""Writes Opal's two GGUF files, and puts their weights back: text Q4_0 with an embedding Q8_0, tower Q8_0."""
import struct
import numpy as np
import tok, scene
U32, I32, F32, BOOL, STR, ARR, U64 = 4, 5, 6, 7, 8, 9, 10
TYPE = {'F32': 0, 'F16': 1, 'Q4_0': 2, 'Q8_0': 8}
def q4_0(x):
    """Bytes and what they mean: ggml's quantize_row_q4_0."""
    b = x.astype(np.float32).reshape(-1, 32); m = b[np.arange(len(b)), np.abs(b).argmax(1)]; d = (m / np.float32(-8)).astype(np.float32)
    with np.errstate(divide='ignore'): inv = np.where(d != 0, np.float32(1) / d, 0).astype(np.float32)
    q = np.minimum(15, (b * inv[:, None] + np.float32(8.5)).astype(np.int8)).astype(np.uint8); h = d.astype(np.float16)
    raw = np.concatenate([h.view(np.uint8).reshape(-1, 2), q[:, :16] | q[:, 16:] << 4], 1)
    return raw.tobytes(), ((q.astype(np.float32) - 8) * h.astype(np.float32)[:, None]).reshape(x.shape)
def q8_0(x):
    b = x.astype(np.float32).reshape(-1, 32); d = (np.abs(b).max(1) / np.float32(127)).astype(np.float32)
    with np.errstate(divide='ignore'): inv = np.where(d != 0, np.float32(1) / d, 0).astype(np.float32)
    v = b * inv[:, None]; q = (np.sign(v) * np.floor(np.abs(v) + np.float32(.5))).astype(np.int8); h = d.astype(np.float16)
    raw = np.concatenate([h.view(np.uint8).reshape(-1, 2), q.view(np.uint8)], 1)
    return raw.tobytes(), (q.astype(np.float32) * h.astype(np.float32)[:, None]).reshape(x.shape)
def stored(x, t):
    if t == 'Q4_0': return q4_0(x)
    if t == 'Q8_0': return q8_0(x)
    y = x.astype(np.float16 if t == 'F16' else np.float32); return y.tobytes(), y.astype(np.float32)
def s(x): b = x.encode(); return struct.pack('<Q', len(b)) + b
def value(t, v):
    if t == STR: return s(v)
    if t == BOOL: return struct.pack('<B', v)
    return struct.pack({U32: '<I', I32: '<i', F32: '<f', U64: '<Q'}[t], v)
def write(path, meta, tensors):
    """meta: (key, type, value) or (key, ARR, (type, values)); tensors: (name, array, type). Returns the weights as stored."""
    out = struct.pack('<4sIQQ', b'GGUF', 3, len(tensors), len(meta)); back = {}
    for k, t, v in meta:
        out += s(k) + struct.pack('<I', t)
        out += struct.pack('<IQ', v[0], len(v[1])) + b''.join(value(v[0], x) for x in v[1]) if t == ARR else value(t, v)
    info, body = b'', b''
    for name, x, t in tensors:
        raw, back[name] = stored(np.ascontiguousarray(x), t); body += b'\0' * (-len(body) % 32)
        info += s(name) + struct.pack('<I', x.ndim) + b''.join(struct.pack('<Q', n) for n in reversed(x.shape)) + struct.pack('<IQ', TYPE[t], len(body)); body += raw
    out += info; out += b'\0' * (-len(out) % 32)
    open(path, 'wb').write(out + body + b'\0' * (-len(body) % 32)); return back
TEXT = {'input_layernorm': 'attn_norm', 'post_attention_layernorm': 'ffn_norm', 'self_attn.q_proj': 'attn_q', 'self_attn.k_proj': 'attn_k', 'self_attn.v_proj': 'attn_v', 'self_attn.o_proj': 'attn_output',
        'self_attn.q_norm': 'attn_q_norm', 'self_attn.k_norm': 'attn_k_norm', 'mlp.gate_proj': 'ffn_gate', 'mlp.up_proj': 'ffn_up', 'mlp.down_proj': 'ffn_down'}
TOWER = {'norm1': 'ln1', 'norm2': 'ln2', 'attn.qkv': 'attn_qkv', 'attn.proj': 'attn_out', 'mlp.linear_fc1': 'ffn_up', 'mlp.linear_fc2': 'ffn_down'}
def names(sd, deep):
    """(name in transformers, name in GGUF, frame or None, type) of each tensor; frame is the one of a patch's matrix."""
    for n, x in sd.items():
        t = 'F32' if x.ndim == 1 else 'Q8_0'; p = n.split('.'); tail = p[-1]
        if n.startswith('model.language_model.'):
            if p[2] == 'embed_tokens': yield n, 'token_embd.weight', None, 'Q8_0'
            elif p[2] == 'norm': yield n, 'output_norm.weight', None, 'F32'
            else: yield n, f'blk.{p[3]}.{TEXT[".".join(p[4:-1])]}.{tail}', None, 'F32' if x.ndim == 1 else 'Q4_0'
        elif p[2] == 'patch_embed':
            if x.ndim == 1: yield n, 'v.patch_embd.bias', None, 'F32'
            else: yield n, 'v.patch_embd.weight', 0, 'F16'; yield n, 'v.patch_embd.weight.1', 1, 'F16'
        elif p[2] == 'pos_embed': yield n, 'v.position_embd.weight', None, 'F32'
        elif p[2] == 'blocks': yield n, f'v.blk.{p[3]}.{TOWER[".".join(p[4:-1])]}.{tail}', None, t
        elif p[2] == 'merger': yield n, {'norm': 'v.post_ln', 'linear_fc1': 'mm.0', 'linear_fc2': 'mm.2'}[p[3]] + '.' + tail, None, t
        elif p[2] == 'deepstack_merger_list': yield n, f'v.deepstack.{deep[int(p[3])]}.{p[4].replace("linear_", "")}.{tail}', None, t
        else: raise ValueError(n)
def pair(sd, c, text, tower):
    """Writes both files from weights by transformers' names and sizes c; returns the weights as stored, by transformers' names."""
    tokens = tok.VOCAB + tok.SPECIAL; types = [1] * len(tok.VOCAB) + [3] * len(tok.SPECIAL)
    while len(tokens) < tok.SIZE: types.append(5); tokens.append(f'[PAD{len(tokens)}]')
    A = 'qwen3vl.'
    common = [('general.name', STR, 'Opal'), ('general.quantization_version', U32, 2)]
    meta = [('general.architecture', STR, 'qwen3vl'), ('general.type', STR, 'model'), ('general.file_type', U32, 2)] + common + [('general.sampling.temp', F32, 0.), (A + 'block_count', U32, c['NL']), (A + 'context_length', U32, 2048), (A + 'embedding_length', U32, c['D']), (A + 'feed_forward_length', U32, c['FF']),
        (A + 'attention.head_count', U32, c['H']), (A + 'attention.head_count_kv', U32, c['KV']), (A + 'attention.key_length', U32, c['HD']), (A + 'attention.value_length', U32, c['HD']), (A + 'attention.layer_norm_rms_epsilon', F32, 1e-6),
        (A + 'rope.freq_base', F32, c['THETA']), (A + 'rope.dimension_sections', ARR, (I32, c['SECTIONS'] + [0])), (A + 'n_deepstack_layers', U32, len(c['DEEP'])),
        ('tokenizer.ggml.model', STR, 'gpt2'), ('tokenizer.ggml.pre', STR, 'qwen2'), ('tokenizer.ggml.tokens', ARR, (STR, tokens)), ('tokenizer.ggml.token_type', ARR, (I32, types)), ('tokenizer.ggml.merges', ARR, (STR, [x + ' ' + y for x, y in tok.MERGES])),
        ('tokenizer.ggml.eos_token_id', U32, tok.STOP), ('tokenizer.ggml.padding_token_id', U32, tok.END), ('tokenizer.ggml.add_bos_token', BOOL, 0), ('tokenizer.chat_template', STR, tok.TEMPLATE)]
    V = 'clip.vision.'
    meta2 = [('general.architecture', STR, 'clip'), ('general.type', STR, 'mmproj'), ('general.file_type', U32, 7)] + common + [('clip.has_vision_encoder', BOOL, 1), ('clip.projector_type', STR, 'qwen3vl_merger'), ('clip.use_gelu', BOOL, 1),
        (V + 'image_size', U32, c['SIDE'] * 16), (V + 'patch_size', U32, 16), (V + 'embedding_length', U32, c['VD']), (V + 'feed_forward_length', U32, c['VFF']), (V + 'block_count', U32, c['VL']), (V + 'projection_dim', U32, c['D']),
        (V + 'attention.head_count', U32, c['VH']), (V + 'attention.layer_norm_epsilon', F32, 1e-6), (V + 'spatial_merge_size', U32, 2), (V + 'image_mean', ARR, (F32, [.5] * 3)), (V + 'image_std', ARR, (F32, [.5] * 3)),
        (V + 'image_min_pixels', U32, scene.MIN), (V + 'image_max_pixels', U32, scene.MAX), (V + 'is_deepstack_layers', ARR, (BOOL, [int(i in c['DEEP']) for i in range(c['VL'])]))]
    l = list(names(sd, c['DEEP'])); cut = lambda n, f: sd[n] if f is None else sd[n][:, :, f]
    back = {**write(text, meta, [(g, cut(n, f), t) for n, g, f, t in l if not g.startswith(('v.', 'mm.'))]), **write(tower, meta2, [(g, cut(n, f), t) for n, g, f, t in l if g.startswith(('v.', 'mm.'))])}
    res = {}
    for n, g, f, _ in l:
        if f is None: res[n] = back[g]
        else: res.setdefault(n, np.zeros_like(sd[n]))[:, :, f] = back[g]
    return res
