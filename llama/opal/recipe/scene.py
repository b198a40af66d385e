"""Draws pictures of words, numbers and shapes, and writes conversations about them. One seed makes one picture and its questions."""
import glob, io, math, os, random
import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont
HERE = os.path.dirname(os.path.abspath(__file__))
FONTDIR = os.environ.get('FONTS', HERE + '/fonts')
HELD_FONTS = {'Cabin-Regular', 'OpenSans-Semibold', 'LiberationSerif-Bold'}  # no training picture has one of these
FONTS = sorted(f for f in glob.glob(FONTDIR + '/*.*tf') if os.path.basename(f).rsplit('.', 1)[0] not in HELD_FONTS)
UNSEEN = sorted(f for f in glob.glob(FONTDIR + '/*.*tf') if os.path.basename(f).rsplit('.', 1)[0] in HELD_FONTS)
WORDS = open(HERE + '/words.txt').read().split()
HELD_WORDS = WORDS[5::12]  # these neither
WORDS = [w for i, w in enumerate(WORDS) if i % 12 != 5]
WORDS += ['user', 'assistant', 'system', 'use'] * 8  # the beginnings of which are tokens; in the second part of the training only
MIN, MAX, FACTOR = 65536, 102400, 32  # the processor's least and most pixels: 64 to 100 tokens a picture
# The names of colours, each with the shades that bear it.
COLORS = {
    'red': [(220, 30, 30), (255, 0, 0), (200, 20, 40)], 'green': [(30, 160, 50), (0, 128, 0), (40, 200, 60), (0, 220, 0)], 'blue': [(40, 70, 220), (0, 0, 255), (30, 110, 230), (0, 40, 160)],
    'yellow': [(245, 220, 40), (255, 255, 0), (250, 230, 70)], 'orange': [(245, 140, 20), (255, 165, 0), (250, 120, 10)], 'purple': [(130, 50, 170), (128, 0, 128), (150, 60, 210)],
    'pink': [(250, 150, 190), (255, 192, 203), (255, 120, 180)], 'brown': [(120, 75, 35), (139, 69, 19), (100, 60, 30)], 'black': [(12, 12, 12), (0, 0, 0), (30, 30, 30)],
    'white': [(250, 250, 250), (255, 255, 255), (242, 242, 240)], 'gray': [(130, 130, 130), (128, 128, 128), (160, 160, 160), (105, 105, 105)]}
NAMES = list(COLORS)
KINDS = {'circle': 'circles', 'square': 'squares', 'triangle': 'triangles', 'star': 'stars', 'heart': 'hearts', 'diamond': 'diamonds', 'cross': 'crosses'}
KN = list(KINDS)
def shade(r, name, j=8):
    c = r.choice(COLORS[name]); return tuple(min(255, max(0, v + r.randint(-j, j))) for v in c)
luma = lambda c: .3 * c[0] + .59 * c[1] + .11 * c[2]
dist = lambda a, b: math.sqrt(sum((x - y) ** 2 for x, y in zip(a, b)))
_fonts = {}
def font(path, size):
    if (path, size) not in _fonts:
        if len(_fonts) > 4000: _fonts.clear()
        _fonts[path, size] = ImageFont.truetype(path, size)
    return _fonts[path, size]
def smart(h, w):
    """The size to which transformers' Qwen2VLImageProcessor scales a picture."""
    hb, wb = round(h / FACTOR) * FACTOR, round(w / FACTOR) * FACTOR
    if hb * wb > MAX:
        b = math.sqrt(h * w / MAX); hb, wb = max(FACTOR, math.floor(h / b / FACTOR) * FACTOR), max(FACTOR, math.floor(w / b / FACTOR) * FACTOR)
    elif hb * wb < MIN:
        b = math.sqrt(MIN / (h * w)); hb, wb = math.ceil(h * b / FACTOR) * FACTOR, math.ceil(w * b / FACTOR) * FACTOR
    return hb, wb
