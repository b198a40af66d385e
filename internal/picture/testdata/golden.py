"""Makes pictures in many encodings, and golden.json.gz with their pixels as Pillow decodes them: python3 golden.py OUT

A picture is turned upright by ImageOps.exif_transpose, and lies on white if it has transparency, by Image.paste. Grey of 16 bits is
reduced to the high byte. golden.json.gz has for each file its width, height and RGB, packed with zlib in base64.
"""
import base64, gzip, json, os, struct, sys, zlib
import numpy as np
from PIL import Image, ImageOps


def scene(w, h):
    """Gradients and small squares."""
    y, x = np.mgrid[0:h, 0:w]
    return np.stack([x * 255 // max(w - 1, 1), y * 255 // max(h - 1, 1), (x // 5 + y // 4) % 2 * 200 + 20], -1).astype(np.uint8)


def alpha(w, h):
    """Opaque, transparent and in between."""
    y, x = np.mgrid[0:h, 0:w]
    a = (x * 37 + y * 11) % 256
    return np.where(y < h // 3, 255, np.where(y > 2 * h // 3, 0, a)).astype(np.uint8)


def chunk(kind, body):
    return struct.pack('>I', len(body)) + kind + body + struct.pack('>I', zlib.crc32(kind + body))


def png(path, samples, colour, interlaced=False, extra=b''):
    """A PNG of samples [h, w, channels], uint8 or uint16, with filter 0."""
    h, w, depth = *samples.shape[:2], samples.dtype.itemsize * 8
    passes = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)] if interlaced else [(0, 0, 1, 1)]
    raw = b''
    for x, y, dx, dy in passes:
        part = samples[y::dy, x::dx]
        if part.size:
            raw += b''.join(b'\0' + row.astype('>u2' if depth == 16 else 'u1').tobytes() for row in part)
    header = struct.pack('>IIBBBBB', w, h, depth, colour, 0, 0, interlaced)
    with open(path, 'wb') as f:
        f.write(b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', header) + extra + chunk(b'IDAT', zlib.compress(raw)) + chunk(b'IEND', b''))


def main(out):
    os.makedirs(out, exist_ok=True)
    at = lambda name: os.path.join(out, name)
    w, h = 37, 29
    rgb, a = scene(w, h), alpha(w, h)
    rgba = np.dstack([rgb, a])
    image, clear = Image.fromarray(rgb, 'RGB'), Image.fromarray(rgba, 'RGBA')
    grey = image.convert('L')
    wide = rgb.astype(np.uint16) * 257 ^ 0x5a
    exif = lambda o, order='<': b'Exif\0\0' + struct.pack(order + '2sHIHHHIHHI', b'II' if order == '<' else b'MM', 42, 8, 1, 0x112, 3, 1, o, 0, 0)
    xmp = b'<x:xmpmeta><rdf:Description tiff:Orientation="%d"/></x:xmpmeta>'

    image.save(at('rgb.png'))
    clear.save(at('rgba.png'))
    grey.save(at('l.png'))
    clear.convert('LA').save(at('la.png'))
    grey.convert('1').save(at('1.png'))
    image.quantize(200).save(at('p.png'))
    image.quantize(13).save(at('p4.png'))
    image.quantize(3).save(at('p2.png'))
    p = image.quantize(50)
    p.save(at('p-alphas.png'), transparency=bytes(range(0, 250, 5)))
    p.save(at('p-index.png'), transparency=7)
    image.save(at('rgb-key.png'), transparency=tuple(int(c) for c in rgb[3, 4]))
    grey.save(at('l-key.png'), transparency=grey.getpixel((4, 3)))
    png(at('rgb16.png'), wide, 2)
    png(at('rgba16.png'), np.dstack([wide, a.astype(np.uint16) * 257]), 6)
    png(at('l16.png'), wide[:, :, :1], 0)
    png(at('rgb-interlaced.png'), rgb, 2, True)
    png(at('rgba16-interlaced.png'), np.dstack([wide, a.astype(np.uint16) * 257]), 6, True)
    image.save(at('exif-6.png'), exif=exif(6))
    png(at('xmp-8.png'), rgb, 2, extra=chunk(b'iTXt', b'XML:com.adobe.xmp\0\0\0\0\0' + xmp % 8))
    block = exif(5, '>').hex().encode()
    profile = b'\nexif\n%8d\n' % (len(block) // 2) + b'\n'.join(block[i:i + 72] for i in range(0, len(block), 72)) + b'\n'
    png(at('profile-5.png'), rgb, 2, extra=chunk(b'zTXt', b'Raw profile type exif\0\0' + zlib.compress(profile)))

    for s, name in enumerate(['444', '422', '420']):
        image.save(at(name + '.jpg'), quality=90, subsampling=s)
    for size in [(1, 1), (2, 2), (3, 3), (4, 5), (5, 2), (6, 1), (16, 16), (17, 33)]:
        for s, name in enumerate(['444', '422', '420']):
            if s:
                Image.fromarray(scene(*size), 'RGB').save(at('%s-%dx%d.jpg' % (name, *size)), quality=80, subsampling=s)
    image.save(at('progressive.jpg'), quality=75, progressive=True)
    image.save(at('coarse.jpg'), quality=10, subsampling=2)
    grey.save(at('l.jpg'), quality=85)
    image.convert('CMYK').save(at('cmyk.jpg'), quality=95)
    small = Image.fromarray(scene(24, 16), 'RGB')
    for o in range(0, 10):
        small.save(at('exif-%d.jpg' % o), quality=95, subsampling=0, exif=exif(o, '<>'[o % 2]))
    data = open(at('exif-1.jpg'), 'rb').read()
    body = b'http://ns.adobe.com/xap/1.0/\0' + xmp % 3
    with open(at('xmp-3.jpg'), 'wb') as f:  # without EXIF
        small.save(at('plain.jpg'), quality=95, subsampling=0)
        plain = open(at('plain.jpg'), 'rb').read()
        f.write(plain[:2] + b'\xff\xe1' + struct.pack('>H', len(body) + 2) + body + plain[2:])

    image.quantize(100).save(at('p.gif'))
    p.save(at('p-index.gif'), transparency=7)
    grey.save(at('l.gif'))

    image.save(at('lossy.webp'), quality=80)
    image.save(at('lossy-coarse.webp'), quality=10)
    for size in [(1, 1), (2, 3), (3, 2), (16, 16), (33, 18)]:
        Image.fromarray(scene(*size), 'RGB').save(at('lossy-%dx%d.webp' % size), quality=80)
    image.save(at('lossless.webp'), lossless=True)
    clear.save(at('lossy-alpha.webp'), quality=80)
    clear.save(at('lossless-alpha.webp'), lossless=True, exact=True)
    image.save(at('exif-6.webp'), quality=80, exif=exif(6))
    image.save(at('xmp-4.webp'), lossless=True, xmp=xmp % 4)
    image.save(at('animated.webp'), save_all=True, append_images=[ImageOps.invert(image)], quality=80)
    image.save(at('animated-lossless.webp'), save_all=True, append_images=[ImageOps.invert(image)], lossless=True)

    golden = {}
    for name in sorted(os.listdir(out)):
        if name.rsplit('.', 1)[-1] not in ('png', 'jpg', 'gif', 'webp'):
            continue
        im = Image.open(at(name))
        im.load()
        im = ImageOps.exif_transpose(im)
        if im.mode.startswith('I'):
            im = Image.fromarray((np.array(im) >> 8).astype(np.uint8), 'L')
        if im.mode in ('RGBA', 'LA', 'PA') or 'transparency' in im.info:
            im = im.convert('RGBA')
            white = Image.new('RGB', im.size, (255, 255, 255))
            white.paste(im, mask=im.getchannel('A'))
            im = white
        im = im.convert('RGB')
        golden[name] = {'width': im.width, 'height': im.height, 'rgb': base64.b64encode(zlib.compress(im.tobytes(), 9)).decode()}
    with open(at('golden.json.gz'), 'wb') as f:
        f.write(gzip.compress(json.dumps(golden, indent=0).encode(), mtime=0))


main(sys.argv[1])
