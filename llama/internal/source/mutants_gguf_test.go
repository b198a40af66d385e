package source_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/quant"
	"github.com/antigravity-go/antigravity/tensor"
)

// mutantShape is the sizes of a model that mutants are made of.
type mutantShape struct {
	hidden, wide, layers, heads, kv, headDim, vocab int

	matrices   gguf.GGMLType
	bias, tied bool
	divisors   bool // rope_freqs
}

// mutantTensor is a tensor of a model of some shape, by its name in GGUF; the dimensions are outermost first.
type mutantTensor struct {
	name string
	dims []int
}

// tensors lists the tensors of a model.
func (s *mutantShape) tensors() (list []mutantTensor) {
	add := func(name string, dims ...int) { list = append(list, mutantTensor{name, dims}) }
	q, kv := s.heads*s.headDim, s.kv*s.headDim
	add("token_embd.weight", s.vocab, s.hidden)
	for i := range s.layers {
		p := "blk." + strconv.Itoa(i) + "."
		add(p+"attn_norm.weight", s.hidden)
		for _, m := range []mutantTensor{{"attn_q", []int{q, s.hidden}}, {"attn_k", []int{kv, s.hidden}}, {"attn_v", []int{kv, s.hidden}},
			{"attn_output", []int{s.hidden, q}}, {"ffn_gate", []int{s.wide, s.hidden}}, {"ffn_up", []int{s.wide, s.hidden}}, {"ffn_down", []int{s.hidden, s.wide}}} {
			add(p+m.name+".weight", m.dims...)
			if s.bias {
				add(p+m.name+".bias", m.dims[0])
			}
		}
		add(p+"ffn_norm.weight", s.hidden)
	}
	add("output_norm.weight", s.hidden)
	if !s.tied {
		add("output.weight", s.vocab, s.hidden)
	}
	if s.divisors {
		add("rope_freqs.weight", s.headDim/2)
	}
	return list
}

// bytes returns about how large a file of the shape is, in bytes.
func (s *mutantShape) bytes() float64 {
	h, q := float64(s.hidden), float64(s.heads+s.kv)*float64(s.headDim)
	return 4 * (2*float64(s.vocab)*h + float64(s.layers)*(2*h*q+3*h*float64(s.wide)))
}

// ggml returns the GGML type of an element type that has one.
func ggml(d tensor.DType) gguf.GGMLType { return gguf.GGMLType(d.Format().GGMLType()) }

// smallShapes are the models that most mutants come from.
var smallShapes = []mutantShape{
	{hidden: 32, wide: 64, layers: 1, heads: 2, kv: 1, headDim: 16, vocab: 300, matrices: gguf.F32, tied: true},
	{hidden: 64, wide: 96, layers: 2, heads: 4, kv: 2, headDim: 16, vocab: 300, matrices: ggml(tensor.Q8_0), bias: true},
	{hidden: 64, wide: 96, layers: 1, heads: 2, kv: 2, headDim: 32, vocab: 300, matrices: ggml(tensor.Q4_0), tied: true, divisors: true},
	{hidden: 64, wide: 64, layers: 1, heads: 4, kv: 1, headDim: 16, vocab: 300, matrices: ggml(tensor.Q4_1), bias: true, tied: true, divisors: true},
	{hidden: 32, wide: 32, layers: 3, heads: 1, kv: 1, headDim: 32, vocab: 300, matrices: ggml(tensor.F16), divisors: true},
	{hidden: 32, wide: 64, layers: 1, heads: 4, kv: 2, headDim: 8, vocab: 300, matrices: ggml(tensor.BF16), bias: true},
	{hidden: 256, wide: 256, layers: 1, heads: 4, kv: 2, headDim: 64, vocab: 300, matrices: ggml(tensor.Q4_K), tied: true},
	{hidden: 256, wide: 256, layers: 1, heads: 8, kv: 8, headDim: 32, vocab: 300, matrices: ggml(tensor.Q5_K), tied: true, bias: true},
	{hidden: 256, wide: 256, layers: 1, heads: 2, kv: 1, headDim: 128, vocab: 300, matrices: ggml(tensor.Q6_K), tied: true, divisors: true},
}