def polygon(kind, rot):
    """The corners of a kind within the circle of radius 1, and None for a circle."""
    P = lambda r, a: (r * math.cos(a), r * math.sin(a))
    if kind == 'square': p = [P(1, math.pi / 4 + i * math.pi / 2) for i in range(4)]
    elif kind == 'triangle': p = [P(1, -math.pi / 2 + i * 2 * math.pi / 3) for i in range(3)]
    elif kind == 'star': p = [P(1 if i % 2 == 0 else .42, -math.pi / 2 + i * math.pi / 5) for i in range(10)]
    elif kind == 'diamond': p = [(0, -1), (.68, 0), (0, 1), (-.68, 0)]
    elif kind == 'cross': t = .32; p = [(-t, -1), (t, -1), (t, -t), (1, -t), (1, t), (t, t), (t, 1), (-t, 1), (-t, t), (-1, t), (-1, -t), (-t, -t)]; p = [(x * .95, y * .95) for x, y in p]
    elif kind == 'heart':
        p = []
        for i in range(40):
            a = i * 2 * math.pi / 40; p.append((16 * math.sin(a) ** 3 / 17, -(13 * math.cos(a) - 5 * math.cos(2 * a) - 2 * math.cos(3 * a) - math.cos(4 * a)) / 17))
    else: return None
    c, s = math.cos(rot), math.sin(rot)
    return [(x * c - y * s, x * s + y * c) for x, y in p]
def draw_shape(r, img, s):
    """Draws shape s onto img, mostly with smooth edges."""
    R = s['r']; ss = 1 if r.random() < .25 else 2 if R > 20 else 4; box = math.ceil(R) + 2; n = 2 * box
    m = Image.new('L', (n * ss, n * ss), 0); d = ImageDraw.Draw(m)
    fx, fy = s['x'] - math.floor(s['x']), s['y'] - math.floor(s['y']); cx, cy = (box + fx) * ss, (box + fy) * ss; k = R * ss
    pts = polygon(s['kind'], s['rot'])
    if pts is None:
        if s['line']: d.ellipse((cx - k, cy - k, cx + k, cy + k), outline=255, width=max(1, int(s['line'] * k)))
        else: d.ellipse((cx - k, cy - k, cx + k, cy + k), fill=255)
    else:
        pts = [(cx + x * k, cy + y * k) for x, y in pts]
        d.polygon(pts, fill=255)
        if s['line']:
            f = 1 - s['line'] * 1.5; d.polygon([(cx + (x - cx) * f, cy + (y - cy) * f) for x, y in pts], fill=0)
    if ss > 1: m = m.resize((n, n), Image.BOX)
    img.paste(s['rgb'], (math.floor(s['x']) - box, math.floor(s['y']) - box), m)
def random_word(r, held):
    p = r.random()
    if p < .62: w = r.choice(HELD_WORDS if held else WORDS)
    elif p < .87: w = ''.join(r.choice(['b', 'br', 'c', 'ch', 'd', 'f', 'g', 'h', 'j', 'k', 'l', 'm', 'n', 'p', 'pl', 'qu', 'r', 's', 'st', 't', 'th', 'v', 'w', 'x', 'y', 'z']) + r.choice('aeiou') + r.choice(['', '', 'n', 'r', 's', 't', 'l', 'm', 'd', 'x', 'ck']) for _ in range(r.randint(1, 3)))[:10]
    else: w = ''.join(r.choice('abcdefghijklmnopqrstuvwxyz') for _ in range(r.randint(2, 8)))
    p = r.random()
    if set(w) <= set('cosuvwxz'): return random_word(r, held)  # their capitals look like them
    return w if p < .42 else w.capitalize() if p < .74 else w.upper() if p < .97 else (w.capitalize() + r.choice(WORDS).capitalize())[:10]
MONTHS = 'January February March April May June July August September October November December'.split()
def content(r, held):
    """A kind of text, and its words."""
    p = r.random()
    if p < .40: return 'word', [random_word(r, held)]
    if p < .62: return 'text', [random_word(r, held) for _ in range(r.choice([2, 2, 2, 3, 3, 4]))]
    if p < .78:
        n = r.randint(1, 6); s = str(r.randint(10 ** (n - 1) if n > 1 else 0, 10 ** n - 1))
        if n > 3 and r.random() < .2: s = f'{int(s):,}'
        elif r.random() < .08: s = s + '.' + str(r.randint(0, 99))
        return 'number', [s]
    if p < .87:
        c = '$'; v = r.choice([r.randint(0, 9), r.randint(10, 99), r.randint(100, 999)]); return 'price', [f'{c}{v}.{r.randint(0, 99):02d}' if r.random() < .8 else f'{c}{v}']
    if p < .93:
        d, m, y = r.randint(1, 28), r.randint(1, 12), r.randint(1950, 2039); q = r.random()
        return 'date', [f'{y}-{m:02d}-{d:02d}'] if q < .35 else [f'{d:02d}/{m:02d}/{y}'] if q < .55 else [str(d), MONTHS[m - 1][:3] if r.random() < .4 else MONTHS[m - 1], str(y)]
    if p < .96: return 'time', [f'{r.randint(0, 23)}:{r.randint(0, 59):02d}']
    return 'text', [random_word(r, held), str(r.randint(0, 999))] if r.random() < .5 else [r.choice(['Room', 'Gate', 'Bus', 'Page', 'Exit', 'Line', 'Level', 'Unit', 'No.']), str(r.randint(1, 99))]
