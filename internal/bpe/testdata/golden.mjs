// Writes pipelines.json.gz: small vocabularies, the pipelines of tokenizer.json in the forms that families of models have them, and
// the tokens that Hugging Face's library makes with them. The expressions are written out here once more, as models' files have
// them, so that the table in rules.go is held against something.
//
//	npm install tokenizers@0.23.2 && node golden.mjs
import { writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import tokenizers from 'tokenizers';

const raw = String.raw;
const texts = [
  '', ' ', '  ', '   a', 'a   ', 'Hello, world!', "I'm HE'LL we'Re 'S it'ſ o'clock 'n boys' y'all'd've", "don't DON'T Don’t",
  'The year 2024 has 365 days, 1234567 minutes? 3.14159 ½ ² Ⅷ ٣٤٥ १२३', '1,000,000.50 and 12:34:56', '\n', '\n\n', '\r\n\r\n x',
  ' \n \n  b\t\tc \n', 'a\n b\n  c\n   d\n\n\n    e', '\tif (x == 1) {\n\t\treturn foo(bar[0], "baz");\n\t}\n',
  'def f(x):\n    """Doc."""\n    return x**2 + 3*x - 1  # comment\n\n\nclass A: pass\n', 'a\u00a0b\u3000c\u2003d\u0085e\u2028f\u200bg',
  'camelCase HTMLParser iPhone12 USA\'s McDonald\'s ÀÉÎõü ǅabc ǅungla', 'ÄÖÜäöüß STRASSE straße ﬁne', 'e\u0301te\u0301 a\u0300\u0301 \u0301x n\u0303',
  '\u1e9b\u0323 \u212b \u2126 ①②③ ㎏ ｈａｌｆ ﬃ', '안녕하세요 세계! 한국어 테스트입니다.', '\u1112\u1161\u11ab\u1100\u1173\u11af 가나다',
  '日本語のテキスト、カタカナ、漢字。「引用」', '中文文本，没有空格。２０２４年１月', 'Привет, мир! Ёлки-палки', 'مرحبا بالعالم، كيف الحال؟', 'שלום עולם',
  'नमस्ते दुनिया क्षत्रिय', 'สวัสดีชาวโลก กำลัง', 'Γειά σου Κόσμε', 'Xin chào thế giới Tiếng Việt', '🦙🦙 👩‍👩‍👧‍👦 🇰🇷 ❤️', '...!!!???---___***///\\\\',
  'http://example.com/path?q=1&r=2#frag user@mail.org', '<html><body class="x">text</body></html>', '$100 €50 £3 + 4 = 7 <= 8 ^ ~ | `code`',
  'a/b/c //\n/// x', '{"key": [1, 2.5, null], "s": "\\n"}', 'word\u2019s \u201cquoted\u201d \u2014 dash\u2026', 'aaaaaaaaaaaaaaaaaaaaaaaa', '        deep',
  'x\t y\t\tz\r', 'end with space ', 'end with newline\n', ' \u00a0 \u2003 mixed', '▁ marks ▁▁ in text', '<s> not <|im_end|> but </s> <unk>',
  '<|im_start|>user\nHi there!<|im_end|>\n<|im_start|>assistant\n', '  <|im_start|>   <|end|>  \n  x <|end|>\n\n<|user|> y', 'a<think>b</think>c <think> d',
  '一\u3000二 三\u00a0四', 'IMGIMGABCZ <sentinel:12> IMGIMGJZ', '(parens) [brackets] {braces}, (a|b)!', '。，、।۔،', 'ㄅㄆㄇ ㄱㄴㄷ 가！？', 'µm ℂℝ 𐐀𐐨 Ａｚ',
  '\u0e01\u0e33 \u0902\u0903', '7', '77', '777', '7777', '77777777', ' 7 77 777', 'x1y22z333', 'A1 B22 C333 d4444', 'one\n\ntwo\n\n\nthree\n\n\n\nfour',
  '                                                                 65 spaces before', 'tab\u000bvt\u000cff', '\u2019s \u2019t', "''s'' 't' 'LL'", 'İstanbul ı I K',
];

// Vocabularies are trained on the texts and their rests without regard to words, so that a wrong split shows in the tokens.
function train(lines, start, count) {
  const sequences = lines.map((l) => start(l));
  const vocab = new Map();
  const merges = [];
  for (const s of sequences) for (const x of s) vocab.set(x, 0);
  for (let n = 0; n < count; n++) {
    const pairs = new Map();
    for (const s of sequences) for (let i = 0; i + 1 < s.length; i++) {
      if (s[i].length + s[i + 1].length > 8) continue;
      const key = s[i] + '\0' + s[i + 1];
      pairs.set(key, (pairs.get(key) ?? 0) + 1);
    }
    let best = null, most = 1;
    for (const [key, many] of pairs) if (many > most || (many === most && best !== null && key < best)) { best = key; most = many; }
    if (best === null) break;
    const [a, b] = best.split('\0');
    if (!vocab.has(a + b)) { vocab.set(a + b, 0); }
    merges.push([a, b]);
    for (let k = 0; k < sequences.length; k++) {
      const s = sequences[k], out = [];
      for (let i = 0; i < s.length; i++) {
        if (i + 1 < s.length && s[i] === a && s[i + 1] === b) { out.push(a + b); i++; } else out.push(s[i]);
      }
      sequences[k] = out;
    }
  }
  return { merges, made: merges.map(([a, b]) => a + b) };
}

const alphabet = (() => { // GPT-2's
  const chars = [];
  let next = 256;
  for (let b = 0; b < 256; b++) {
    const prints = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
    chars.push(String.fromCodePoint(prints ? b : next++));
  }
  return chars;
})();
const bytes = (text) => [...Buffer.from(text, 'utf8')].map((b) => alphabet[b]);
const corpus = texts.concat(texts.map((t) => 'x' + t), texts.map((t) => t.normalize('NFC')));

const byteTrained = train(corpus, bytes, 900);
const byteVocab = [...new Set([...alphabet, ...byteTrained.made])];
const spTrained = train(corpus, (t) => [...t.replaceAll(' ', '▁')], 600);
const spPieces = [...new Set([...spTrained.made, ...[...new Set(corpus.join('').replaceAll(' ', '▁'))].filter((c) => c < '\u0500' || c === '▁')])];
const spVocab = ['<unk>', '<s>', '</s>', ...Array.from({ length: 256 }, (_, i) => `<0x${i.toString(16).toUpperCase().padStart(2, '0')}>`), ...spPieces];
const spIDs = new Map(spVocab.map((t, i) => [t, i]));
const spMerges = []; // every way to make a token, by the token's rank, as a vocabulary with scores has it
for (const piece of spPieces) {
  const chars = [...piece];
  for (let i = 1; i < chars.length; i++) {
    const l = chars.slice(0, i).join(''), r = chars.slice(i).join('');
    if (spIDs.has(l) && spIDs.has(r)) spMerges.push([l, r]);
  }
}

const splitBy = (Regex, behavior = 'Isolated', invert = false) => ({ type: 'Split', pattern: { Regex }, behavior, invert });
const bl = (use_regex, add_prefix_space = false) => ({ type: 'ByteLevel', add_prefix_space, trim_offsets: true, use_regex });
const sequence = (...pretokenizers) => ({ type: 'Sequence', pretokenizers });
const llama3 = raw`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`;
const qwen2 = raw`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`;
const gpt2 = raw`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`;
const gpt4o = raw`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`;
const tekken = raw`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`;
const bloom = raw` ?[^(\s|.,!?…。，、।۔،)]+`;
const cjk = raw`[一-龥぀-ゟ゠-ヿ]+`;
const deepseek3 = raw`[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_` + '`' + raw`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`;

// By the first of its names in GGUF: the expressions of a rule.
const rules = {
  'llama-bpe': [llama3],
  dbrx: [llama3],
  'gpt-2': [gpt2],
  refact: [raw`\p{N}`, gpt2],
  qwen2: [qwen2],
  qwen35: [raw`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`],
  ufakzeka: [raw`[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`],
  laguna: [raw`[^\n]+|[\n]+`, qwen2],
  tekken: [tekken],
  'gpt-4o': [gpt4o],
  youtu: [raw`[가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|[一-龥぀-ゟ゠-ヿ]+`,
    raw`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])?|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`],
  'deepseek-llm': ['[\r\n]',
    raw`\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-\x{1F7D}ᾀ-ᾴᾶ-ᾼ\x{1FBE}ῂ-ῄῆ-ῌῐ-\x{1FD3}ῖ-\x{1FDB}ῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤ\x{2126}ℨ\x{212A}-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃]+`,
    raw`\s?[!-/:-~！-／：-～‘-‟　-。]+`, raw`\s+$`, raw`[一-龥ࠀ-一가-퟿]+`, raw`\p{N}+`],
  'deepseek-coder': ['[\r\n]', raw`\s?\p{L}+`, raw`\s?\p{P}+`, raw`[一-龥ࠀ-一가-퟿]+`, raw`\p{N}`],
  'deepseek-v3': [raw`\p{N}{1,3}`, cjk, deepseek3],
  falcon: [raw`[\p{P}\$\+<=>\^~\|` + '`]+', gpt2, '[0-9][0-9][0-9]'],
  'seed-coder': [raw`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+`],
  bailingmoe: [raw`'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+`],
  'exaone-moe': [raw`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+`],
  minicpm5: [raw`\p{N}{1,3}`, raw`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`],
  'jais-2': [raw`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1}`],
  bloom: [bloom],
  viking: [bloom, raw`\p{N}`],
  chameleon: ['<sentinel:[0-9]+>', '(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z', raw`([\t\n]|    |  )`, raw`\p{N}`, raw`[\p{P}!-/:-@\[-` + '`{-~]', gpt2],
  default: [raw`[\p{P}\$\+<=>\^~\|]+`, gpt2, raw`\p{N}+`, '[0-9][0-9][0-9]'],
};
const ignoring = ['llama-bpe', 'tekken', 'youtu', 'minicpm5'];

const special = (content, more = {}) => ({ content, single_word: false, lstrip: false, rstrip: false, normalized: false, special: true, ...more });
const chatML = [special('<|im_start|>'), special('<|im_end|>'), special('<think>', { special: false }), special('</think>', { special: false })];
const template = (...tokens) => ({
  type: 'TemplateProcessing',
  single: [...tokens.map((id) => ({ SpecialToken: { id, type_id: 0 } })), { Sequence: { id: 'A', type_id: 0 } }],
  pair: [{ Sequence: { id: 'A', type_id: 0 } }, { Sequence: { id: 'B', type_id: 1 } }],
  special_tokens: Object.fromEntries(tokens.map((id) => [id, { id, ids: [id], tokens: [id] }])),
});
const replaceSpaces = { type: 'Replace', pattern: { String: ' ' }, content: '▁' };
const prepend = { type: 'Sequence', normalizers: [{ type: 'Prepend', prepend: '▁' }, replaceSpaces] };
const spDecoder = (...last) => ({ type: 'Sequence', decoders: [{ type: 'Replace', pattern: { String: '▁' }, content: ' ' }, { type: 'ByteFallback' }, { type: 'Fuse' }, ...last] });
const strip = { type: 'Strip', content: ' ', start: 1, stop: 0 };
const llama2 = [special('<unk>'), special('<s>'), special('</s>')];
const metaspace = (prepend_scheme, split) => ({ type: 'Metaspace', replacement: '▁', prepend_scheme, split });
const phi3 = ['<|endoftext|>', '<|assistant|>', '<|end|>', '<|user|>'].map((t) => special(t, { rstrip: t !== '<|endoftext|>' }));

// How families' files describe their pipelines.
const families = {
  qwen: { normalizer: { type: 'NFC' }, pre_tokenizer: sequence(splitBy(qwen2), bl(false)), added: chatML },
  smollm2: { pre_tokenizer: sequence({ type: 'Digits', individual_digits: true }, bl(true)), added: chatML },
  granite3: { pre_tokenizer: sequence({ type: 'Digits', individual_digits: true }, bl(true)), added: [special('<|end|>'), special('<|user|>')] },
  olmo2: { pre_tokenizer: sequence(splitBy(llama3, 'Removed', true), bl(false)), added: chatML },
  olmo: { normalizer: { type: 'NFC' }, pre_tokenizer: bl(true), added: [special('  ', { special: false, normalized: true }), special('\n\n', { special: false, normalized: true })] },
  'gpt-2': { pre_tokenizer: bl(true), added: [special('<|im_end|>', { normalized: true })] },
  'gpt-2 with a space': { pre_tokenizer: bl(true, true), added: [special('<think>', { lstrip: true, normalized: true })] },
  'command-r': { normalizer: { type: 'NFC' }, pre_tokenizer: sequence({ type: 'Digits', individual_digits: true }, bl(true)), added: [special('<s>')], post: template('<s>') },
  nemo: { pre_tokenizer: sequence(splitBy(tekken), bl(false)), added: [special('<s>'), special('</s>')], post: template('<s>'), ignore_merges: true },
  'phi-4-mini': { pre_tokenizer: sequence(splitBy(gpt4o), bl(false)), added: phi3.map((t) => ({ ...t, lstrip: true })) },
  'deepseek-v3': { normalizer: { type: 'Sequence', normalizers: [] }, pre_tokenizer: sequence(splitBy(raw`\p{N}{1,3}`), splitBy(cjk), splitBy(deepseek3), bl(false)), added: chatML },
  compatibility: { normalizer: { type: 'NFKC' }, pre_tokenizer: sequence(splitBy(qwen2), bl(false)), added: [special('kg', { normalized: true, special: false })] },
  decomposed: { normalizer: { type: 'Sequence', normalizers: [{ type: 'NFD' }] }, pre_tokenizer: bl(true), added: [] },
  behaviours: { pre_tokenizer: sequence({ type: 'Punctuation', behavior: 'Contiguous' }, { type: 'Digits', individual_digits: false },
    { type: 'Split', pattern: { String: 'a' }, behavior: 'MergedWithNext', invert: false }, splitBy(raw`\s`, 'MergedWithPrevious'), splitBy(raw`[.x]+`, 'Removed'), bl(true)), added: [] },
  gemma: { sp: true, normalizer: replaceSpaces, pre_tokenizer: { type: 'Split', pattern: { String: ' ' }, behavior: 'MergedWithPrevious', invert: false },
    decoder: spDecoder(), added: [...llama2, special('\n\n', { special: false }), special('▁▁', { special: false }), special('<|im_end|>')], post: template('<s>') },
  'phi-3': { sp: true, normalizer: prepend, pre_tokenizer: null, decoder: spDecoder(strip), added: [...llama2.slice(0, 2), special('</s>', { rstrip: true, special: false }), ...phi3] },
  'mistral 0.1': { sp: true, normalizer: prepend, pre_tokenizer: null, decoder: spDecoder(strip), added: llama2, post: template('<s>') },
  'mistral 0.3': { sp: true, normalizer: null, pre_tokenizer: metaspace('first', false), decoder: spDecoder(strip), added: llama2, post: template('<s>') },
  'normalised mistral': { sp: true, normalizer: { type: 'Sequence', normalizers: [{ type: 'NFC' }, replaceSpaces] }, pre_tokenizer: null, decoder: spDecoder(),
    added: [...llama2, special('<think>', { normalized: true, lstrip: true, rstrip: true }), special('b\n', { normalized: true, single_word: true, special: false })] },
};

function file(f) {
  const names = f.sp ? spVocab : byteVocab;
  const ids = new Map(names.map((t, i) => [t, i]));
  let next = names.length;
  const added_tokens = (f.added ?? []).map((t) => ({ id: ids.get(t.content) ?? next++, ...t }));
  for (const t of added_tokens) ids.set(t.content, t.id);
  const post = f.post && { ...f.post, special_tokens: Object.fromEntries(Object.entries(f.post.special_tokens).map(([k, v]) => [k, { ...v, ids: [ids.get(k)] }])) };
  return {
    version: '1.0', truncation: null, padding: null, added_tokens, normalizer: f.normalizer ?? null, pre_tokenizer: f.pre_tokenizer,
    post_processor: post ?? null, decoder: f.decoder ?? bl(true),
    model: { type: 'BPE', dropout: null, unk_token: f.sp ? '<unk>' : null, continuing_subword_prefix: null, end_of_word_suffix: null, fuse_unk: !!f.sp,
      byte_fallback: !!f.sp, ignore_merges: !!f.ignore_merges },
  };
}

async function tokens(document, sp) {
  const names = sp ? spVocab : byteVocab;
  const whole = { ...document, model: { ...document.model, vocab: Object.fromEntries(names.map((t, i) => [t, i])), merges: sp ? spMerges : byteTrained.merges } };
  const t = tokenizers.Tokenizer.fromString(JSON.stringify(whole));
  const ids = [], decoded = [];
  for (const text of texts) {
    const e = await t.encode(text, null, { addSpecialTokens: true });
    ids.push(e.getIds());
    decoded.push(await t.decode(e.getIds(), true));
  }
  return { ids, decoded };
}

const out = { texts, byte: { vocab: byteVocab, merges: byteTrained.merges }, sp: { vocab: spVocab, merges: spMerges }, families: {}, rules: {} };
for (const [name, f] of Object.entries(families)) {
  const document = file(f);
  out.families[name] = { sp: !!f.sp, file: document, ...await tokens(document, f.sp) };
}
for (const [name, steps] of Object.entries(rules)) {
  const document = file({ pre_tokenizer: sequence(...steps.map((s) => splitBy(s)), bl(false)), ignore_merges: ignoring.includes(name) });
  out.rules[name] = (await tokens(document, false)).ids;
}
writeFileSync('pipelines.json.gz', gzipSync(JSON.stringify(out), { level: 9 }));