// shapeOf chooses a small shape, and now and then one at the allowed bounds.
func shapeOf(r *rand.Rand) mutantShape {
	s := pick(r, smallShapes...)
	if r.IntN(6) > 0 {
		return s
	}
	if r.IntN(8) == 0 {
		s = pick(r, extremeShapes...).mutantShape
		s.matrices, s.tied = gguf.F32, true
	}
	for range 1 + r.IntN(3) {
		x := s
		switch r.IntN(10) {
		case 0:
			x.hidden = pick(r, 0, 1, 2, 31, 32, 33, 64, 128, 256, 512, 4096)
		case 1:
			x.wide = pick(r, 0, 1, 2, 31, 32, 33, 64, 128, 256, 512, 4096, 1<<18, 1<<18+1)
		case 2:
			x.layers = pick(r, 0, 1, 2, 3, 8, 40, 1024, 1025)
		case 3:
			x.heads = pick(r, 0, 1, 2, 3, 8, 64, 1024, 1025, 131072)
			x.kv = pick(r, x.heads, 1, max(x.heads/2, 1))
		case 4:
			x.kv = pick(r, 0, 1, 2, 3, 64)
		case 5:
			x.headDim = pick(r, 0, 1, 2, 3, 4, 8, 16, 32, 64, 128, 256, 1024, 1026)
		case 6:
			x.vocab = pick(r, 0, 1, 2, 5, 299, 301, 4096, 65536)
		}
		if x.bytes() < 3e6 {
			s = x
		}
	}
	if s.hidden%32 != 0 || s.wide%32 != 0 || s.heads*s.headDim%32 != 0 || s.hidden < 32 {
		s.matrices = pick(r, gguf.F32, ggml(tensor.F16), ggml(tensor.BF16))
	}
	return s
}

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

// mutantDoc is a GGUF file in parsed form: every field can be changed by itself.
type mutantDoc struct {
	magic         string
	version       uint32
	tensors       []docTensor
	keys          []docKey
	extraTensors  uint64 // added to the counts
	extraKeys     uint64
	alignment     int
	misaligned    int // bytes by which the data begin too early or late
	cut, appended int
}

type docKey struct {
	name  string
	typ   gguf.ValueType
	value []byte
}

type docTensor struct {
	name   string
	dims   []uint64 // outermost first
	typ    gguf.GGMLType
	size   int // of the data that are written
	offset uint64
}

// sized recomputes the bytes of a tensor; a tensor that is too large, or has a type without a size, keeps its bytes.
func (t *docTensor) sized() {
	shape := make([]int, len(t.dims))
	for i, d := range t.dims {
		shape[i] = int(d)
	}
	if n, err := t.typ.Size(shape); err == nil && n <= 4<<20 {
		t.size = n
	}
}

// layOut gives the tensors their places one after the other.
func (d *mutantDoc) layOut() {
	at := 0
	for i := range d.tensors {
		d.tensors[i].offset = uint64(at)
		at += d.tensors[i].size
		at += (d.alignment - at%d.alignment) % d.alignment
	}
}

// encode writes the file.
func (d *mutantDoc) encode() []byte {
	le := binary.LittleEndian
	b := append([]byte(nil), d.magic...)
	b = le.AppendUint32(b, d.version)
	b = le.AppendUint64(b, uint64(len(d.tensors))+d.extraTensors)
	b = le.AppendUint64(b, uint64(len(d.keys))+d.extraKeys)
	for _, k := range d.keys {
		b = append(le.AppendUint64(b, uint64(len(k.name))), k.name...)
		b = append(le.AppendUint32(b, uint32(k.typ)), k.value...)
	}
	size := 0
	for _, t := range d.tensors {
		b = append(le.AppendUint64(b, uint64(len(t.name))), t.name...)
		b = le.AppendUint32(b, uint32(len(t.dims)))
		for i := len(t.dims) - 1; i >= 0; i-- {
			b = le.AppendUint64(b, t.dims[i])
		}
		b = le.AppendUint32(b, uint32(t.typ))
		b = le.AppendUint64(b, t.offset)
		if end := t.offset + uint64(t.size); end <= 8<<20 && int(end) > size {
			size = int(end)
		}
	}
	pad := (d.alignment-len(b)%d.alignment)%d.alignment + d.misaligned
	b = append(b, make([]byte, max(pad, 0))...)
	for size += d.appended; size > 0; {
		n := min(size, len(mutantWeights))
		b = append(b, mutantWeights[:n]...)
		size -= n
	}
	return b[:max(len(b)-d.cut, 0)]
}