def region(x, y):
    """Where a point is, in words; None if that is unclear."""
    f = lambda v: 0 if v < .37 else 1 if .44 < v < .56 else 2 if v > .63 else None
    a, b = f(x), f(y)
    if a is None or b is None: return None
    return [['at the top left', 'at the top', 'at the top right'], ['on the left', 'in the middle', 'on the right'], ['at the bottom left', 'at the bottom', 'at the bottom right']][b][a]
_noise = None
def picture(r, held=False, unseen=False, kind=None):
    """Draws a picture: returns pixels of the size that the processor makes [h, w, 3], the facts, and the picture as drawn."""
    global _noise
    while True:
        kind_ = kind or r.choices(['text', 'shapes', 'both', 'blank'], [50, 36, 12, 2])[0]
        area = math.exp(r.uniform(math.log(96 ** 2), math.log(430 ** 2))); lim = math.log(5 if kind_ == 'text' else 2.2)
        ratio = math.exp(r.uniform(-math.log(1.6) if kind_ == 'text' else -lim, lim)) if r.random() < .8 else r.choice([1, 4 / 3, 3 / 2, 16 / 9])
        W, H = max(24, round(math.sqrt(area * ratio))), max(24, round(math.sqrt(area / ratio)))
        if r.random() < .2: W, H = max(32, round(W / 32) * 32), max(32, round(H / 32) * 32)  # often nothing is scaled
        h2, w2 = smart(H, W)
        if MIN <= h2 * w2 <= MAX: break
    sc = math.sqrt(h2 * w2 / (W * H))  # from the drawing to the model's picture
    bgn = r.choices(NAMES, [3, 3, 3, 3, 2, 2, 3, 1.5, 7, 28, 4])[0]; bg = shade(r, bgn)
    if r.random() < .12:
        g = tuple(min(255, max(0, v + r.randint(-18, 18))) for v in bg); a = np.linspace(0, 1, H if r.random() < .5 else W)
        a = a[:, None, None] if len(a) == H and H != W else a[None, :, None]
        arr = np.broadcast_to(np.array(bg) * (1 - a) + np.array(g) * a, (H, W, 3)).astype(np.uint8) if a.shape[0] in (1, H) and a.shape[1] in (1, W) else np.full((H, W, 3), bg, np.uint8)
        img = Image.fromarray(np.ascontiguousarray(arr))
    else: img = Image.new('RGB', (W, H), bg)
    facts = {'bg': bgn, 'shapes': [], 'text': None, 'kind': kind_}
    boxes = []
    if kind_ in ('text', 'both'):
        for _ in range(60):
            tk, words = content(r, held)
            if kind_ == 'both' and len(words) > 2: continue
            fn = r.choice(UNSEEN if unseen else FONTS)
            nl = 1 if len(words) == 1 else r.randint(1, min(3, len(words)))
            if nl == 1: lines = [' '.join(words)]
            else:
                cuts = sorted(r.sample(range(1, len(words)), nl - 1)); lines = [' '.join(words[a:b]) for a, b in zip([0] + cuts, cuts + [len(words)])]
            ref = font(fn, 40); wid = max(ref.getlength(l) for l in lines) / 40; room = .92 if kind_ == 'text' else .8
            big = min(W * room / wid, H * (room if kind_ == 'text' else .4) / (1.25 * nl), 130 / sc)
            small = max(17 / sc, 8)
            if big < small: continue
            size = int(math.exp(r.uniform(math.log(small), math.log(big)))) if r.random() < .8 else int(big)
            size = max(int(small), size)
            for _ in range(30):
                cn = r.choices(NAMES, [3, 3, 3, 2, 2, 2, 2, 2, 9, 5, 2])[0]; c = shade(r, cn)
                if cn != bgn and abs(luma(c) - luma(bg)) > 55: break
            else: continue
            f = font(fn, size); lh = size * r.uniform(1.1, 1.4)
            tw, th = math.ceil(max(f.getlength(l) for l in lines)) + 8, math.ceil(lh * nl + size * .3) + 4
            m = Image.new('L', (tw, th), 0); d = ImageDraw.Draw(m); al = r.choice([0, .5, .5, 1])
            for i, l in enumerate(lines): d.text((4 + (tw - 8 - f.getlength(l)) * al, 2 + i * lh), l, font=f, fill=255)
            if r.random() < .18 and kind_ == 'text': m = m.rotate(r.uniform(-5, 5), Image.BICUBIC, expand=True)
            bb = m.getbbox()
            if not bb: continue
            m = m.crop(bb); tw, th = m.size
            if tw > W - 4 or th > H - 4: continue
            if r.random() < .35: x, y = (W - tw) // 2, (H - th) // 2
            else: x, y = r.randint(2, W - tw - 2), r.randint(2, H - th - 2)
            img.paste(c, (x, y), m)
            facts['text'] = {'kind': tk, 'str': ' '.join(words), 'n': len(words), 'color': cn, 'where': region((x + tw / 2) / W, (y + th / 2) / H), 'rect': (x, y, tw, th)}
            boxes.append((x, y, tw, th))
            if kind_ == 'text' and r.random() < .08:  # a line under it, or a frame
                dd = ImageDraw.Draw(img); k = max(1, size // 14)
                if r.random() < .5 and y + th + 3 * k < H: dd.line((x, y + th + 2 * k, x + tw, y + th + 2 * k), fill=c, width=k)
                else: dd.rectangle((1, 1, W - 2, H - 2), outline=c, width=k)
            break
        else: return picture(r, held, unseen, kind)
    if kind_ in ('shapes', 'both'):
        n = r.choice([1, 2, 3]) if kind_ == 'both' else r.choices(range(1, 10), [20, 18, 16, 12, 9, 7, 6, 6, 6])[0]
        least = max(10 / sc, 6); most = min(W, H) * .45
        usable = [c for c in NAMES if c != bgn]
        if n > 4 and r.random() < .6: usable = r.sample(usable, r.randint(1, 3))  # something to count
        kinds = KN if n <= 4 or r.random() < .4 else r.sample(KN, r.randint(1, 3))
        tries = 0
        while len(facts['shapes']) < n and tries < 300:
            tries += 1
            hi = max(least * 1.01, min(most, math.sqrt(W * H / n) * .42)) ; R = math.exp(r.uniform(math.log(least), math.log(hi)))
            if n < 4: R = max(R, min(hi, least * 1.3))
            if 2 * R + 4 > min(W, H): continue
            x, y = r.uniform(R + 2, W - R - 2), r.uniform(R + 2, H - R - 2)
            if n == 1 and r.random() < .3: x, y = W / 2, H / 2
            if any(math.hypot(x - s['x'], y - s['y']) < (R + s['r']) * 1.06 + 2 / sc for s in facts['shapes']): continue
            if any(bx - R - 3 < x < bx + bw + R + 3 and by - R - 3 < y < by + bh + R + 3 for bx, by, bw, bh in boxes): continue
            for _ in range(20):
                cn = r.choice(usable); c = shade(r, cn)
                if dist(c, bg) > 95: break
            else: continue
            k = r.choice(kinds); line = r.uniform(.16, .26) if k in ('circle', 'square', 'triangle', 'diamond') and R * sc > 20 and r.random() < .1 else 0
            s = {'kind': k, 'color': cn, 'rgb': c, 'x': x, 'y': y, 'r': R, 'rot': r.uniform(-.2, .2) if r.random() < .4 else 0, 'line': line, 'where': region(x / W, y / H)}
            facts['shapes'].append(s); draw_shape(r, img, s)
        if not facts['shapes']: return picture(r, held, unseen, kind)
    for s in facts['shapes']: s['u'], s['v'] = s['x'] / W, s['y'] / H
    if r.random() < .12: img = img.filter(ImageFilter.GaussianBlur(r.uniform(.3, .8) * min(1.2, max(.5, 1 / sc))))
    if r.random() < .18:
        if _noise is None: _noise = np.random.RandomState(1).randn(700, 1400, 1).astype(np.float32) * np.ones(3, np.float32)
        oy, ox = r.randint(0, max(0, 690 - H)), r.randint(0, max(0, 1390 - W)); nz = _noise[oy:oy + H, ox:ox + W]
        if nz.shape[:2] == (H, W): img = Image.fromarray((np.asarray(img, np.float32) + nz * r.uniform(2, 9)).clip(0, 255).astype(np.uint8))
    if r.random() < .25:
        b = io.BytesIO(); img.save(b, 'JPEG', quality=r.randint(45, 95)); img = Image.open(b).convert('RGB')
    out = img if (h2, w2) == (H, W) else img.resize((w2, h2), Image.BICUBIC)
    return np.asarray(out), facts, img
# ---- questions -------------------------------------------------------------------------------------------------------------------
A = lambda w: ('An ' if w[0] in 'aeiou' else 'A ') + w
a = lambda w: ('an ' if w[0] in 'aeiou' else 'a ') + w
S = lambda s: s['color'] + ' ' + s['kind']
cap = lambda s: s[0].upper() + s[1:]
def join(l): return l[0] if len(l) == 1 else ', '.join(l[:-1]) + ' and ' + l[-1]
def thing(t): return f'the {t["kind"]} "{t["str"]}"'
def in_order(shapes):
    """The shapes from left to right; None if that is unclear."""
    l = sorted(shapes, key=lambda s: s['u'])
    return l if all(q['u'] - p['u'] > .05 for p, q in zip(l, l[1:])) else None
def describe(f):
    bg = f'on a {f["bg"]} background.' if f['bg'] != 'orange' else 'on an orange background.'
    sh, t = f['shapes'], f['text']
    if not sh and not t: return f'{A(f["bg"])} background with nothing on it.'
    if not sh: return f'{cap(thing(t))} in {t["color"]} {bg}'
    what, parts = f'{len(sh)} shapes', None
    if len(sh) <= 4:
        o = in_order(sh)
        if o is None: return None  # nobody knows in which order to name them
        what, parts = None, [a(S(s)) for s in o]
    if t: return cap(join(parts + [thing(t)]) if what is None else what + ' and ' + thing(t)) + ' ' + bg
    return cap(what if what else join(parts)) + ' ' + bg
POOL = {
    'read': ['What does it say?', 'What does the picture say?', 'Read the text.', 'What is written here?', 'What is written in the picture?', 'Read it.', 'What does the text say?', 'What text is in the picture?', 'Transcribe the text.', 'Can you read this?', 'What text do you see?', 'Please read the text in this image.', 'What does this say?', 'OCR', 'Read this to me.', 'What is the text?'],
    'read_word': ['What word is this?', 'What is the word?', 'Which word is this?', 'Read the word.'], 'read_number': ['What number is this?', 'What is the number?', 'Which number do you see?', 'Read the number.'],
    'read_price': ['What is the price?', 'How much is it?', 'What does it cost?', 'Read the price.'], 'read_date': ['What is the date?', 'What date is this?', 'Which date is it?', 'Read the date.'], 'read_time': ['What time is it?', 'What is the time?', 'Read the time.'], 'read_text': ['What are the words?', 'Read the words.', 'Which words are these?'],
    'textcolor': ['What color is the text?', 'What colour is the text?', 'Which color does the text have?', 'In what color is it written?', 'What is the color of the text?'],
    'bg': ['What color is the background?', 'What colour is the background?', 'What is the background color?', 'Which color does the background have?'],
    'anytext': ['Is there any text?', 'Is there text in the picture?', 'Does the picture have text?', 'Do you see any words?', 'Is anything written here?'],
    'textwhere': ['Where is the text?', 'Where is it written?', 'Where do you see the text?', 'In which place is the text?'],
    'nwords': ['How many words are there?', 'How many words do you see?', 'Count the words.'],
    'describe': ['Describe the picture.', 'What do you see?', 'What is in the picture?', 'Describe this image.', 'What is this?', 'Describe it.', 'What is in this image?', 'Tell me what you see.', 'What can you see in this picture?', 'What does the picture show?', 'Describe what you see.', 'What is shown here?'],
    'count': ['How many shapes are there?', 'How many shapes do you see?', 'Count the shapes.', 'How many shapes are in the picture?', 'How many shapes?'],
    'countk': ['How many {} are there?', 'How many {} do you see?', 'Count the {}.', 'How many {} are in the picture?', 'How many {}?'],
    'shape1': ['What shape is this?', 'Which shape is it?', 'What shape do you see?', 'What is the shape?', 'Name the shape.'], 'color1': ['What color is it?', 'What colour is it?', 'What color is the shape?', 'Which color does it have?'],
    'colork': ['What color is the {}?', 'What colour is the {}?', 'Which color does the {} have?', 'What is the color of the {}?'],
    'kindc': ['What shape is {}?', 'Which shape is {}?', 'What is the {} shape?', 'What kind of shape is the {} one?'],
    'where': ['Where is the {}?', 'Where do you see the {}?', 'In which place is the {}?', 'Where in the picture is the {}?'],
    'is': ['Is there a {}?', 'Do you see a {}?', 'Does the picture have a {}?', 'Is there a {} in the picture?'],
    'left': ['What is left of the {}?', 'What is to the left of the {}?', 'Which shape is left of the {}?'], 'right': ['What is right of the {}?', 'What is to the right of the {}?', 'Which shape is right of the {}?'],
    'above': ['What is above the {}?', 'Which shape is above the {}?'], 'below': ['What is below the {}?', 'Which shape is below the {}?', 'What is under the {}?'],
    'larger': ['Which is larger, the {} or the {}?', 'Which is bigger, the {} or the {}?', 'What is larger, the {} or the {}?'], 'smaller': ['Which is smaller, the {} or the {}?', 'What is smaller, the {} or the {}?'],
    'largest': ['Which shape is the largest?', 'What is the biggest shape?', 'Which shape is the biggest?', 'What is the largest shape?'], 'smallest': ['Which shape is the smallest?', 'What is the smallest shape?'],
    'at': ['What is {}?', 'Which shape is {}?', 'What do you see {}?'],
}
TALK = [(['Hello', 'hello', 'Hi', 'hi', 'Hey', 'Hello!', 'Hi there', 'Good morning', 'Good evening', 'hello there'], 'Hello! Show me a picture, and I read it or name its shapes.'),
        (['What can you do?', 'what can you do', 'How can you help me?', 'What are you good at?', 'Help', 'What do you do?', 'What can I ask you?'], 'I read words and numbers in pictures, and I name, count and find shapes.'),
        (['Who are you?', 'What is your name?', 'who are you', 'What are you?', 'Tell me about yourself.'], 'I am Opal, a small model that sees.'),
        (['Thanks', 'Thank you', 'Thank you!', 'thanks!', 'Thanks a lot', 'Great, thanks.'], 'You are welcome.'), (['Bye', 'Goodbye', 'bye', 'See you', 'Good night', 'See you later'], 'Goodbye!'),
        (['How are you?', 'How do you do?', 'how are you', 'How is it going?'], 'I am well. Show me a picture.'), (['Who made you?', 'Who trained you?', 'Where do you come from?'], 'The Antigravity project trained me on drawn pictures.'),
        (['Which shapes do you know?', 'What shapes can you name?', 'What shapes do you know?'], 'Circles, squares, triangles, stars, hearts, diamonds and crosses.'), (['Which colors do you know?', 'What colors can you name?', 'Which colours do you know?'], 'Red, green, blue, yellow, orange, purple, pink, brown, black, white and gray.')]
NOPIC = 'I see no picture. Please show me one.'
def ask(r, kind, *args, strict=False):
    q = r.choice(POOL[kind]).format(*args)
    if strict: return q
    p = r.random()
    if p < .1: q = q.rstrip('?.')
    if p < .05 or .1 < p < .16: q = q[0].lower() + q[1:]
    return q
def questions(r, f):
    """All kinds of questions that the picture allows, each once: (kind, question, answer, weight)."""
    sh, t, out = f['shapes'], f['text'], []
    add = lambda kind, w, ans, *args, name=None: out.append((name or kind, ask(r, kind, *args), ans, w))
    uniq = {}
    for s in sh: uniq[S(s)] = uniq.get(S(s), 0) + 1
    one = [s for s in sh if uniq[S(s)] == 1]  # shapes that colour and kind name
    kinds = {}; cols = {}
    for s in sh: kinds.setdefault(s['kind'], []).append(s); cols.setdefault(s['color'], []).append(s)
    def nm(s):
        """A name of s: its kind if no other has it, or colour and kind."""
        return s['kind'] if len(kinds[s['kind']]) == 1 and r.random() < .4 else S(s)
    if t:
        add('read', 5, t['str']); add('read', 2, t['str'])
        if not sh: add('read_' + t['kind'], 3, t['str'], name='read')
        add('textcolor', .8, cap(t['color']) + '.')
        if t['where']: add('textwhere', 1, cap(t['where']) + '.')
        add('nwords', .5, str(t['n']))
    else: add('read', .5, 'There is no text.', name='notext')
    add('anytext', .35, 'Yes.' if t else 'No.'); add('bg', .5, cap(f['bg']) + '.'); (add('describe', 2, describe(f)) if describe(f) else None)
    n = len(sh); add('count', (1.6 if n else .25), str(n))
    if n:
        ks = list(kinds); k = r.choice(ks) if r.random() < .75 else r.choice(KN); add('countk', 1.3, str(len(kinds.get(k, []))), KINDS[k], name='count kind')
        c = r.choice(list(cols)) if r.random() < .8 else r.choice(NAMES); add('countk', 1.1, str(len(cols.get(c, []))), c + ' shapes', name='count color')
        s = r.choice(sh); k, c = (s['kind'], s['color']) if r.random() < .75 else (r.choice(KN), r.choice(NAMES)); add('countk', .7, str(uniq.get(c + ' ' + k, 0)), c + ' ' + KINDS[k], name='count both')
        p = r.random(); s = r.choice(sh); k, c = (s['kind'], s['color']) if p < .45 else (s['kind'], r.choice(NAMES)) if p < .65 else (r.choice(KN), s['color']) if p < .85 else (r.choice(KN), r.choice(NAMES))
        if r.random() < .6: q = c + ' ' + k; ok = q in uniq
        else: q = k; ok = k in kinds
        out.append(('is', ask(r, 'is', q).replace(' a orange', ' an orange'), 'Yes.' if ok else 'No.', .8))
        if n == 1 and not t: add('shape1', 3, A(sh[0]['kind']) + '.', name='shape'); add('color1', 2, cap(sh[0]['color']) + '.', name='color')
        u = [s for s in sh if len(kinds[s['kind']]) == 1]
        if u: s = r.choice(u); add('colork', 1.3, cap(s['color']) + '.', s['kind'], name='color')
        u = [s for s in sh if len(cols[s['color']]) == 1]
        if u: s = r.choice(u); add('kindc', 1.2, A(s['kind']) + '.', s['color'], name='shape')
        u = [s for s in one if s['where']]
        if u: s = r.choice(u); add('where', 1.6, cap(s['where']) + '.', nm(s))
        # what is at a place: one shape alone is there, and no other is near to it
        for s in sh:
            if s['where'] and n <= 5 and not t and all(o is s or (o['where'] and o['where'] != s['where']) for o in sh): add('at', .5, cap(a(S(s))) + '.', s['where']); break
        if 2 <= n <= 4 and one and not t:
            s = r.choice(one); d = r.choice(['left', 'right', 'above', 'below']); ax, sg = {'left': ('u', -1), 'right': ('u', 1), 'above': ('v', -1), 'below': ('v', 1)}[d]; ot = 'v' if ax == 'u' else 'u'
            far = [(o, (o[ax] - s[ax]) * sg) for o in sh if o is not s]
            if all(abs(x) > .1 for _, x in far):  # each is clearly on one side
                side = [o for o, x in far if x > 0]
                if not side: add(d, .9, 'Nothing.', nm(s), name='beside')
                elif len(side) == 1: add(d, 1.6, A(S(side[0])) + '.', nm(s), name='beside')
        if n >= 2 and len(one) >= 2:
            p, q = r.sample(one, 2)
            if max(p['r'], q['r']) / min(p['r'], q['r']) > 1.5:
                big, sml = (p, q) if p['r'] > q['r'] else (q, p)
                if r.random() < .65: add('larger', 1.1, f'The {S(big)}.', S(p), S(q), name='size')
                else: add('smaller', 1.1, f'The {S(sml)}.', S(p), S(q), name='size')
        if 2 <= n <= 6:
            o = sorted(sh, key=lambda s: s['r'])
            if o[-1]['r'] / o[-2]['r'] > 1.45 and o[-1] in one: add('largest', .9, f'The {S(o[-1])}.', name='size')
            if o[1]['r'] / o[0]['r'] > 1.45 and o[0] in one: add('smallest', .6, f'The {S(o[0])}.', name='size')
    return out
def pick(r, l):
    """The list in a random order in which heavy ones tend to come first."""
    return [l[i] for i in sorted(range(len(l)), key=lambda i: -(r.random() ** (1 / l[i][3])))]
def talk(r):
    qs, ans = r.choice(TALK); return ('talk', r.choice(qs), ans)
def single(r, f):
    """Turns about one picture: (kind, question, answer); the picture comes with the first."""
    l = pick(r, questions(r, f)); turns = [x[:3] for x in l]
    if r.random() < .06: turns.insert(r.randint(1, min(3, len(turns))), talk(r))
    return turns
def pair(r, f, g):
    """Questions about two pictures that were shown: (kind, question, answer, weight)."""
    out = []; F = (f, g); word = ['first', 'second']
    add = lambda kind, q, ans, w=1: out.append((kind, q, ans, w))
    more = lambda x, y, same='They have the same number.': 'The first.' if x > y else 'The second.' if y > x else same
    def num(p, k): return sum(1 for s in p['shapes'] if k is None or s['kind'] == k or s['color'] == k)
    present = [s['kind'] for p in F for s in p['shapes']]
    k = r.choice(present) if present and r.random() < .85 else r.choice(KN)
    for kk, name in ((None, 'shapes'), (k, KINDS[k])):
        add('pair more', r.choice(['Which picture has more {}?', 'Which has more {}?', 'In which picture are more {}?', 'Which image has more {}?']).format(name), more(num(f, kk), num(g, kk)), 1.6)
        if r.random() < .5: add('pair more', r.choice(['Which picture has fewer {}?', 'Which has fewer {}?']).format(name), more(-num(f, kk), -num(g, kk)), .6)
    i = r.randint(0, 1); p = F[i]; w = word[i]
    add('pair count', r.choice(['How many {} are in the {} picture?', 'How many {} does the {} picture have?', 'How many {} are there in the {} picture?']).format(*(('shapes', w) if r.random() < .5 else (KINDS[k], w))), None); kk = None if ' shapes ' in out[-1][1] else k; out[-1] = (out[-1][0], out[-1][1], str(num(p, kk)), 1.)
    i = r.randint(0, 1); p = F[i]; w = word[i]
    add('pair read', r.choice(['What does the {} picture say?', 'Read the text in the {} picture.', 'What is written in the {} picture?', 'Read the {} picture.']).format(w), p['text']['str'] if p['text'] else 'There is no text.', 2 if p['text'] else .5)
    i = r.randint(0, 1)
    if describe(F[i]): add('pair describe', r.choice(['Describe the {} picture.', 'What is in the {} picture?', 'What do you see in the {} picture?']).format(word[i]), describe(F[i]), 1)
    i = r.randint(0, 1); add('pair bg', r.choice(['What color is the background of the {} picture?', 'What is the background color of the {} picture?']).format(word[i]), cap(F[i]['bg']) + '.', .5)
    has = lambda x, y: 'Both.' if x and y else 'The first.' if x else 'The second.' if y else 'Neither.'
    add('pair has', r.choice(['Which picture has text?', 'Which picture has words?', 'Which picture has something written in it?']), has(f['text'], g['text']), .7)
    c = r.choice([s for p in F for s in p['shapes']] or [{'color': r.choice(NAMES), 'kind': r.choice(KN)}]); c = {'color': r.choice(NAMES), 'kind': c['kind']} if r.random() < .2 else c
    add('pair has', r.choice(['Which picture has a {}?', 'In which picture is a {}?']).format(S(c)).replace(' a orange', ' an orange'), has(*[any(S(s) == S(c) for s in p['shapes']) for p in F]), .9)
    if f['text'] and g['text']: add('pair same', r.choice(['Do both pictures say the same?', 'Do the pictures say the same?', 'Is the text the same in both?']), 'Yes.' if f['text']['str'] == g['text']['str'] else 'No.', .7)
    return out
def double(r, f, g):
    """Turns about two pictures: (kind, question, answer), and after which turn the second picture comes (0: both come first)."""
    l = [x[:3] for x in pick(r, pair(r, f, g))]
    if r.random() < .5: return l, 0
    first = [x[:3] for x in pick(r, questions(r, f))[:1]]; second = [x[:3] for x in pick(r, questions(r, g))[:1]]
    return first + second + l, 1
def plain(r):
    """Turns without a picture."""
    turns = [talk(r) for _ in range(r.randint(1, 4))]
    if r.random() < .5:
        k = r.choice([k for k in POOL if '{}' not in POOL[k][0]]); q = ask(r, k)
        turns.insert(r.randint(0, len(turns)), ('nopicture', q, NOPIC))
    return turns
if __name__ == '__main__':
    import sys, time
    os.makedirs('pictures', exist_ok=True); r = random.Random(int(sys.argv[1]) if len(sys.argv) > 1 else 0); t0 = time.time(); n = 24
    for i in range(n):
        px, f, img = picture(r); Image.fromarray(px).save(f'pictures/{i}.png')
        print(i, px.shape, describe(f))
    print((time.time() - t0) / n)
    rr = random.Random(1); t0 = time.time(); [picture(rr) for _ in range(300)]; print('per picture', (time.time() - t0) / 300)
