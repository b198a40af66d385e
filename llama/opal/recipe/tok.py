"""Opal's tokenizer: bytes, and words of its questions and answers, as byte-level BPE in Qwen's form. Nearly all merges begin with a
space, so that a word at the beginning of an answer, such as a word that was read, is spelled letter by letter."""
import json, re
import scene
SPECIAL = ['<|endoftext|>', '<|im_start|>', '<|im_end|>', '<|vision_start|>', '<|vision_end|>', '<|vision_pad|>', '<|image_pad|>', '<|video_pad|>']
QWEN = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
ASCII = re.compile(r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\nA-Za-z0-9]?[A-Za-z]+|[0-9]| ?[^\sA-Za-z0-9]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
def alphabet():
    """GPT-2's letters for the 256 bytes."""
    keep = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256)); m = {b: chr(b) for b in keep}; n = 0
    for b in range(256):
        if b not in m: m[b] = chr(256 + n); n += 1
    return m
def build():
    """The vocabulary in the order of its ids, and the merges."""
    letters = alphabet(); words = {}
    texts = [q for l in scene.POOL.values() for q in l] + [x for q, ans in scene.TALK for x in q + [ans]] + [scene.NOPIC]
    texts += [' ' + x for k, v in scene.KINDS.items() for x in (k, v)] * 3 + [' ' + c for c in scene.COLORS] * 3
    texts += ['The word number price date time text in red on a white background with nothing on it and an orange shapes. first second picture pictures both have the same number fewer more image written'
              ' The second the first at the top left at the bottom right in the middle on the left There is no text They background of does color colour has which say words larger smaller to of above below']
    for t in texts:
        for w in ASCII.findall(t):
            if re.fullmatch(' [A-Za-z]+', w): words[w] = 1
    trie, merges = {'Ġ': None}, []
    def chain(s):
        for i in range(2, len(s) + 1):
            if s[:i] not in trie: trie[s[:i]] = None; merges.append((s[:i - 1], s[i - 1]))
    for w in sorted(words, key=lambda w: (len(w), w)): chain('Ġ' + w[1:])
    chain('user'); chain('assistant'); chain('system')
    vocab = [letters[b] for b in sorted(range(256), key=lambda b: ord(letters[b]))]
    vocab += [x + y for x, y in merges]
    return vocab, merges
VOCAB, MERGES = build()
ID = {t: i for i, t in enumerate(VOCAB)}
RANK = {m: i for i, m in enumerate(MERGES)}
for s in SPECIAL: ID[s] = len(ID)
SIZE = (len(ID) + 31) // 32 * 32
END, START, STOP, VS, VE, _, PAD, _ = [ID[s] for s in SPECIAL]
LETTERS = alphabet(); _cache = {}
def bpe(word):
    if word in _cache: return _cache[word]
    p = [LETTERS[b] for b in word.encode()]
    while len(p) > 1:
        k = min(range(len(p) - 1), key=lambda i: RANK.get((p[i], p[i + 1]), 1 << 30))
        if (p[k], p[k + 1]) not in RANK: break
        m = (p[k], p[k + 1]); q, i = [], 0
        while i < len(p):
            if i + 1 < len(p) and (p[i], p[i + 1]) == m: q.append(p[i] + p[i + 1]); i += 2
            else: q.append(p[i]); i += 1
        p = q
    ids = [ID[x] for x in p]
    if len(_cache) < 200000: _cache[word] = ids
    return ids
def encode(text): return [i for w in ASCII.findall(text) for i in bpe(w)]
BACK = {c: b for b, c in LETTERS.items()}
def decode(ids): return bytes(BACK[c] for i in ids if i < len(VOCAB) for c in VOCAB[i]).decode('utf-8', 'replace')
TEMPLATE = ("{%- for message in messages %}{{- '<|im_start|>' + message.role + '\\n' }}{%- if message.content is string %}{{- message.content }}{%- else %}{%- for part in message.content %}"
    "{%- if part.type == 'image' or 'image' in part or 'image_url' in part %}{{- '<|vision_start|><|image_pad|><|vision_end|>' }}{%- elif 'text' in part %}{{- part.text }}{%- endif %}{%- endfor %}{%- endif %}{{- '<|im_end|>\\n' }}{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}")
