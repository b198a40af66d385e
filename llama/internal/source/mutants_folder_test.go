package source_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/antigravity-go/antigravity/tensor"
)

// node is a JSON value in parsed form, in which everything can be changed: an object keeps the order of its members and may have
// one twice, and a literal is written as it is.
type node interface{}

type (
	object []member
	member struct {
		key   string
		value node
	}
	list    []node
	literal string
)

// parseNode reads JSON.
func parseNode(text string) node {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var value func() node
	value = func() node {
		token, err := d.Token()
		if err != nil {
			panic(err) // the texts are ours
		}
		switch token {
		case json.Delim('{'):
			o := object{}
			for d.More() {
				key, _ := d.Token()
				o = append(o, member{key.(string), value()})
			}
			d.Token()
			return o
		case json.Delim('['):
			l := list{}
			for d.More() {
				l = append(l, value())
			}
			d.Token()
			return l
		}
		raw, _ := json.Marshal(token)
		return literal(raw)
	}
	return value()
}

// appendNode writes JSON.
func appendNode(b []byte, n node) []byte {
	switch n := n.(type) {
	case object:
		b = append(b, '{')
		for i, m := range n {
			if i > 0 {
				b = append(b, ',')
			}
			key, _ := json.Marshal(m.key)
			b = append(append(b, key...), ':')
			b = appendNode(b, m.value)
		}
		return append(b, '}')
	case list:
		b = append(b, '[')
		for i, v := range n {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendNode(b, v)
		}
		return append(b, ']')
	}
	return append(b, n.(literal)...)
}

// anyNode makes a value of any kind.
func anyNode(r *rand.Rand) node {
	switch r.IntN(12) {
	case 0:
		return object{}
	case 1:
		return list{}
	case 2:
		l := make(list, r.IntN(3000))
		for i := range l {
			l[i] = literal(strconv.Itoa(r.IntN(400)))
		}
		return l
	case 3:
		n := pick(r, 10, 1000, 9999, 20000)
		return literal(strings.Repeat("[", n) + strings.Repeat("]", n))
	case 4:
		return literal(strconv.Quote(pick(r, "", "x", "llama", "F32", "Q4_0", "BPE", strings.Repeat("long", 2000))))
	case 5:
		return literal(pick(r, "NaN", "Infinity", "-", "\"", "{", "1e", "'x'")) // no JSON
	default:
		return literal(pick(r, "null", "true", "false", "0", "-1", "1", "2", "3", "32", "64.0", "1e3", "0.5", "300", "1e-300", "1e308", "1e999", "2147483647", "2147483648",
			"4294967296", "9223372036854775807", "18446744073709551615", "123456789012345678901234567890", "-0"))
	}
}

// mutate changes one place of a value, which it chooses on its way down.
func mutate(n node, r *rand.Rand) node {
	switch v := n.(type) {
	case object:
		if len(v) == 0 || r.IntN(12) == 0 {
			return anyNode(r)
		}
		i := r.IntN(len(v))
		v = append(object(nil), v...)
		switch r.IntN(8) {
		case 0:
			return append(v[:i], v[i+1:]...)
		case 1:
			return append(v, v[i])
		case 2:
			v[i].key = pick(r, "", "dtype", "shape", "data_offsets", v[r.IntN(len(v))].key, v[i].key+"x")
		default:
			v[i].value = mutate(v[i].value, r)
		}
		return v
	case list:
		if len(v) == 0 || r.IntN(12) == 0 {
			return anyNode(r)
		}
		i := r.IntN(len(v))
		v = append(list(nil), v...)
		switch r.IntN(8) {
		case 0:
			return append(v[:i], v[i+1:]...)
		case 1:
			return append(v, v[i])
		case 2:
			j := r.IntN(len(v))
			v[i], v[j] = v[j], v[i]
		default:
			v[i] = mutate(v[i], r)
		}
		return v
	}
	return anyNode(r)
}

// at changes the value at a key.
func (o object) at(key string, v node) object {
	o = append(object(nil), o...)
	for i := range o {
		if o[i].key == key {
			o[i].value = v
			return o
		}
	}
	return append(o, member{key, v})
}