// mutantWeights is what all tensors hold: numbers between 0.25 and 1 where those are F32.
var mutantWeights = func() []byte {
	r := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, 0, 1<<20)
	for range cap(b) / 4 {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(0.25+0.75*r.Float32()))
	}
	return b
}()

// newMutantDoc writes a valid model.
func newMutantDoc(s *mutantShape, r *rand.Rand) *mutantDoc {
	d := &mutantDoc{magic: "GGUF", version: pick[uint32](r, 2, 3), alignment: 32}
	set := func(name string, typ gguf.ValueType, value []byte) { d.keys = append(d.keys, docKey{name, typ, value}) }
	number := func(name string, v int) {
		set("llama."+name, gguf.Uint32Type, binary.LittleEndian.AppendUint32(nil, uint32(v)))
	}
	set("general.architecture", gguf.StringType, docString("llama"))
	number("embedding_length", s.hidden)
	number("feed_forward_length", s.wide)
	number("block_count", s.layers)
	number("attention.head_count", s.heads)
	number("attention.head_count_kv", s.kv)
	number("attention.key_length", s.headDim)
	number("rope.dimension_count", s.headDim)
	number("context_length", pick(r, 1, 64, 64, 2048, 2048, 131072))
	set("llama.attention.layer_norm_rms_epsilon", gguf.Float32Type, binary.LittleEndian.AppendUint32(nil, math.Float32bits(1e-5)))
	set("llama.rope.freq_base", gguf.Float32Type, binary.LittleEndian.AppendUint32(nil, math.Float32bits(10000)))
	if r.IntN(8) > 0 {
		d.vocabulary(r)
	}
	for _, t := range s.tensors() {
		dt := docTensor{name: t.name, typ: gguf.F32}
		for _, n := range t.dims {
			dt.dims = append(dt.dims, uint64(n))
		}
		if len(t.dims) > 1 {
			dt.typ = s.matrices
		}
		dt.sized()
		d.tensors = append(d.tensors, dt)
	}
	return d
}

// vocabulary adds one of the two kinds of tokenizers, of 300 tokens.
func (d *mutantDoc) vocabulary(r *rand.Rand) {
	set := func(name string, typ gguf.ValueType, value []byte) {
		d.keys = append(d.keys, docKey{"tokenizer.ggml." + name, typ, value})
	}
	id := func(name string, v uint32) {
		set(name+"_token_id", gguf.Uint32Type, binary.LittleEndian.AppendUint32(nil, v))
	}
	if r.IntN(2) == 0 {
		set("model", gguf.StringType, docString("gpt2"))
		set("pre", gguf.StringType, docString(pick(r, "llama-bpe", "gpt-2")))
		set("tokens", gguf.ArrayType, docStrings(byteTokens.tokens))
		set("token_type", gguf.ArrayType, docInts(byteTokens.types))
		set("merges", gguf.ArrayType, docStrings(byteTokens.merges))
		id("bos", 290)
		id("eos", 294)
	} else {
		set("model", gguf.StringType, docString("llama"))
		set("tokens", gguf.ArrayType, docStrings(pieceTokens.tokens))
		set("token_type", gguf.ArrayType, docInts(pieceTokens.types))
		scores := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint32(nil, uint32(gguf.Float32Type)), 300)
		for i := range 300 {
			scores = binary.LittleEndian.AppendUint32(scores, math.Float32bits(-float32(i)))
		}
		set("scores", gguf.ArrayType, scores)
		id("unknown", 0)
		id("bos", 1)
		id("eos", 2)
	}
	if r.IntN(2) == 0 {
		d.keys = append(d.keys, docKey{"tokenizer.chat_template", gguf.StringType, docString(pick(r, mutantTemplates...))})
	}
}

