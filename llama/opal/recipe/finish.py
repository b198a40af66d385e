"""Writes the folder and the GGUF pair of a checkpoint, measures exactness on held-out pictures, and makes the fixture with
transformers on the weights that the pair holds. usage: finish.py CHECKPOINT EVAL_CHUNKS"""
import os, sys, json, time, random, re, multiprocessing as mp, numpy as np
import data, tok, scene, gguf
OUT, WORK = os.environ.get('OUT', '.'), os.environ.get('WORK', '.')
def evaluation(a):
    seed, unseen = a; r = random.Random(seed); d = data.empty(); return d, data.chunk(r, d, True, unseen), unseen
def fixtures(seed, n):
    """Held-out pictures as PNG with turns about them, such that all kinds of questions occur."""
    import io; r = random.Random(seed); out, need = [], {}
    while len(out) < n:
        j = len(out); two = j >= n - 5; d = []
        for _ in range(2 if two else 1):
            while True:
                px, f, img = scene.picture(r, True, r.random() < .1); b = io.BytesIO(); img.save(b, 'PNG', optimize=True)
                if len(b.getvalue()) < 6500: break
            d.append((b.getvalue(), f, px.shape[0] // 32, px.shape[1] // 32))
        turns, after = scene.double(r, d[0][1], d[1][1]) if two else (scene.single(r, d[0][1]), 0)
        if not two:
            turns = sorted(turns, key=lambda t: need.get(t[0], 0))[:3]; r.shuffle(turns)
            if all(need.get(t[0], 0) >= 5 for t in turns): continue
        turns = turns[:3]
        for t in turns: need[t[0]] = need.get(t[0], 0) + 1
        out.append({'png': [x[0] for x in d], 'grids': [(x[2], x[3]) for x in d], 'turns': turns, 'after': after, 'facts': [x[1] for x in d]})
    return out
def main():
    t0 = time.time(); os.makedirs(OUT, exist_ok=True); hf = WORK + '/hf'; os.makedirs(hf, exist_ok=True)
    n = int(sys.argv[2]); jobs = [(910000 + i, False) for i in range(n)] + [(920000 + i, True) for i in range(max(1, n // 8))]
    with mp.get_context('fork').Pool(int(os.environ.get('WORKERS', 15))) as p: ev = p.map(evaluation, jobs, 1)
    print('evaluation', len(ev) * data.K, 'pictures', round(time.time() - t0, 1), flush=True)
    import torch, model as M
    dev = os.environ.get('DEVICE', 'cuda'); torch.backends.cuda.matmul.allow_tf32 = False; torch.backends.cudnn.allow_tf32 = False
    m = M.Opal().to(dev).eval(); m.load_state_dict(torch.load(sys.argv[1], map_location=dev)); geo = M.Geometry(dev)
    c = {k: getattr(M, k) for k in 'D NL H KV HD FF SECTIONS THETA VD VL VH VFF SIDE DEEP'.split()}
    sd16 = {k: v.detach().bfloat16().cpu() for k, v in m.state_dict().items()}
    stored = gguf.pair({k: v.float().numpy() for k, v in sd16.items()}, c, OUT + '/opal-Q4_0.gguf', OUT + '/mmproj-opal-Q8_0.gguf')
    print({f: os.path.getsize(OUT + '/' + f) for f in os.listdir(OUT)}, flush=True)
    @torch.no_grad()
    def score(show):
        res, wrong = {}, []
        for d, (a1, a2, a0), unseen in ev:
            t = {k: torch.from_numpy(v).to(dev) for k, v in d.items()}; gm, cnt = geo(t['grid'], torch.float32); K = data.K
            for name, ans, first, second, n1 in (('1', a1, None, None, None), ('2', a2, None, None, None), ('0', a0, None, None, None)):
                ids = t['ids' + name].reshape(-1, data.T).long(); pos = t['pos' + name].reshape(-1, data.T, 3).long(); B = len(ids); z = torch.zeros(B, dtype=torch.long, device=dev)
                if name == '1': f = torch.arange(B, device=dev) // data.CONVS; w = M.places(ids, f, f, z + (1 << 20))
                elif name == '2': f = torch.arange(B, device=dev) * 2; w = M.places(ids, f, f + 1, cnt[f])
                else: w = M.places(ids, z, z, z)
                lg = m(t['pix'], gm, ids, pos, w, torch.float32); best = lg[:, :-1].argmax(-1); ok = (best == ids[:, 1:]).cpu().numpy(); idc, bc = ids.cpu().numpy(), best.cpu().numpy()
                for x in ans:
                    row = x[0] * data.CONVS + x[1] if name == '1' else x[0]
                    for kind, i, j in x[-1]:
                        good = bool(ok[row, i - 1:j - 1].all()); kk = ('unseen font: ' if unseen else '') + kind
                        q = res.setdefault(kk, [0, 0]); q[0] += good; q[1] += 1
                        if not good and not unseen and show: wrong.append((kind, tok.decode(idc[row, i:j - 1]), tok.decode(bc[row, i - 1:j - 2])))
        tot = [sum(v[i] for k, v in res.items() if not k.startswith('unseen')) for i in (0, 1)]
        return {'all': [tot[0], tot[1], round(tot[0] / tot[1], 5)], 'kinds': {k: v + [round(v[0] / v[1], 4)] for k, v in sorted(res.items())}}, wrong
    M.State.alpha = None
    floats, _ = score(False); print('float', json.dumps(floats), flush=True)
    m.load_state_dict({k: torch.from_numpy(v) for k, v in stored.items()}); quant, wrong = score(True); print('quantised', json.dumps(quant), flush=True)
    for w in random.Random(0).sample(wrong, min(60, len(wrong))): print(w)
    json.dump({'float': floats, 'quantised': quant}, open(OUT + '/eval.json', 'w'), indent=1); print(round(time.time() - t0, 1), flush=True)
    # the folder
    from transformers import Qwen3VLConfig, Qwen3VLForConditionalGeneration
    cfg = Qwen3VLConfig(text_config=dict(vocab_size=tok.SIZE, hidden_size=M.D, intermediate_size=M.FF, num_hidden_layers=M.NL, num_attention_heads=M.H, num_key_value_heads=M.KV, head_dim=M.HD, max_position_embeddings=2048, rms_norm_eps=1e-6, tie_word_embeddings=True,
            bos_token_id=None, eos_token_id=tok.STOP, pad_token_id=tok.END, rope_parameters=dict(rope_theta=M.THETA, rope_type='default', mrope_section=M.SECTIONS, mrope_interleaved=True)),
        vision_config=dict(depth=M.VL, hidden_size=M.VD, hidden_act='gelu_pytorch_tanh', intermediate_size=M.VFF, num_heads=M.VH, in_channels=3, patch_size=16, spatial_merge_size=2, temporal_patch_size=2, out_hidden_size=M.D, num_position_embeddings=M.SIDE ** 2, deepstack_visual_indexes=M.DEEP),
        image_token_id=tok.PAD, video_token_id=tok.ID['<|video_pad|>'], vision_start_token_id=tok.VS, vision_end_token_id=tok.VE, tie_word_embeddings=True)
    h = Qwen3VLForConditionalGeneration(cfg); full = lambda s: {**s, 'lm_head.weight': s['model.language_model.embed_tokens.weight']}
    print(h.load_state_dict(full({k: v.float() for k, v in sd16.items()}), strict=False)); h = h.bfloat16()
    h.generation_config.eos_token_id = tok.STOP; h.generation_config.pad_token_id = tok.END; h.generation_config.bos_token_id = None; h.generation_config.do_sample = False
    h.save_pretrained(hf, max_shard_size='12MB')
    json.dump(tok.tokenizer_json(), open(hf + '/tokenizer.json', 'w'), ensure_ascii=False); json.dump(tok.tokenizer_config(), open(hf + '/tokenizer_config.json', 'w'), ensure_ascii=False, indent=1); open(hf + '/chat_template.jinja', 'w').write(tok.TEMPLATE)
    ip = {'do_convert_rgb': True, 'do_normalize': True, 'do_rescale': True, 'do_resize': True, 'image_mean': [.5] * 3, 'image_std': [.5] * 3, 'image_processor_type': 'Qwen2VLImageProcessorFast', 'processor_class': 'Qwen3VLProcessor', 'merge_size': 2, 'patch_size': 16, 'temporal_patch_size': 2, 'resample': 3, 'rescale_factor': 1 / 255, 'size': {'longest_edge': scene.MAX, 'shortest_edge': scene.MIN}}
    json.dump(ip, open(hf + '/preprocessor_config.json', 'w'), indent=1)
    os.system(f'cp {hf}/*.safetensors {OUT}/; tar czf {OUT}/hf-meta.tgz -C {hf} $(cd {hf}; ls | grep -v "\\.safetensors$"); ls -la {hf}')
    # the tokenizer says what Rust's says
    from tokenizers import Tokenizer; tk = Tokenizer.from_file(hf + '/tokenizer.json'); r = random.Random(5); bad = 0; T = []
    for d, (a1, _, _), _ in ev[:4]: T += [tok.decode(x[x < len(tok.VOCAB)]) for x in d['ids1'].reshape(-1, data.T)[:60]]
    T += [scene.random_word(r, True) + ' ' + ' '.join(scene.content(r, True)[1]) for _ in range(500)] + [q for l in scene.POOL.values() for q in l]
    for s in T: bad += tk.encode(s, add_special_tokens=False).ids != tok.encode(s)
    print('tokenizer differs in', bad, 'of', len(T), flush=True)
    # transformers on the stored weights
    h = Qwen3VLForConditionalGeneration(cfg).float().eval(); h.load_state_dict(full({k: torch.from_numpy(v) for k, v in stored.items()}), strict=False); h.tie_weights()
    try:
        from transformers import AutoProcessor; pr = AutoProcessor.from_pretrained(hf); im = pr.image_processor; print(type(pr), type(im))
    except Exception as e:
        print('AutoProcessor', repr(e)[:300]); from transformers import AutoImageProcessor; im = AutoImageProcessor.from_pretrained(hf); pr = None
    import io; from PIL import Image; from safetensors.torch import save_file
    tens, J, right, asked = {}, [], 0, 0; F = fixtures(77, int(os.environ.get('FIXTURES', 42)))
    for i, x in enumerate(F):
        imgs = [Image.open(io.BytesIO(b)).convert('RGB') for b in x['png']]; hist, turns = [], []
        for n, (kind, q, want) in enumerate(x['turns']):
            pics = ([0] if x['after'] else list(range(len(imgs)))) if n == 0 else [1] if len(imgs) == 2 and n == x['after'] else []
            hist.append({'role': 'user', 'content': [{'type': 'image', 'image': k} for k in pics] + [{'type': 'text', 'text': q}]})
            used = [m_['image'] for u in hist if u['role'] == 'user' for m_ in u['content'] if m_['type'] == 'image']
            pv = im(images=[imgs[k] for k in used], return_tensors='pt'); grid = pv['image_grid_thw']
            ids = []
            for u in hist:
                if u['role'] == 'user':
                    ids += [tok.START] + tok.USER
                    for p_ in u['content']:
                        if p_['type'] == 'image': g = grid[used.index(p_['image'])]; ids += [tok.VS] + [tok.PAD] * int(g[1] * g[2] // 4) + [tok.VE]
                        else: ids += tok.encode(p_['text'])
                else: ids += [tok.START] + tok.ASSISTANT + tok.encode(u['content'])
                ids += [tok.STOP] + tok.NLT
            ids += [tok.START] + tok.ASSISTANT
            if pr is not None and i < 6:
                try:
                    tx = pr.apply_chat_template(hist, add_generation_prompt=True, tokenize=False); e = pr(text=[tx], images=[imgs[k] for k in used], return_tensors='pt')
                    if e['input_ids'][0].tolist() != ids: print('the processor writes', e['input_ids'][0].tolist()[:20], 'not', ids[:20], len(ids))
                except Exception as er: print('processor', repr(er)[:200])
            xx = torch.tensor([ids]); kw = dict(pixel_values=pv['pixel_values'], image_grid_thw=grid, attention_mask=torch.ones_like(xx))
            mm = (xx == tok.PAD).int(); kw['mm_token_type_ids'] = mm
            with torch.no_grad():
                try: o = h(input_ids=xx, **kw)
                except TypeError: kw.pop('mm_token_type_ids'); o = h(input_ids=xx, **kw)
                g = h.generate(input_ids=xx, max_new_tokens=60, do_sample=False, **kw)[0, len(ids):].tolist()
            text = tok.decode([t for t in g if t < len(tok.VOCAB)]); tens[f'logits.{i}.{n}'] = o.logits[0, -1].float().clone(); asked += 1; right += text == want
            if text != want: print('fixture', i, kind, q, repr(want), repr(text))
            turns.append({'kind': kind, 'question': q, 'images': pics, 'answer': want, 'greedy': text, 'greedy_ids': g, 'prompt_ids': ids}); hist.append({'role': 'assistant', 'content': text})
            if n == 0 and i < 10:
                tens[f'pixel_values.{i}'] = pv['pixel_values'].float().clone(); tens[f'grid.{i}'] = grid.int().clone()
                with torch.no_grad(): v = h.model.visual(pv['pixel_values'], grid_thw=grid)
                if isinstance(v, tuple): fe, dp = v
                else: fe, dp = v.pooler_output, v.deepstack_features
                tens[f'image_features.{i}'] = fe.float().clone(); [tens.__setitem__(f'deepstack.{i}.{k}', y.float().clone()) for k, y in enumerate(dp)]
                if i < 4:  # the same of the training model
                    px = pv['pixel_values'].view(-1, 3, 2, 256)[:, :, 0].reshape(-1, 768); u8 = torch.zeros(1, M.N, 768, dtype=torch.uint8); u8[0, :len(px)] = ((px + 1) * 127.5).round().clamp(0, 255).byte(); mc = m.cpu(); gc = M.Geometry('cpu')
                    gm, cnt = gc(torch.tensor([[int(grid[0, 1]) // 2, int(grid[0, 2]) // 2]]), torch.float32)
                    with torch.no_grad(): mine = mc.model.visual(u8.float() / 127.5 - 1, *gm); cv = tok.conversation([(0, q, '')], [tuple(int(z) // 2 for z in grid[0, 1:])], 0, 400)
                    print('features differ by', float((mine[0][0, :len(fe)] - fe).abs().max()), 'of', float(fe.abs().max()), 'deepstack', [float((mine[1 + k][0, :len(fe)] - y).abs().max()) for k, y in enumerate(dp)])
                    d_, _ = data.patches(np.asarray(imgs[0].resize((int(grid[0, 2]) * 16, int(grid[0, 1]) * 16), Image.BICUBIC))); print('pixels differ from PIL by', int(np.abs(d_.astype(int) - u8[0, :len(px)].numpy().astype(int)).max()))
                    ii = torch.tensor([cv[0][:len(ids)]]); pp = torch.tensor([cv[2][:len(ids)]])
                    if cv[0][:len(ids)] == ids:
                        with torch.no_grad(): lg = mc(u8.view(1, -1), gm, ii, pp, M.places(ii, torch.tensor([0]), torch.tensor([0]), torch.tensor([1 << 20])), torch.float32)[0, -1]
                        print('logits differ by', float((lg - o.logits[0, -1]).abs().max()), 'of', float(o.logits[0, -1].abs().max()))
                    else: print('ids differ', cv[0][:30], ids[:30])
        J.append({'images': [f'image.{i}.{k}.png' for k in range(len(imgs))], 'grids': x['grids'], 'turns': turns})
        for k, b in enumerate(x['png']): os.makedirs(WORK + '/fx', exist_ok=True); open(WORK + f'/fx/image.{i}.{k}.png', 'wb').write(b)
    # talk without a picture
    for q in ['Hello', 'What can you do?', 'Who are you?', 'Thanks', 'What does it say?']:
        ids = [tok.START] + tok.USER + tok.encode(q) + [tok.STOP] + tok.encode('\n') + [tok.START] + tok.ASSISTANT; xx = torch.tensor([ids])
        with torch.no_grad(): o = h(input_ids=xx); g = h.generate(input_ids=xx, max_new_tokens=60, do_sample=False)[0, len(ids):].tolist()
        tens[f'logits.{len(J)}.0'] = o.logits[0, -1].float().clone(); text = tok.decode([t for t in g if t < len(tok.VOCAB)]); print(q, '->', text)
        J.append({'images': [], 'grids': [], 'turns': [{'kind': 'talk', 'question': q, 'images': [], 'answer': text, 'greedy': text, 'greedy_ids': g, 'prompt_ids': ids}]})
    print('fixtures', right, 'of', asked, round(time.time() - t0, 1), flush=True)
    save_file(tens, WORK + '/fx/golden.safetensors'); json.dump(J, open(WORK + '/fx/questions.json', 'w'), ensure_ascii=False)
    os.system(f'tar czf {OUT}/fixture.tgz -C {WORK}/fx .; ls -la {OUT}')
if __name__ == '__main__': main()
