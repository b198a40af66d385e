"""Writes neighbours.json.gz: what transformers, torchvision and Pillow make of pictures of many sizes: python3 golden.py FAMILIES OUT

FAMILIES is internal/fixture/data/families. Pictures and sizes are formulas, which neighbours_test.go has, too. For each resizing and each
processor of a fixture there is the SHA-256 of the bytes, or of the float32 values (nothing, if torch fails), and for the published configurations the sizes
that pictures get. A size that transformers refuses is "refused".
"""
import gzip, hashlib, importlib, json, os, sys
import numpy as np, torch
from PIL import Image
from torchvision.transforms.v2 import functional as F


def scene(w, h):
    """Gradients with noise, in all bytes."""
    y, x, c = np.mgrid[0:h, 0:w, 0:3].astype(np.uint64)
    noise = (x * 2654435761 + y * 40503 + c * 97 + x * y * 2246822519) % 4294967296 >> 25
    return ((x * 3 + y * 5 + c * 70 + noise) % 256).astype(np.uint8)


class Sizes:
    """A linear congruential generator."""
    def __init__(self, seed): self.state = seed

    def next(self, n):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % n

    def side(self, most):
        """1 to most, small ones as often as large ones."""
        return 1 + self.next(1 + self.next(most))


def sha(array): return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


def resizes():
    s, out = Sizes(1), []
    for i in range(120):
        w, h, tw, th = (s.side(150) for _ in range(4))
        if i % 5 == 0: th = h
        if i % 7 == 0: tw = w
        rgb = scene(w, h)
        tensor = torch.from_numpy(rgb.copy()).permute(2, 0, 1).contiguous()
        got = {'size': [w, h, tw, th]}
        for name, mode in (('bilinear', F.InterpolationMode.BILINEAR), ('bicubic', F.InterpolationMode.BICUBIC)):
            try:
                got[name] = sha(F.resize(tensor, [th, tw], interpolation=mode, antialias=True).permute(1, 2, 0).numpy())
            except RuntimeError:  # torch 2.11 fails in some pictures of a pixel's width or height
                got[name] = ''
        got['lanczos'] = sha(np.array(Image.fromarray(rgb, 'RGB').resize((tw, th), Image.Resampling.LANCZOS)))
        out.append(got)
    return out


CLASSES = {
    'vl-qwen3vl': 'qwen2_vl.Qwen2VLImageProcessor', 'vl-glmocr': 'glm46v.Glm46VImageProcessor', 'vl-gemma4-e': 'gemma4.Gemma4ImageProcessor',
    'vl-gemma4-unified': 'gemma4_unified.Gemma4UnifiedImageProcessor', 'vl-gemma3': 'gemma3.Gemma3ImageProcessor',
    'vl-mistral3': 'pixtral.PixtralImageProcessor', 'vl-lfm2': 'lfm2_vl.Lfm2VlImageProcessor', 'vl-smolvlm': 'smolvlm.SmolVLMImageProcessorPil',
}


def processor(name):
    model, cls = name.split('.')
    middle = 'image_processing_pil_' if cls.endswith('Pil') else 'image_processing_'
    return getattr(importlib.import_module('transformers.models.%s.%s%s' % (model, middle, model)), cls)


def values(families):
    out = {}
    for folder, name in CLASSES.items():
        p = processor(name).from_pretrained(os.path.join(families, folder))
        s, out[folder] = Sizes(2), []
        for i in range(60):
            w, h = s.side(250), s.side(250)
            extra = {'patch_size': {'height': 16, 'width': 16}} if folder == 'vl-mistral3' else {}  # as PixtralProcessor: patches of merged ones
            try:
                got = p(images=[Image.fromarray(scene(w, h), 'RGB')], return_tensors='pt', **extra)['pixel_values']
                got = got if isinstance(got, torch.Tensor) else torch.stack(list(got))
                got = {'shape': list(got.shape), 'values': sha(got.to(torch.float32).numpy())}
            except ValueError as e:
                got = {'refused': str(e)}
            except RuntimeError:
                got = {'shape': []}
            out[folder].append({'size': [w, h], **got})
    return out


def sizes():
    from transformers.models.qwen2_vl.image_processing_qwen2_vl import smart_resize as qwen
    from transformers.models.glm46v.image_processing_glm46v import smart_resize as glm
    from transformers.models.gemma4.image_processing_gemma4 import get_aspect_ratio_preserving_size as gemma
    from transformers.models.smolvlm import image_processing_pil_smolvlm as smol
    from transformers.models.pixtral.image_processing_pixtral import get_resize_output_image_size as pixtral
    lfm = processor('lfm2_vl.Lfm2VlImageProcessor')()
    smolvlm = processor('smolvlm.SmolVLMImageProcessorPil')(size={'longest_edge': 2048}, max_image_size={'longest_edge': 512})

    def lfm2(w, h):
        a = dict(max_image_tokens=256, encoder_patch_size=16, downsample_factor=2)
        small = list(lfm.smart_resize(height=h, width=w, min_image_tokens=64, **a))
        if lfm._is_image_too_large(height=h, width=w, max_pixels_tolerance=2.0, **a):
            return small + list(lfm._get_grid_layout(h, w, min_tiles=2, max_tiles=10, tile_size=512)[:2])
        return small

    rules = {
        'qwen3vl': lambda w, h: qwen(h, w, 32, 65536, 16777216)[::-1],
        'glm4v': lambda w, h: glm(2, h, w, 2, 28, 12544, 9633792)[::-1],
        'gemma4v-280': lambda w, h: gemma(h, w, 16, 280 * 9, 3)[::-1],
        'gemma4v-1120': lambda w, h: gemma(h, w, 16, 1120 * 9, 3)[::-1],
        'pixtral': lambda w, h: pixtral(np.zeros((3, h, w), np.uint8), (1540, 1540), (28, 28), 'channels_first')[::-1],
        'lfm2': lfm2,
        'idefics3': lambda w, h: list(smol.get_resize_output_image_size(np.broadcast_to(np.uint8(0), (3, h, w)), 2048)[::-1])
        + list(smolvlm.get_number_of_image_patches(h, w)[:0:-1]),
    }
    out = {}
    for name, rule in rules.items():
        s, out[name] = Sizes(3), []
        for i in range(400):
            w, h = s.side(5000), s.side(5000)
            try:
                got = [int(n) for n in rule(w, h)]
            except ValueError as e:
                got = 'refused'
            out[name].append([w, h, got])
    return out


import PIL, torchvision, transformers
golden = {'versions': [transformers.__version__, torchvision.__version__, torch.__version__, PIL.__version__],
          'resizes': resizes(), 'values': values(sys.argv[1]), 'sizes': sizes()}
with open(os.path.join(sys.argv[2], 'neighbours.json.gz'), 'wb') as f:
    f.write(gzip.compress(json.dumps(golden).encode(), mtime=0))