var mutantTemplates = []string{
	"{% for m in messages %}<|start_header_id|>{{ m.role }}<|end_header_id|>{{ m.content }}<|eot_id|>{% endfor %}",
	"{{ bos_token }}{% for m in messages %}[{{ m['role'] }}] {{ m['content'] | trim }}{{ eos_token }}{% endfor %}",
	"{% for m in messages %}{{ m.nothing.at.all }}{% endfor %}", "{% if", "no messages at all", "{{ 1 // 0 }}",
}

// tokenLists is a vocabulary.
type tokenLists struct {
	tokens, merges []string
	types          []int32
}

// byteTokens is a byte-level vocabulary as GPT-2 has them, of 300 tokens; pieceTokens is one of SentencePiece.
var byteTokens, pieceTokens = func() (b, p tokenLists) {
	add := func(l *tokenLists, typ int32, text string) {
		l.tokens, l.types = append(l.tokens, text), append(l.types, typ)
	}
	next := rune(256)
	for c := range rune(256) {
		if c >= '!' && c <= '~' || c >= '¡' && c <= '¬' || c >= '®' {
			add(&b, 1, string(c))
		} else {
			add(&b, 1, string(next))
			next++
		}
	}
	for _, m := range strings.Fields("h_e l_l o_w he_ll hell_o Ġ_w r_l rl_d t_h th_e i_n e_r a_n an_d Ġ_t Ġt_h o_r s_t e_n e_s o_n r_e Ġ_a Ġ_s n_d a_t o_u i_s i_t a_r u_s l_e s_e Ġ_b") {
		left, right, _ := strings.Cut(m, "_")
		b.merges = append(b.merges, left+" "+right)
		add(&b, 1, left+right)
	}
	for _, text := range []string{"<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"} {
		add(&b, 3, text)
	}
	for len(b.tokens) < 300 {
		add(&b, 4, "<extra"+strconv.Itoa(len(b.tokens))+">")
	}
	for i, text := range []string{"<unk>", "<s>", "</s>"} {
		add(&p, []int32{2, 3, 3}[i], text)
	}
	for c := range 256 {
		add(&p, 6, "<0x"+strings.ToUpper(strconv.FormatInt(int64(c)+256, 16)[1:])+">")
	}
	for _, text := range strings.Fields("▁ h e l o w r d t a n s i u he ll hell hello ▁w or ld ▁world th the ▁the an and in er on st en es ▁a ▁s re 세 계 ü") {
		add(&p, 1, text)
	}
	for len(p.tokens) < 300 {
		add(&p, 1, "x"+strconv.Itoa(len(p.tokens)))
	}
	return b, p
}()

func docString(s string) []byte {
	return append(binary.LittleEndian.AppendUint64(nil, uint64(len(s))), s...)
}

func docStrings(list []string) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(gguf.StringType))
	b = binary.LittleEndian.AppendUint64(b, uint64(len(list)))
	for _, s := range list {
		b = append(b, docString(s)...)
	}
	return b
}

func docInts(list []int32) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(gguf.Int32Type))
	b = binary.LittleEndian.AppendUint64(b, uint64(len(list)))
	for _, v := range list {
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	return b
}