// mutantTokenizer is a tokenizer.json of the vocabulary of byteTokens.
var mutantTokenizer = func() node {
	quoted := func(s string) string {
		raw, _ := json.Marshal(s)
		return string(raw)
	}
	var vocab, added, merges []string
	for id, text := range byteTokens.tokens {
		if byteTokens.types[id] == 1 {
			vocab = append(vocab, fmt.Sprintf("%s:%d", quoted(text), id))
		} else {
			added = append(added, fmt.Sprintf(`{"id":%d,"content":%s,"single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":%v}`,
				id, quoted(text), byteTokens.types[id] == 3))
		}
	}
	for i, m := range byteTokens.merges {
		if i%2 == 0 {
			merges = append(merges, quoted(m))
		} else {
			left, right, _ := strings.Cut(m, " ")
			merges = append(merges, "["+quoted(left)+","+quoted(right)+"]")
		}
	}
	for i := range merges { // one form or the other
		merges[i] = quoted(byteTokens.merges[i])
	}
	return parseNode(`{"version":"1.0","truncation":null,"padding":null,"added_tokens":[` + strings.Join(added, ",") + `],"normalizer":null,
		"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},"behavior":"Isolated","invert":false},
		{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":false}]},
		"post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<|begin_of_text|>","type_id":0}},{"Sequence":{"id":"A","type_id":0}}],
		"pair":[{"Sequence":{"id":"A","type_id":0}},{"Sequence":{"id":"B","type_id":0}}],"special_tokens":{"<|begin_of_text|>":{"id":"<|begin_of_text|>","ids":[290],"tokens":["<|begin_of_text|>"]}}},
		"decoder":{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true},
		"model":{"type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":false,"byte_fallback":false,"ignore_merges":true,
		"vocab":{` + strings.Join(vocab, ",") + `},"merges":[` + strings.Join(merges, ",") + `]}}`)
}()

// hfNames translates the names of mutantShape.tensors.
var hfNames = strings.NewReplacer("blk.", "model.layers.", "attn_norm", "input_layernorm", "attn_q", "self_attn.q_proj", "attn_k", "self_attn.k_proj",
	"attn_v", "self_attn.v_proj", "attn_output", "self_attn.o_proj", "ffn_norm", "post_attention_layernorm", "ffn_gate", "mlp.gate_proj",
	"ffn_up", "mlp.up_proj", "ffn_down", "mlp.down_proj", "token_embd", "model.embed_tokens", "output_norm", "model.norm", "output", "lm_head")

// entry is a tensor of a safetensors header.
type entry struct {
	name, dtype string
	shape       []int
	begin, end  int
}