def tokenizer_json():
    added = [{'id': ID[s], 'content': s, 'single_word': False, 'lstrip': False, 'rstrip': False, 'normalized': False, 'special': True} for s in SPECIAL]
    return {'version': '1.0', 'truncation': None, 'padding': None, 'added_tokens': added, 'normalizer': {'type': 'NFC'},
        'pre_tokenizer': {'type': 'Sequence', 'pretokenizers': [{'type': 'Split', 'pattern': {'Regex': QWEN}, 'behavior': 'Isolated', 'invert': False}, {'type': 'ByteLevel', 'add_prefix_space': False, 'trim_offsets': False, 'use_regex': False}]},
        'post_processor': {'type': 'ByteLevel', 'add_prefix_space': False, 'trim_offsets': False, 'use_regex': False}, 'decoder': {'type': 'ByteLevel', 'add_prefix_space': False, 'trim_offsets': False, 'use_regex': False},
        'model': {'type': 'BPE', 'dropout': None, 'unk_token': None, 'continuing_subword_prefix': '', 'end_of_word_suffix': '', 'fuse_unk': False, 'byte_fallback': False, 'ignore_merges': False,
                  'vocab': {t: i for i, t in enumerate(VOCAB)}, 'merges': [[x, y] for x, y in MERGES]}}
def tokenizer_config():
    return {'added_tokens_decoder': {str(ID[s]): {'content': s, 'lstrip': False, 'normalized': False, 'rstrip': False, 'single_word': False, 'special': True} for s in SPECIAL},
        'additional_special_tokens': SPECIAL[1:], 'bos_token': None, 'eos_token': '<|im_end|>', 'pad_token': '<|endoftext|>', 'unk_token': None, 'add_prefix_space': False, 'clean_up_tokenization_spaces': False, 'errors': 'replace',
        'model_max_length': 2048, 'split_special_tokens': False, 'tokenizer_class': 'Qwen2Tokenizer', 'processor_class': 'Qwen3VLProcessor', 'chat_template': TEMPLATE}
NLT, USER, ASSISTANT = encode('\n'), encode('user\n'), encode('assistant\n')
def conversation(turns, grids, after, limit, textfirst=False):
    """Ids, weights of the loss (of each id when it is to be foretold) and the three positions of the longest beginning of turns that
    fits limit, and its number of turns. grids are the merged grids [h, w] of the pictures; the second comes before turn after."""
    ids, w, pos = [], [], []; nxt = 0; done = 0; shown = 0
    for n, (_, q, ans) in enumerate(turns):
        pics = [] if not grids else grids[:1] if n == 0 and after else grids if n == 0 else grids[1:] if n == after else []
        qt = encode(q); at = encode(ans)
        if len(ids) + 16 + len(qt) + len(at) + sum(h * v + 2 for h, v in pics) > limit: break
        def text(l, weight):
            nonlocal nxt
            for i in l: ids.append(i); w.append(weight); pos.append((nxt, nxt, nxt)); nxt += 1
        text([START] + USER, 0); first = textfirst and n == 0
        if first: text(qt, 0)
        for h, v in pics:
            text([VS], 0)
            for y in range(h):
                for x in range(v): ids.append(PAD); w.append(0); pos.append((nxt, nxt + y, nxt + x))
            nxt += max(h, v); text([VE], 0); shown += 1
        if not first: text(qt, 0)
        text([STOP] + NLT + [START] + ASSISTANT, 0); text(at + [STOP], 1); text(NLT, 0); done += 1
    return ids, w, pos, done, shown
if __name__ == '__main__':
    print(len(VOCAB), SIZE); print([VOCAB[i] for i in encode('Which is larger, the red circle or the blue square?')], [VOCAB[i] for i in encode('The word "Hello" in red on a white background.')])