// anyValue makes a metadata value of any type, extreme more often than not.
func anyValue(r *rand.Rand) (gguf.ValueType, []byte) {
	le := binary.LittleEndian
	n := pick[uint64](r, 0, 1, 2, 3, 16, 255, 300, 1024, 1<<20, 1<<31-1, 1<<31, 1<<32-1, 1<<32, 1<<62, 1<<63, 1<<64-1)
	f := pick(r, 0, -1, 1, 0.5, 1e-300, 1e300, math.Inf(1), math.Inf(-1), math.NaN(), 1e-6, 1e9, 8)
	switch typ := gguf.ValueType(r.IntN(14)); typ { // one of them is no type
	case gguf.Uint8Type, gguf.Int8Type:
		return typ, []byte{byte(n)}
	case gguf.BoolType:
		return typ, []byte{byte(n & 3)}
	case gguf.Uint16Type, gguf.Int16Type:
		return typ, le.AppendUint16(nil, uint16(n))
	case gguf.Uint32Type, gguf.Int32Type:
		return typ, le.AppendUint32(nil, uint32(n))
	case gguf.Float32Type:
		return typ, le.AppendUint32(nil, math.Float32bits(float32(f)))
	case gguf.Float64Type:
		return typ, le.AppendUint64(nil, math.Float64bits(f))
	case gguf.StringType:
		return typ, docString(pick(r, "", "llama", "gpt2", "linear", "llama3", "yarn", "none", "llama-bpe", "\xff\xfe", strings.Repeat("long ", 2000)))
	case gguf.ArrayType:
		switch r.IntN(5) {
		case 0:
			return typ, docStrings(pick(r, nil, []string{""}, []string{"a", "a"}, byteTokens.tokens, byteTokens.merges, make([]string, 5000)))
		case 1:
			return typ, docInts(pick(r, nil, []int32{-1}, byteTokens.types, make([]int32, 5000)))
		case 2: // a length that is not there
			return typ, le.AppendUint64(le.AppendUint32(nil, uint32(r.IntN(14))), n)
		case 3: // arrays of arrays
			b := le.AppendUint64(le.AppendUint32(nil, uint32(gguf.ArrayType)), 2)
			return typ, append(append(b, docInts([]int32{1, 2})...), docStrings([]string{"x"})...)
		}
		return typ, le.AppendUint64(le.AppendUint32(nil, uint32(r.IntN(14))), 0)
	default:
		return typ, le.AppendUint64(nil, n)
	}
}

// someType returns an element type: one of ours most often, else any number.
func someType(r *rand.Rand) gguf.GGMLType {
	if r.IntN(3) > 0 {
		f := pick(r, quant.Formats()...)
		return gguf.GGMLType(f.GGMLType())
	}
	return gguf.GGMLType(r.IntN(45))
}

// mutantKeys are the keys that are read; mutations aim at them.
var mutantKeys = strings.Fields(`general.architecture general.alignment llama.expert_count llama.embedding_length llama.feed_forward_length llama.block_count
	llama.attention.head_count llama.attention.head_count_kv llama.attention.key_length llama.rope.dimension_count llama.context_length
	llama.attention.layer_norm_rms_epsilon llama.rope.freq_base llama.rope.scaling.type llama.rope.scaling.factor tokenizer.ggml.tokens
	tokenizer.ggml.token_type tokenizer.ggml.merges tokenizer.ggml.scores tokenizer.ggml.model tokenizer.ggml.pre tokenizer.ggml.bos_token_id
	tokenizer.ggml.eos_token_id tokenizer.ggml.eot_token_id tokenizer.ggml.unknown_token_id tokenizer.ggml.add_bos_token
	tokenizer.ggml.add_space_prefix tokenizer.chat_template`)

