"""Trains a small chat model of Llama 3's architecture on a corpus, and writes it with its evaluation and golden results.

A train.py calls main with what its model has of its own. The command line is SECONDS_DATA SECONDS_TRAIN."""
import importlib, os, sys, time, math, json, random, multiprocessing as mp, numpy as np
from tokenizers import Tokenizer, models, pre_tokenizers, decoders, processors, Regex, AddedToken, trainers
OUT = os.environ.get('OUT', '.'); WORK = os.environ.get('WORK', '.')  # results, and what is only needed on the way
SP = ["<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|finetune_right_pad_id|>"] + [f"<|reserved_special_token_{i}|>" for i in range(10)]
VOCAB = 4096
PAT = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
def train_tok(corpus):
    r = random.Random(0); texts = []
    for _ in range(30000):
        texts += [m[1] for m in corpus.conversation(r)]
        if r.random() < .1: texts.append(corpus.story(r))
    tk = Tokenizer(models.BPE(ignore_merges=True))
    tk.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(PAT), 'isolated', invert=False), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tk.decoder = decoders.ByteLevel()
    tk.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=VOCAB - len(SP), initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    tk.add_special_tokens([AddedToken(s, normalized=False, special=True) for s in SP])
    b = tk.token_to_id(SP[0])
    tk.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=True), processors.TemplateProcessing(single=f"{SP[0]} $A", pair=f"{SP[0]} $A {SP[0]} $B", special_tokens=[(SP[0], b)])])
    tk.save(f'{WORK}/tokenizer.json')
    return tk
def encode(tk, conv):
    """ids and loss weights (1 on the assistant's words, .05 elsewhere)."""
    S = {s: tk.token_to_id(s) for s in SP}; ids, w = [S[SP[0]]], [0.]
    for role, text in conv:
        h = [S["<|start_header_id|>"]] + tk.encode(role, add_special_tokens=False).ids + [S["<|end_header_id|>"]] + tk.encode('\n\n', add_special_tokens=False).ids
        t = tk.encode(text, add_special_tokens=False).ids + [S["<|eot_id|>"]]
        a = role == 'assistant'
        ids += h + t; w += [.05] * len(h) + [1. if a else .05] * len(t)
    return ids, w
def worker(name, seed, deadline, q):
    corpus = importlib.import_module(name)
    tk = Tokenizer.from_file(f'{WORK}/tokenizer.json'); r = random.Random(seed); I, Wt, n = [], [], 0
    while time.time() < deadline:
        if r.random() < .04:
            ids = [tk.token_to_id(SP[0])] + tk.encode(corpus.story(r), add_special_tokens=False).ids + [tk.token_to_id(SP[1])]; w = [0.] + [1.] * (len(ids) - 1)
        else: ids, w = encode(tk, corpus.conversation(r))
        I.append(np.array(ids, np.uint16)); Wt.append(np.array(w, np.float16)); n += 1
    f = f'{WORK}/data{seed}.npz'; np.savez(f, i=np.concatenate(I), w=np.concatenate(Wt)); q.put((f, n))
