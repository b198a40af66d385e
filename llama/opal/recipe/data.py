"""Renders pictures and conversations in processes of their own, into memory that the trainer shares with them."""
import os, random
import numpy as np
import scene, tok
T, MAXTOK, K, CONVS = 288, 100, 32, 4  # rows of a conversation, tokens a picture, pictures a chunk, conversations a picture
PATCHES = MAXTOK * 4
FIELDS = {'pix': ((K, PATCHES * 768), np.uint8), 'grid': ((K, 2), np.uint8), 'ids1': ((K, CONVS, T), np.int16), 'w1': ((K, CONVS, T), np.uint8), 'pos1': ((K, CONVS, T, 3), np.int16),
          'ids2': ((K // 2, T), np.int16), 'w2': ((K // 2, T), np.uint8), 'pos2': ((K // 2, T, 3), np.int16), 'ids0': ((K // 16, T), np.int16), 'w0': ((K // 16, T), np.uint8), 'pos0': ((K // 16, T, 3), np.int16)}
def patches(px):
    """Pixels [h, w, 3] as patches [n, 768] in the order of 2x2 blocks, each channel by channel, and the merged grid."""
    h, w, _ = px.shape
    return px.reshape(h // 32, 2, 16, w // 32, 2, 16, 3).transpose(0, 3, 1, 4, 6, 2, 5).reshape(-1, 768), (h // 32, w // 32)
def put(dst, name, i, conv):
    ids, w, pos = conv[:3]; n = len(ids)
    a, b, c = dst['ids' + name], dst['w' + name], dst['pos' + name]
    a[i] = tok.END; b[i] = 0; c[i] = 0; a[i][:n] = ids; b[i][:n] = w; c[i][:n] = pos
def spans(turns, conv):
    """The rows of each answer: (kind, first row, row after the last)."""
    _, w, _, done, _ = conv; out, i = [], 0
    for t in turns[:done]:
        while not w[i]: i += 1
        j = i
        while w[j]: j += 1
        out.append((t[0], i, j)); i = j
    return out
def chunk(r, dst, held=False, unseen=False, kinds=None):
    """Fills a chunk; returns the answers' rows by conversation for an evaluation."""
    facts, ans1, ans2, ans0 = [], [], [], []
    for i in range(K):
        px, f, _ = scene.picture(r, held, unseen)
        p, g = patches(px); facts.append((f, g)); dst['pix'][i][:p.size] = p.reshape(-1); dst['grid'][i] = g
        for c in range(CONVS):
            turns = scene.single(r, f); conv = tok.conversation(turns, [g], 0, T, r.random() < .12); put(dst, '1', (i, c), conv); ans1.append((i, c, spans(turns, conv)))
    for i in range(K // 2):
        (f, g), (f2, g2) = facts[2 * i], facts[2 * i + 1]
        turns, after = scene.double(r, f, f2); conv = tok.conversation(turns, [g, g2], after, T)
        if conv[4] < 2: turns, after = [x[:3] for x in scene.pair(r, f, f2)][:1], 0; conv = tok.conversation(turns, [g, g2], 0, T)
        put(dst, '2', i, conv); ans2.append((i, spans(turns, conv)))
    for i in range(K // 16): turns = scene.plain(r); conv = tok.conversation(turns, [], 0, T); put(dst, '0', i, conv); ans0.append((i, spans(turns, conv)))
    return ans1, ans2, ans0
def empty(): return {k: np.zeros(s, d) for k, (s, d) in FIELDS.items()}
def shared(path, slots, mode):
    """The shared memory's arrays, one chunk a slot."""
    out, off = {}, 0
    size = sum(slots * int(np.prod(s)) * np.dtype(d).itemsize for s, d in FIELDS.values())
    if mode == 'w+': open(path, 'wb').truncate(size)
    for k, (s, d) in FIELDS.items():
        out[k] = np.memmap(path, d, 'r+', off, (slots,) + s); off += slots * int(np.prod(s)) * np.dtype(d).itemsize
    return out
def worker(path, slots, seed, free, full):
    os.environ['OMP_NUM_THREADS'] = '1'; r = random.Random(seed); mem = shared(path, slots, 'r+')
    while True:
        s = free.get()
        if s is None: return
        chunk(r, {k: v[s] for k, v in mem.items()}); full.put(s)