// ggufMutations change a file before its tensors are laid out, so that the result is consistent if the mutation is; ggufDamages change it
// afterwards.
var ggufMutations = []func(d *mutantDoc, r *rand.Rand){
	func(d *mutantDoc, r *rand.Rand) { d.each(r, func(t *docTensor) { t.typ = someType(r) }) },
	func(d *mutantDoc, r *rand.Rand) { // every tensor of a kind in one type
		kind, typ := pick(r, "norm", "bias", "attn_q", "attn_k", "token_embd", "output", "rope_freqs", "ffn", ".weight", ""), someType(r)
		for i := range d.tensors {
			if strings.Contains(d.tensors[i].name, kind) {
				d.tensors[i].typ = typ
				d.tensors[i].sized()
			}
		}
	},
	func(d *mutantDoc, r *rand.Rand) { // a dimension
		d.each(r, func(t *docTensor) {
			if len(t.dims) > 0 {
				i := r.IntN(len(t.dims))
				t.dims[i] = pick(r, 0, 1, t.dims[i]+1, t.dims[i]*2, t.dims[i]/2, t.dims[i]-1, 1<<20, 1<<31, 1<<32, 1<<62, 1<<63, 1<<64-1)
			}
		})
	},
	func(d *mutantDoc, r *rand.Rand) { // the rank
		d.each(r, func(t *docTensor) {
			switch n := len(t.dims); r.IntN(4) {
			case 0:
				t.dims = append(t.dims, 1)
			case 1:
				t.dims = append([]uint64{1}, t.dims...)
			case 2:
				t.dims = t.dims[:max(n-1, 0)]
			case 3:
				product := uint64(1)
				for _, dim := range t.dims {
					product *= dim
				}
				t.dims = []uint64{product}
			}
		})
	},
	func(d *mutantDoc, r *rand.Rand) { // the order of dimensions
		d.each(r, func(t *docTensor) {
			if n := len(t.dims); n > 1 {
				t.dims = append([]uint64{t.dims[n-1]}, t.dims[:n-1]...)
			}
		})
	},
	func(d *mutantDoc, r *rand.Rand) { // names
		d.each(r, func(t *docTensor) {
			t.name = pick(r, "", "rope_freqs.weight", "output.weight", "blk.0.attn_q.bias", "blk.0.ffn_gate.bias", "blk.7.attn_q.weight", t.name+"x", strings.Repeat("n", 5000),
				d.tensors[r.IntN(len(d.tensors))].name)
		})
	},
	func(d *mutantDoc, r *rand.Rand) { // a tensor that is missing
		if n := len(d.tensors); n > 0 {
			i := r.IntN(n)
			d.tensors = append(d.tensors[:i:i], d.tensors[i+1:]...)
		}
	},
	func(d *mutantDoc, r *rand.Rand) { // a tensor that is not needed
		t := docTensor{name: pick(r, "rope_freqs.weight", "output.weight", "extra", "blk.0.attn_q.bias"), typ: someType(r), dims: []uint64{pick[uint64](r, 0, 1, 8, 16, 32, 64, 256, 1<<17)}}
		t.sized()
		d.tensors = append(d.tensors, t)
	},
	func(d *mutantDoc, r *rand.Rand) {
		r.Shuffle(len(d.tensors), func(i, j int) { d.tensors[i], d.tensors[j] = d.tensors[j], d.tensors[i] })
	},
	func(d *mutantDoc, r *rand.Rand) { // a value
		typ, value := anyValue(r)
		d.set(pick(r, mutantKeys...), typ, value)
	},
	func(d *mutantDoc, r *rand.Rand) { // a value of the same type
		if len(d.keys) > 0 {
			k := &d.keys[r.IntN(len(d.keys))]
			for range 40 {
				if typ, value := anyValue(r); typ == k.typ {
					k.value = value
				}
			}
		}
	},
	func(d *mutantDoc, r *rand.Rand) { // keys that are missing, double, or renamed
		if len(d.keys) == 0 {
			return
		}
		i := r.IntN(len(d.keys))
		switch r.IntN(3) {
		case 0:
			d.keys = append(d.keys[:i:i], d.keys[i+1:]...)
		case 1:
			d.keys = append(d.keys, d.keys[i])
		case 2:
			d.keys[i].name = pick(r, mutantKeys...)
		}
	},
	func(d *mutantDoc, r *rand.Rand) { // the vocabulary
		tokens := append([]string(nil), pick(r, byteTokens, pieceTokens).tokens...)
		types := append([]int32(nil), byteTokens.types...)
		for range 1 + r.IntN(5) {
			i := r.IntN(300)
			tokens[i] = pick(r, "", "</s>", "<|eot_id|>", tokens[r.IntN(300)], "\xff", strings.Repeat("ab", 300), "Ġ", "▁▁", "<0x41>")
			types[r.IntN(300)] = pick[int32](r, 0, 1, 2, 3, 4, 5, 6, 7, -1, 1<<30)
		}
		if r.IntN(4) == 0 { // all end the turn
			for i := range tokens {
				tokens[i], types[i] = "</s>", 3
			}
		}
		n := pick(r, 300, 300, 300, 299, 0, 1)
		d.set("tokenizer.ggml.tokens", gguf.ArrayType, docStrings(tokens[:n]))
		d.set("tokenizer.ggml.token_type", gguf.ArrayType, docInts(types[:pick(r, n, 300)]))
	},
	func(d *mutantDoc, r *rand.Rand) { // the merges
		merges := append([]string(nil), byteTokens.merges...)
		for range 1 + r.IntN(5) {
			merges[r.IntN(len(merges))] = pick(r, "", " ", "a", "a b", "a b c", "h e", "nothing known", strings.Repeat("x ", 1000), "\xff \xff")
		}
		d.set("tokenizer.ggml.merges", gguf.ArrayType, docStrings(merges))
	},
	func(d *mutantDoc, r *rand.Rand) { // stretching
		d.set("llama.rope.scaling.type", gguf.StringType, docString(pick(r, "", "none", "linear", "llama3", "yarn")))
		d.set("llama.rope.scaling.factor", gguf.Float32Type, binary.LittleEndian.AppendUint32(nil, math.Float32bits(pick[float32](r, 0, -1, 1, 8, 1e-30, 1e30, float32(math.NaN())))))
	},
	func(d *mutantDoc, r *rand.Rand) { // the alignment, obeyed or not
		n := pick[uint32](r, 0, 1, 2, 3, 8, 16, 64, 4096, 65536, 1<<17, 1<<31)
		d.set("general.alignment", gguf.Uint32Type, binary.LittleEndian.AppendUint32(nil, uint32(n)))
		if n > 0 && n <= 65536 && r.IntN(4) > 0 {
			d.alignment = int(n)
		}
	},
}

