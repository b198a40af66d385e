package bpe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/internal/split"
)

// Llama3Pattern is Llama 3's split rule, as tokenizer.json writes it, and Llama3Rule is what GGUF calls it.
const (
	Llama3Pattern = shortForms + `|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|` + lines + spaces
	Llama3Rule    = "llama-bpe"
)

// The parts that expressions have in common.
const (
	shortForms   = `(?i:'s|'t|'re|'ve|'m|'ll|'d)`
	lines        = `\s*[\r\n]+|`
	spaces       = `\s+(?!\S)|\s+`
	upper        = `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`
	lower        = `[\p{Ll}\p{Lm}\p{Lo}\p{M}]`
	before       = `[^\r\n\p{L}\p{N}]?`
	cased        = before + upper + `*` + lower + `+` // followed by the ending of a word, twice
	casedToo     = before + upper + `+` + lower + `*`
	symbolsSlash = ` ?[^\s\p{L}\p{N}]+[\r\n/]*|`
)

// The expressions of split rules.
const (
	gpt2Pattern   = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|` + spaces
	qwen2Pattern  = shortForms + `|` + qwenWords
	qwenWords     = before + `\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|` + lines + spaces
	qwen35Pattern = shortForms + `|` + before + `[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|` + lines + spaces
	tekkenPattern = cased + `|` + casedToo + `|\p{N}|` + symbolsSlash + lines + spaces
	gpt4oPattern  = cased + shortForms + `?|` + casedToo + shortForms + `?|\p{N}{1,3}|` + symbolsSlash + lines + spaces
	youtuPattern  = cased + shortForms + `?|` + casedToo + shortForms + `?|\p{N}|` + symbolsSlash + lines + spaces
	seedPattern   = shortForms + `|` + before + `\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|` + lines + spaces
	minicpmLast   = shortForms + `|` + before + `\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*|` + lines + spaces
	bailingRule   = `'(?i:[sdmt]|ll|ve|re)|` + before + `+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|` + spaces
	exaoneMoE     = shortForms + `|` + before + `(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|` + spaces
	jais2Pattern  = shortForms + `|` + before + `\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|` + lines +
		`\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1}`
	bloomPattern  = ` ?[^(\s|.,!?…。，、।۔،)]+`
	cjkRun        = `[一-龥぀-ゟ゠-ヿ]+`
	deepseekWords = "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|" + `[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|` +
		lines + spaces
	deepseekLatin = `\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-\x{1F7D}ᾀ-ᾴᾶ-ᾼ\x{1FBE}ῂ-ῄῆ-ῌῐ-\x{1FD3}ῖ-\x{1FDB}ῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕ` +
		`ℙ-ℝℤ\x{2126}ℨ\x{212A}-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃]+`
	deepseekCJK = `[一-龥ࠀ-一가-퟿]+`
	punctuation = "[\\p{P}\\$\\+<=>\\^~\\|`]+"
)

// rule is the meaning of a name in tokenizer.ggml.pre, as in llama.cpp; see Tokenizer for ignoreMerges.
//
// If llama.cpp only approximates the expressions of a model's tokenizer.json, the rule has the model's. For instance, llama.cpp
// distinguishes a letter's case in ASCII only.
type rule struct {
	names        []string // the first is the one to write
	steps        []string // expressions; each isolates its matches in the pieces of the one before
	ignoreMerges bool
	addBOS       bool // the begin token comes first if a file does not say
}

// rules are the split rules of byte-level vocabularies in GGUF files.
var rules = []rule{
	{names: []string{Llama3Rule, "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2", "jina-v5-nano"},
		steps: []string{Llama3Pattern}, ignoreMerges: true, addBOS: true},
	{names: []string{"dbrx", "smaug-bpe", "chatglm-bpe", "glm4"}, steps: []string{Llama3Pattern}}, // OLMo 2 is dbrx, too
	{names: []string{"gpt-2", "mpt", "olmo", "jais", "trillion", "granite-docling", "phi-2", "gigachat", "jina-es", "jina-de", "jina-v2-es",
		"jina-v2-de", "a.x-4.0", "mellum", "modern-bert", "exaone4", "jina-v1-en", "jina-v2-code", "roberta-bpe"}, steps: []string{gpt2Pattern}},
	{names: []string{"refact", "starcoder", "command-r", "smollm", "codeshell", "exaone", "minerva-7b", "mellum2"}, // Granite 3 is refact
		steps: []string{`\p{N}`, gpt2Pattern}},
	{names: []string{"qwen2", "stablelm2", "deepseek-r1-qwen", "kormo", "f2llmv2", "megrez", "hunyuan", "solar-open", "grok-2"},
		steps: []string{qwen2Pattern}},
	{names: []string{"qwen35"}, steps: []string{qwen35Pattern}},
	{names: []string{"ufakzeka"}, steps: []string{qwenWords}},
	{names: []string{"laguna"}, steps: []string{`[^\n]+|[\n]+`, qwen2Pattern}},
	{names: []string{"tekken"}, steps: []string{tekkenPattern}, ignoreMerges: true, addBOS: true},
	{names: []string{"gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"}, steps: []string{gpt4oPattern}},
	{names: []string{"granite-embed-multi-97m"}, steps: []string{gpt4oPattern}, ignoreMerges: true},
	{names: []string{"youtu"}, steps: []string{`[가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|` + cjkRun, youtuPattern}, ignoreMerges: true},
	{names: []string{"deepseek-llm"}, steps: []string{`[\r\n]`, deepseekLatin, `\s?[!-/:-~！-／：-～‘-‟　-。]+`, `\s+$`, deepseekCJK, `\p{N}+`}},
	{names: []string{"deepseek-coder"}, steps: []string{`[\r\n]`, `\s?\p{L}+`, `\s?\p{P}+`, deepseekCJK, `\p{N}`}},
	{names: []string{"deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4"}, steps: []string{`\p{N}{1,3}`, cjkRun, deepseekWords}},
	{names: []string{"falcon"}, steps: []string{punctuation, gpt2Pattern, `[0-9][0-9][0-9]`}},
	{names: []string{"seed-coder"}, steps: []string{seedPattern}},
	{names: []string{"bailingmoe", "bailingmoe2", "llada-moe"}, steps: []string{bailingRule}},
	{names: []string{"exaone-moe"}, steps: []string{exaoneMoE}},
	{names: []string{"minicpm5"}, steps: []string{`\p{N}{1,3}`, minicpmLast}, ignoreMerges: true},
	{names: []string{"jais-2"}, steps: []string{jais2Pattern}},
	{names: []string{"bloom", "poro-chat", "gpt3-finnish"}, steps: []string{bloomPattern}},
	{names: []string{"viking"}, steps: []string{bloomPattern, `\p{N}`}},
	{names: []string{"chameleon"}, steps: []string{`<sentinel:[0-9]+>`, `(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z`, `([\t\n]|    |  )`, `\p{N}`,
		"[\\p{P}!-/:-@\\[-`{-~]", gpt2Pattern}, addBOS: true},
	// What llama.cpp does with files from before there were names.
	{names: []string{"default", ""}, steps: []string{`[\p{P}\$\+<=>\^~\|]+`, gpt2Pattern, `\p{N}+`, `[0-9][0-9][0-9]`}},
}

// ruleOf returns the rule of a name, or nil if the name is unknown.
func ruleOf(name string) *rule {
	for i := range rules {
		if slices.Contains(rules[i].names, name) {
			return &rules[i]
		}
	}
	return nil
}

// RuleNames returns what the split rules that are implemented are called in GGUF files, for messages.
func RuleNames() string {
	var names []string
	for _, r := range rules {
		for _, name := range r.names {
			if name != "" {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// RuleFor returns GGUF's name for the rule that applies steps, expressions that isolate their matches, one after another, in a vocabulary
// with this ignore_merges. ok is false if no name has this meaning.
func RuleFor(ignoreMerges bool, steps ...string) (name string, ok bool) {
	for _, r := range rules {
		if r.ignoreMerges == ignoreMerges && slices.Equal(r.steps, steps) {
			return r.names[0], true
		}
	}
	return "", false
}

// seps are the values of tokenizer.ggml.pre for which SEP stands between two texts if the file does not say.
var seps = []string{"jina-v1-en", "jina-v2-code", "roberta-bpe"}

// AddsSEP reports whether SEP stands between two texts if a GGUF file does not say. pre is the value of tokenizer.ggml.pre.
func AddsSEP(pre string) bool { return slices.Contains(seps, pre) }

// AddsBOS reports whether the begin token comes first if a GGUF file does not say. model and pre are the values of tokenizer.ggml.model and
// tokenizer.ggml.pre.
func AddsBOS(model, pre string) bool {
	if model != ByteLevelModel {
		return model == SentencePieceModel || model == WordPieceModel || model == MarkedModel
	}
	r := ruleOf(pre)
	return r != nil && r.addBOS
}

// splitterOf returns the splitter of a rule that isolates the matches of expressions, one after another.
func splitterOf(steps ...string) (splitter, error) {
	r, err := split.NewRule(steps...)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	return r.Split, nil
}