// safetensorsWidths are the bytes of the elements.
var safetensorsWidths = map[string]int{"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "BOOL": 1}

// weights makes a safetensors file of entries.
func weights(entries []entry, r *rand.Rand) []byte {
	mutated := r.IntN(12)
	for range 2 {
		if mutated != 0 || len(entries) == 0 {
			break
		}
		e := &entries[r.IntN(len(entries))]
		switch r.IntN(5) {
		case 0:
			e.dtype = pick(r, "F64", "F32", "F16", "BF16", "I64", "I8", "U8", "BOOL", "F8_E4M3", "X", "")
		case 1:
			e.shape = pick(r, nil, []int{0}, []int{1}, append([]int{1}, e.shape...), append(e.shape[:len(e.shape):len(e.shape)], 1), []int{math.MaxInt, math.MaxInt}, make([]int, 100))
		case 2:
			if len(e.shape) > 1 {
				e.shape = []int{e.shape[1], e.shape[0]}
			}
		case 3:
			e.name = pick(r, "", "__metadata__", entries[r.IntN(len(entries))].name, e.name+"x")
		case 4:
			if n := len(e.shape); n > 0 {
				e.shape = append([]int(nil), e.shape...)
				e.shape[r.IntN(n)] = pick(r, 0, 1, 2, math.MaxInt32, math.MaxInt/2+1)
			}
		}
	}
	at := 0
	for i := range entries {
		e := &entries[i]
		n := safetensorsWidths[e.dtype]
		for _, d := range e.shape {
			n = min(n*min(d, 1<<22), 1<<22)
		}
		e.begin, e.end = at, at+n
		at = e.end
	}
	header := object{}
	if r.IntN(2) == 0 {
		header = append(header, member{"__metadata__", object{{"format", literal(`"pt"`)}}})
	}
	number := func(n int) node { return literal(strconv.Itoa(n)) }
	for _, e := range entries {
		shape := list{}
		for _, d := range e.shape {
			shape = append(shape, number(d))
		}
		dtype, _ := json.Marshal(e.dtype)
		header = append(header, member{e.name, object{{"dtype", literal(dtype)}, {"shape", shape}, {"data_offsets", list{number(e.begin), number(e.end)}}}})
	}
	if r.IntN(12) == 0 {
		header, _ = mutate(header, r).(object)
	}
	text := appendNode(nil, header)
	length := uint64(len(text))
	if r.IntN(30) == 0 {
		length = pick(r, 0, 1, length-1, length+1, 1<<31, 1<<63, 1<<64-1)
	}
	b := append(binary.LittleEndian.AppendUint64(nil, length), text...)
	if r.IntN(30) == 0 {
		at = r.IntN(at + 2)
	}
	for ; at > 0; at -= min(at, len(mutantWeights)) {
		b = append(b, mutantWeights[:min(at, len(mutantWeights))]...)
	}
	return b
}

// folderMutant makes the files of a Hugging Face folder of a seed.
func folderMutant(r *rand.Rand) map[string][]byte {
	s := shapeOf(r)
	s.divisors = false
	config := parseNode(fmt.Sprintf(`{"model_type":"llama","hidden_act":"silu","hidden_size":%d,"intermediate_size":%d,"num_hidden_layers":%d,"num_attention_heads":%d,
		"num_key_value_heads":%d,"head_dim":%d,"vocab_size":%d,"max_position_embeddings":%d,"rms_norm_eps":1e-5,"attention_bias":%v,"mlp_bias":%v,
		"tie_word_embeddings":%v,"bos_token_id":0,"eos_token_id":[0]}`,
		s.hidden, s.wide, s.layers, s.heads, s.kv, s.headDim, s.vocab, pick(r, 1, 64, 131072), s.bias, s.bias, s.tied)).(object)
	if r.IntN(3) == 0 {
		config = config.at(pick(r, "rope_scaling", "rope_parameters"), parseNode(pick(r,
			`{"rope_type":"llama3","factor":8,"low_freq_factor":1,"high_freq_factor":4,"original_max_position_embeddings":64}`,
			`{"type":"linear","factor":2}`, `{"rope_type":"default","rope_theta":500000.0}`, `{"rope_type":"yarn"}`)))
	}
	generation := parseNode(`{"eos_token_id":[0,1]}`)
	tokenizer := mutantTokenizer
	settings := parseNode(`{"bos_token":"<|begin_of_text|>","eos_token":{"content":"<|eot_id|>"},"chat_template":` + strconv.Quote(pick(r, mutantTemplates...)) + `}`)
	if r.IntN(5) == 0 {
		for range 1 + r.IntN(2) {
			if o, ok := mutate(config, r).(object); ok {
				config = o
			}
		}
	}
	for _, n := range []*node{&generation, &tokenizer, &settings} {
		if r.IntN(8) == 0 {
			for range 1 + r.IntN(3) {
				*n = mutate(*n, r)
			}
		}
	}
	files := map[string][]byte{"config.json": appendNode(nil, config), "generation_config.json": appendNode(nil, generation)}
	if r.IntN(4) > 0 {
		files["tokenizer.json"] = appendNode(nil, tokenizer)
		files["tokenizer_config.json"] = appendNode(nil, settings)
	}
	if r.IntN(10) == 0 {
		files["chat_template.jinja"] = []byte(pick(r, mutantTemplates...))
	}
	dtype := map[tensor.DType]string{tensor.F16: "F16", tensor.BF16: "BF16"}[s.matrices.DType()]
	if dtype == "" {
		dtype = "F32"
	}
	var entries []entry
	for _, t := range s.tensors() {
		entries = append(entries, entry{name: hfNames.Replace(t.name), dtype: dtype, shape: t.dims})
	}
	if r.IntN(20) == 0 && len(entries) > 0 {
		i := r.IntN(len(entries))
		entries = append(entries[:i:i], entries[i+1:]...)
	}
	if r.IntN(2) == 0 {
		files["model.safetensors"] = weights(entries, r)
		return files
	}
	index := object{}
	half := len(entries) / 2
	for i, part := range [][]entry{entries[:half], entries[half:]} {
		name := fmt.Sprintf("model-%05d-of-00002.safetensors", i+1)
		for _, e := range part {
			index = append(index, member{e.name, literal(strconv.Quote(name))})
		}
		files[name] = weights(append([]entry(nil), part...), r)
	}
	var whole node = object{{"metadata", object{{"total_size", literal("1")}}}, {"weight_map", index}}
	if r.IntN(5) == 0 {
		whole = mutate(whole, r)
	}
	files["model.safetensors.index.json"] = appendNode(nil, whole)
	for name, data := range files {
		if r.IntN(150) == 0 {
			files[name] = data[:r.IntN(len(data)+1)]
		} else if r.IntN(300) == 0 {
			files[name] = bytes.Repeat([]byte(" "), 1<<16)
		}
	}
	return files
}
