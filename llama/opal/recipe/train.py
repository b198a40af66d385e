"""Trains Opal: WORK/last.pt has the weights. usage: train.py SECONDS [CHECKPOINT TO GO ON FROM [FACTOR OF THE LEARNING RATE]]"""
import os, sys, time, multiprocessing as mp, queue, numpy as np
import data, tok
WORK = os.environ.get('WORK', '.'); os.makedirs(WORK, exist_ok=True)
def main():
    t0 = time.time(); limit = float(sys.argv[1]); SL = int(os.environ.get('SLOTS', 96)); NW = int(os.environ.get('WORKERS', 14)); BS = [int(x) for x in os.environ.get('BATCH', '224,20,12').split(',')]; P = int(os.environ.get('POOL', 196608))
    shm = ('/dev/shm' if os.path.isdir('/dev/shm') and os.statvfs('/dev/shm').f_bavail * os.statvfs('/dev/shm').f_frsize > 3e9 else '/tmp') + '/opal.mem'
    mem = data.shared(shm, SL, 'w+'); ctx = mp.get_context('fork'); free, full = ctx.Queue(), ctx.Queue()
    for i in range(SL): free.put(i)
    ps = [ctx.Process(target=data.worker, args=(shm, SL, 1000 + i + int(os.environ.get('SEED', 0)), free, full), daemon=True) for i in range(NW)]; [p.start() for p in ps]
    import torch, torch.nn.functional as F, model as M
    dev = os.environ.get('DEVICE', 'cuda'); cuda = dev == 'cuda'; torch.manual_seed(0); torch.set_float32_matmul_precision('high')
    m = M.Opal().to(dev); geo = M.Geometry(dev); print('parameters', sum(p.numel() for p in m.parameters()), 'vocabulary', tok.SIZE, flush=True)
    M.State.alpha = torch.zeros((), device=dev)
    pool = {k: torch.zeros((P // data.K,) + s, dtype=getattr(torch, np.dtype(d).name), device=dev) for k, (s, d) in data.FIELDS.items()}; filled, nxt, chunks = 0, 0, 0
    pinned = False
    if cuda:
        try: pinned = all(int(torch.cuda.cudart().cudaHostRegister(v.ctypes.data, v.nbytes, 0)) == 0 for v in mem.values())
        except Exception as e: print('not pinned', e)
    print('pinned', pinned, 'memory', shm, flush=True)
    host = {k: torch.from_numpy(v) for k, v in mem.items()}; pending = []
    def take(block):
        """Copies chunks that are ready to the device."""
        nonlocal filled, nxt, chunks
        for _ in range(8):
            try: s = full.get(block)
            except queue.Empty: break
            for k in pool: pool[k][nxt].copy_(host[k][s], non_blocking=pinned)
            nxt = (nxt + 1) % (P // data.K); filled = min(filled + 1, P // data.K); chunks += 1
            e = torch.cuda.Event() if cuda else None
            if e: e.record()
            pending.append((e, s))
            if block: break
        while pending and (pending[0][0] is None or pending[0][0].query()): free.put(pending.pop(0)[1])
    K = data.K; B1, B2, B0 = BS
    def batch():
        n = filled * K; r = lambda hi, c: torch.randint(hi, (c,), device=dev)
        a, c = r(n, B1), r(data.CONVS, B1); d = r(n // 2, B2); z = r(filled * (K // 16), B0)
        flat = lambda k, w: pool[k].view(-1, *pool[k].shape[w:]); g = torch.cat([a, d * 2, d * 2 + 1])
        pix = flat('pix', 2)[g]; gm, cnt = geo(flat('grid', 2)[g], torch.bfloat16 if cuda else torch.float32)
        pickt = lambda k: torch.cat([pool[k + '1'].view(-1, *pool[k + '1'].shape[3:])[a * data.CONVS + c], flat(k + '2', 2)[d], flat(k + '0', 2)[z]])
        ids, w, pos = pickt('ids').long(), pickt('w'), pickt('pos').long(); one = torch.arange(B1 + B2, device=dev); zero = torch.zeros(B0, dtype=torch.long, device=dev)
        first, second = torch.cat([one, zero]), torch.cat([one + B2, zero]); n1 = torch.cat([cnt[:B1 + B2], zero])
        n1[:B1] = 1 << 20
        return pix, gm, ids, pos, M.places(ids, first, second, n1), w
    dt = torch.bfloat16 if cuda else torch.float32
    def loss_fn(pix, gm, ids, pos, where, w):
        lg = m(pix, gm, ids, pos, where, dt)[:, :-1].float(); l = F.cross_entropy(lg.reshape(-1, tok.SIZE), ids[:, 1:].reshape(-1), reduction='none'); ww = w[:, 1:].reshape(-1).float()
        return (l * ww).sum() / ww.sum()
    closs = torch.compile(loss_fn) if cuda and not os.environ.get('EAGER') else loss_fn
    named = list(m.named_parameters()); hidden = [(n, p) for n, p in named if p.dim() == 5 or p.dim() == 2 and 'embed' not in n]; ids_ = {id(p) for _, p in hidden}
    rest = [p for n, p in named if id(p) not in ids_]
    adam = torch.optim.AdamW([{'params': [p for p in rest if p.dim() > 1], 'weight_decay': .01}, {'params': [p for p in rest if p.dim() == 1], 'weight_decay': 0.}], lr=1, betas=(.9, .97), eps=1e-10, **({'fused': True} if cuda else {}))
    # Muon: momentum that is made orthogonal, matrices of one shape at once
    groups = {}
    for n, p in hidden:
        parts = 3 if 'qkv' in n else 1
        groups.setdefault((p.shape[0] // parts, p.numel() // p.shape[0]), []).append((p, parts))
    def ns(g):
        a, b, c = 3.4445, -4.7750, 2.0315; x = g.to(dt); tr = x.shape[-2] > x.shape[-1]
        if tr: x = x.mT
        x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
        for _ in range(5): y = x @ x.mT; x = a * x + (b * y + c * (y @ y)) @ x
        return (x.mT if tr else x).float()
    mom = {}
    @torch.no_grad()
    def muon(lr, wd, mu):
        for (r, c), l in groups.items():
            g = torch.cat([p.grad.view(k, r, c) for p, k in l]); b = mom.setdefault((r, c), torch.zeros_like(g)); b.lerp_(g, 1 - mu); u = ns(g.lerp(b, mu)); s = max(1, r / c) ** .5; o = 0
            ps_ = [p for p, _ in l]; us = []
            for p, k in l: us.append(u[o:o + k].reshape(p.shape)); o += k
            torch._foreach_mul_(ps_, 1 - lr * wd); torch._foreach_add_(ps_, us, alpha=-lr * s)
    peak = float(sys.argv[3]) if len(sys.argv) > 3 else 1.; again = len(sys.argv) > 2
    if again: m.load_state_dict(torch.load(sys.argv[2])); M.State.alpha.fill_(1)
    while filled < int(os.environ.get('START', 96)): take(True)
    print('start', round(time.time() - t0, 1), 'pictures', filled * K, flush=True)
    step, losses, tr0 = 0, [], time.time(); LRM, LRA = float(os.environ.get('LRM', .02)), float(os.environ.get('LRA', .003)); HOLD = float(os.environ.get('HOLD', .45)); total = limit - (tr0 - t0)
    shown = 0
    while True:
        f = (time.time() - tr0) / total
        if f >= 1: break
        k = peak * min(1, (step + 1) / 150) * (1 if f < HOLD and not again else max(.01, (1 - f) / (1 if again else 1 - HOLD)))
        if f > .3 and not again: M.State.alpha.fill_(1)
        take(False)
        loss = closs(*batch()); loss.backward(); torch.nn.utils.clip_grad_norm_(rest, 1.)
        for g in adam.param_groups: g['lr'] = LRA * k
        adam.step(); muon(LRM * k, .02, .95); m.zero_grad(set_to_none=True)
        losses.append(loss.detach()); step += 1
        if step == 1: torch.cuda.synchronize() if cuda else None; print('first step', round(time.time() - t0, 1), flush=True)
        if step % (200 if cuda else 1) == 0:
            l = torch.stack(losses).mean().item(); losses = []; print(step, round(time.time() - t0, 1), 'loss', round(l, 4), 'lr', round(k, 3), 'pictures', chunks * K, 'steps/s', round(step / (time.time() - tr0), 2), flush=True)
            if time.time() - shown > 60 and cuda: shown = time.time(); torch.save(m.state_dict(), WORK + '/last.pt')
    for p in ps: p.kill()
    torch.save(m.state_dict(), WORK + '/last.pt'); print('trained', step, 'steps', chunks * K, 'pictures', round(time.time() - t0, 1), flush=True)
    os.remove(shm)
if __name__ == '__main__': main()