var ggufDamages = []func(d *mutantDoc, r *rand.Rand){
	func(d *mutantDoc, r *rand.Rand) { // offsets
		if len(d.tensors) > 0 {
			t := &d.tensors[r.IntN(len(d.tensors))]
			t.offset = pick(r, 0, t.offset+1, t.offset+32, t.offset-32, d.tensors[0].offset, 1<<31, 1<<32, 1<<62, 1<<63, 1<<64-32)
		}
	},
	func(d *mutantDoc, r *rand.Rand) { // types and sizes that do not fit
		if len(d.tensors) > 0 {
			d.tensors[r.IntN(len(d.tensors))].typ = someType(r)
		}
	},
	func(d *mutantDoc, r *rand.Rand) { d.extraTensors = pick[uint64](r, 1, 1<<64-1, 1<<20, 1<<32, 1<<62) },
	func(d *mutantDoc, r *rand.Rand) { d.extraKeys = pick[uint64](r, 1, 1<<64-1, 1<<20, 1<<32, 1<<62) },
	func(d *mutantDoc, r *rand.Rand) { d.cut = r.IntN(1 << pick(r, 3, 8, 14, 20)) },
	func(d *mutantDoc, r *rand.Rand) { d.appended = r.IntN(1 << 12) },
	func(d *mutantDoc, r *rand.Rand) { d.misaligned = pick(r, -1, 1, 2, 4, 32) },
	func(d *mutantDoc, r *rand.Rand) { d.version = pick[uint32](r, 0, 1, 2, 3, 4, 3<<24) },
	func(d *mutantDoc, r *rand.Rand) { d.magic = pick(r, "", "GGML", "gguf", "PK\x03\x04", "{") },
}

// each changes one tensor, or a few; most of them are given the size that fits.
func (d *mutantDoc) each(r *rand.Rand, change func(t *docTensor)) {
	for range min(1+r.IntN(2), len(d.tensors)) {
		t := &d.tensors[r.IntN(len(d.tensors))]
		change(t)
		if r.IntN(4) > 0 {
			t.sized()
		}
	}
}

// set gives a key another value, and adds it if it is missing.
func (d *mutantDoc) set(name string, typ gguf.ValueType, value []byte) {
	for i := range d.keys {
		if d.keys[i].name == name {
			d.keys[i].typ, d.keys[i].value = typ, value
			return
		}
	}
	d.keys = append(d.keys, docKey{name, typ, value})
}

// ggufMutant makes a file of a seed.
func ggufMutant(r *rand.Rand) []byte {
	shape := shapeOf(r)
	d := newMutantDoc(&shape, r)
	for range r.IntN(3) {
		pick(r, ggufMutations...)(d, r)
	}
	d.layOut()
	if r.IntN(6) == 0 {
		pick(r, ggufDamages...)(d, r)
	}
	b := d.encode()
	if r.IntN(16) == 0 { // some bytes, of the header most likely
		for range 1 + r.IntN(4) {
			if n := min(len(b), 1<<pick(r, 6, 10, 14, 20)); n > 0 {
				b[r.IntN(n)] = pick(r, 0, 1, 0x7f, 0x80, 0xff, byte(r.Uint32()))
			}
		}
	}
	return b
}