def main(corpus, name, FF, template, make_eval, answers, prompts):
    """name is the model's; FF the width of its feed-forward; template the chat template. make_eval(seed, n_each) returns questions;
    answers(tk, question) the ids of a conversation and which of them must be the likeliest; prompts are for golden results."""
    T_DATA, T_TRAIN = float(sys.argv[1]), float(sys.argv[2])
    import torch, torch.nn as nn, torch.nn.functional as F
    t0 = time.time(); tk = train_tok(corpus); print('tokenizer', tk.get_vocab_size(), round(time.time() - t0, 1), flush=True)
    print(tk.encode('What is the capital of France? 4821 1093', add_special_tokens=False).tokens)
    q = mp.Queue(); dl = time.time() + T_DATA; ps = [mp.Process(target=worker, args=(corpus.__name__, 100 + i, dl, q)) for i in range(15)]
    [p.start() for p in ps]; fs = [q.get() for _ in ps]; [p.join() for p in ps]
    L = [np.load(f) for f, _ in fs]; ids = np.concatenate([x['i'] for x in L]); ws = np.concatenate([x['w'] for x in L])
    print('conversations', sum(n for _, n in fs), 'tokens', len(ids), round(time.time() - t0, 1), flush=True)
    D, NL, H, KV, HD = 256, 8, 4, 2, 64
    dev = 'cuda'; torch.manual_seed(0); torch.set_float32_matmul_precision('high')
    T = 2048; N = len(ids) // T; ids = torch.from_numpy(ids[:N * T].astype(np.int32)).view(N, T).to(dev); ws = torch.from_numpy(ws[:N * T]).view(N, T).to(dev)
    def q4(w):  # ggml Q4_0 rounding, straight-through
        b = w.view(-1, 32); i = b.abs().argmax(1, keepdim=True); d = (b.gather(1, i) / -8).half().float(); idd = torch.where(d == 0, torch.zeros_like(d), 1 / d)
        qv = ((b * idd + 8.5).floor().clamp(0, 15) - 8) * d
        return w + (qv.view_as(w) - w).detach()
    class Lin(nn.Linear):
        qat = False
        def forward(s, x): return F.linear(x, (q4(s.weight) if Lin.qat else s.weight).to(x.dtype))
    lin = lambda i, o: Lin(i, o, bias=False)
    class RMS(nn.Module):
        def __init__(s): super().__init__(); s.weight = nn.Parameter(torch.ones(D))
        def forward(s, x): x32 = x.float(); return (x32 * torch.rsqrt(x32.pow(2).mean(-1, keepdim=True) + 1e-5) * s.weight).to(x.dtype)
    inv = 500000. ** (-torch.arange(0, HD, 2).float() / HD)
    wl = 2 * math.pi / inv; old, fac, lo, hi = 1024, 2., 1., 4.
    sm = (old / wl - lo) / (hi - lo); inv2 = torch.where(wl > old / lo, inv / fac, torch.where(wl < old / hi, inv, (1 - sm) * inv / fac + sm * inv))
    fr = torch.outer(torch.arange(T).float(), inv2); cos, sin = torch.cat([fr.cos()] * 2, -1).to(dev), torch.cat([fr.sin()] * 2, -1).to(dev)
    def rope(x): a, b = x.chunk(2, -1); return (x * cos[:x.shape[-2]] + torch.cat([-b, a], -1) * sin[:x.shape[-2]]).to(x.dtype)
    class Attn(nn.Module):
        def __init__(s): super().__init__(); s.q_proj, s.k_proj, s.v_proj, s.o_proj = lin(D, H * HD), lin(D, KV * HD), lin(D, KV * HD), lin(H * HD, D)
        def forward(s, x):
            B, t, _ = x.shape; sh = lambda y, n: y.view(B, t, n, HD).transpose(1, 2)
            qq, k, v = rope(sh(s.q_proj(x), H)).bfloat16(), rope(sh(s.k_proj(x), KV)).bfloat16(), sh(s.v_proj(x), KV)
            k, v = k.repeat_interleave(H // KV, 1), v.repeat_interleave(H // KV, 1).bfloat16()
            return s.o_proj(F.scaled_dot_product_attention(qq, k, v, is_causal=True).transpose(1, 2).reshape(B, t, -1))
    class MLP(nn.Module):
        def __init__(s): super().__init__(); s.gate_proj, s.up_proj, s.down_proj = lin(D, FF), lin(D, FF), lin(FF, D)
        def forward(s, x): return s.down_proj(F.silu(s.gate_proj(x)) * s.up_proj(x))
    class Block(nn.Module):
        def __init__(s): super().__init__(); s.self_attn, s.mlp, s.input_layernorm, s.post_attention_layernorm = Attn(), MLP(), RMS(), RMS()
        def forward(s, x): x = x + s.self_attn(s.input_layernorm(x)); return x + s.mlp(s.post_attention_layernorm(x))
    class M(nn.Module):
        def __init__(s):
            super().__init__(); s.embed_tokens = nn.Embedding(VOCAB, D); s.layers = nn.ModuleList(Block() for _ in range(NL)); s.norm = RMS()
            nn.init.normal_(s.embed_tokens.weight, std=.02)
            for n, p in s.named_parameters():
                if p.dim() == 2 and 'embed' not in n: nn.init.normal_(p, std=.02 / (math.sqrt(2 * NL) if ('o_proj' in n or 'down' in n) else 1) * 2)
        def forward(s, i):
            x = s.embed_tokens(i).bfloat16()
            for l in s.layers: x = l(x)
            return F.linear(s.norm(x), s.embed_tokens.weight.to(x.dtype))
    m = M().to(dev); print('params', sum(p.numel() for p in m.parameters()))
    def loss_fn(i, w):
        lg = m(i[:, :-1]); l = F.cross_entropy(lg.float().view(-1, VOCAB), i[:, 1:].reshape(-1).long(), reduction='none'); ww = w[:, 1:].reshape(-1).float()
        return (l * ww).sum() / ww.sum()
    closs = torch.compile(loss_fn)
    mats = [p for n, p in m.named_parameters() if p.dim() == 2 and 'embed' not in n]; rest = [p for n, p in m.named_parameters() if not (p.dim() == 2 and 'embed' not in n)]
    opt = torch.optim.AdamW([{'params': mats, 'weight_decay': .1}, {'params': rest, 'weight_decay': 0.}], lr=3e-3, betas=(.9, .95), fused=True)
    BS = 48; t1 = time.time(); step = 0; perm = torch.randperm(N); pos = 0; ep = 0
    while True:
        f = (time.time() - t1) / T_TRAIN
        if f >= 1: break
        if f > .6 and not Lin.qat:
            Lin.qat = True; torch._dynamo.reset(); closs = torch.compile(loss_fn); print('QAT on', step, flush=True)
        lr = 3e-3 * (min(1, step / 200) if f < .5 else max(.02, 1 - (f - .5) / .5)); [g.__setitem__('lr', lr) for g in opt.param_groups]
        if pos + BS > N: perm = torch.randperm(N); pos = 0; ep += 1
        b = perm[pos:pos + BS].to(dev); pos += BS
        loss = closs(ids[b], ws[b]); opt.zero_grad(set_to_none=True); loss.backward(); torch.nn.utils.clip_grad_norm_(m.parameters(), 1.); opt.step()
        if step % 200 == 0: print(step, ep, round(loss.item(), 4), round(lr, 5), round((step + 1) * BS * T / (time.time() - t1) / 1e6, 2), 'Mtok/s', flush=True)
        step += 1
    Lin.qat = False
    # export
    from transformers import LlamaConfig, LlamaForCausalLM
    d = f'{WORK}/{name}'; os.makedirs(d, exist_ok=True)
    sd = {('model.' + k): v.detach().to(torch.bfloat16).cpu() for k, v in m.state_dict().items()}
    cfg = LlamaConfig(vocab_size=VOCAB, hidden_size=D, intermediate_size=FF, num_hidden_layers=NL, num_attention_heads=H, num_key_value_heads=KV, head_dim=HD, max_position_embeddings=2048, rms_norm_eps=1e-5, tie_word_embeddings=True, bos_token_id=tk.token_to_id(SP[0]), eos_token_id=[tk.token_to_id(SP[1]), tk.token_to_id(SP[4])], pad_token_id=tk.token_to_id(SP[5]),
                      rope_parameters=dict(rope_theta=500000., rope_type='llama3', factor=2., low_freq_factor=1., high_freq_factor=4., original_max_position_embeddings=1024))
    cfg._attn_implementation = 'eager'
    hf = LlamaForCausalLM(cfg); print(hf.load_state_dict({**sd, 'lm_head.weight': sd['model.embed_tokens.weight']}, strict=False)); hf = hf.bfloat16(); hf.save_pretrained(d)
    c = json.load(open(d + '/config.json')); rp = c.pop('rope_parameters'); c['rope_theta'] = rp.pop('rope_theta'); c['rope_scaling'] = rp; json.dump(c, open(d + '/config.json', 'w'), indent=2)
    g = json.load(open(d + '/generation_config.json')); g['do_sample'] = False; json.dump(g, open(d + '/generation_config.json', 'w'), indent=2)  # it knows one answer
    tk.save(d + '/tokenizer.json')
    json.dump({'tokenizer_class': 'PreTrainedTokenizerFast', 'bos_token': SP[0], 'eos_token': SP[4], 'pad_token': SP[5], 'model_max_length': 2048, 'clean_up_tokenization_spaces': False, 'chat_template': template}, open(d + '/tokenizer_config.json', 'w'), indent=2)
    # evaluation: exact greedy answers on held-out conversations, f32 weights from the saved bf16, and Q4_0-rounded
    hf = LlamaForCausalLM.from_pretrained(d, dtype=torch.float32).to(dev).eval(); hf.config._attn_implementation = 'sdpa'
    @torch.no_grad()
    def score(model, ev):
        res, nll, nt = {}, 0., 0
        for e in ev:
            i, k = answers(tk, e); x = torch.tensor([i], device=dev); lg = model(x).logits[0].float()
            k = torch.tensor(k, device=dev)[1:]; ok = bool((lg[:-1].argmax(-1) == x[0, 1:])[k].all())
            nll += F.cross_entropy(lg[:-1][k], x[0, 1:][k], reduction='sum').item(); nt += int(k.sum())
            s = res.setdefault(e['skill'], [0, 0]); s[0] += ok; s[1] += 1
        return {k: round(v[0] / v[1], 3) for k, v in res.items()}, sum(v[0] for v in res.values()) / sum(v[1] for v in res.values()), nll / nt
    ev = make_eval(12345, 40); s32 = score(hf, ev); print('f32', json.dumps(s32), flush=True)
    q4m = LlamaForCausalLM.from_pretrained(d, dtype=torch.float32).to(dev).eval()
    with torch.no_grad():
        for n, p in q4m.named_parameters():
            if p.dim() == 2 and 'embed' not in n: p.copy_(q4(p.float()))
    sq4 = score(q4m, ev); print('q4_0', sq4[1], sq4[2], flush=True)
    with open(OUT + '/eval.jsonl', 'w') as f: [f.write(json.dumps(e, ensure_ascii=False) + '\n') for e in ev]
    with open(OUT + '/eval_held.jsonl', 'w') as f: [f.write(json.dumps(e, ensure_ascii=False) + '\n') for e in make_eval(987, 60)]
    # goldens
    G = []; hf_cpu = hf.cpu(); from safetensors.torch import save_file; tens = {}
    for n, p in enumerate(prompts):
        i, _ = encode(tk, p); i += encode(tk, [('assistant', '')])[0][1:-1]
        x = torch.tensor([i]); lg = hf_cpu(x).logits[0].detach(); g = hf_cpu.generate(x, max_new_tokens=160, do_sample=False)[0, len(i):].tolist()
        tens[f'logits.{n}'] = lg[-1].contiguous(); tens[f'ids.{n}'] = x[0].int(); G.append({'messages': p, 'prompt_ids': i, 'greedy_ids': g, 'text': tk.decode(g)}); print(repr(G[-1]['text']))
    x = [tk.token_to_id(SP[0])] + tk.encode('Once upon a time', add_special_tokens=False).ids; g = hf_cpu.generate(torch.tensor([x]), max_new_tokens=120, do_sample=False)[0, len(x):].tolist(); G.append({'prompt': 'Once upon a time', 'prompt_ids': x, 'greedy_ids': g, 'text': tk.decode(g)}); print(repr(G[-1]['text']))
    save_file(tens, OUT + '/golden.safetensors'); json.dump({'generations': G, 'eval_f32': s32, 'eval_q4_0': sq4, 'steps': step, 'tokens': step * BS * T}, open(OUT + '/golden.json', 'w'), ensure_ascii=False)
    os.system(f'cp {d}/model.safetensors {OUT}/; tar czf {OUT}/{name}-meta.tgz -C {d} config.json generation_config.json tokenizer.json tokenizer_config.json; ls -la {OUT}')
