package source_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/internal/cost"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/internal/parallel"
	"github.com/antigravity-go/antigravity/internal/rare"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/internal/llamatest"
	"github.com/antigravity-go/antigravity/tensor"
)

// smallFolder returns the files of a small, valid Hugging Face folder.
func smallFolder() map[string][]byte {
	s := smallShapes[0]
	var entries []entry
	for _, t := range s.tensors() {
		entries = append(entries, entry{name: hfNames.Replace(t.name), dtype: "F32", shape: t.dims})
	}
	var file []byte
	for seed := uint64(1); file == nil; seed++ {
		list := slices.Clone(entries)
		if b := weights(list, rand.New(rand.NewPCG(seed, 1))); len(b) > 0 {
			if _, err := loadFiles(map[string][]byte{"config.json": []byte(smallConfig("")), "model.safetensors": b}, "."); err == nil {
				file = b
			}
		}
	}
	return map[string][]byte{
		"config.json": []byte(smallConfig("")), "generation_config.json": []byte(`{}`), "model.safetensors": file,
		"tokenizer.json": appendNode(nil, mutantTokenizer), "tokenizer_config.json": []byte(`{}`),
	}
}

// smallConfig returns the config.json of smallFolder with more members.
func smallConfig(more string) string {
	s := smallShapes[0]
	return fmt.Sprintf(`{"model_type":"llama","hidden_size":%d,"intermediate_size":%d,"num_hidden_layers":%d,"num_attention_heads":%d,"num_key_value_heads":%d,
		"head_dim":%d,"vocab_size":%d,"max_position_embeddings":2048,"tie_word_embeddings":true%s}`,
		s.hidden, s.wide, s.layers, s.heads, s.kv, s.headDim, s.vocab, more)
}

// loadFiles loads a model of files in memory, and closes it.
func loadFiles(files map[string][]byte, name string) (c llama.Config, err error) {
	fsys := fstest.MapFS{}
	for name, data := range files {
		fsys[name] = &fstest.MapFile{Data: data}
	}
	m, err := llama.LoadFS(context.Background(), fsys, name, &llama.LoadOptions{Threads: 1})
	if err != nil {
		return c, err
	}
	return m.Config(), m.Close()
}

// TestHostileConfigurations gives each of the small JSON files of a folder contents that are legal JSON or nearly so: most are
// errors, all are bounded in memory, and in time by what encoding/json takes to read the same. Unless the tests are long, a third of the cases have
// their turn.
func TestHostileConfigurations(t *testing.T) {
	effort.Turn(t, 8)
	const million, many = 1 << 20, 1 << 17
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	numbers := func(n int) string { // distinct ones
		var b []byte
		for i := range n {
			b = fmt.Append(b, i, ",")
		}
		return "[" + strings.TrimSuffix(string(b), ",") + "]"
	}
	const config, generation, settings = "config.json", "generation_config.json", "tokenizer_config.json"
	in := func(more string) string { return smallConfig("," + more) }
	folder := smallFolder()
	for i, c := range []struct {
		name, file, text string
		loads            bool
	}{
		{"nothing special", config, smallConfig(""), true},
		{"a long array that is unknown", config, in(`"x":` + numbers(many)), true},
		{"many unknown members", config, in(strings.Repeat(`"x":1,`, many) + `"x":1`), true},
		{"the same member a hundred thousand times", config, in(strings.Repeat(`"eos_token_id":[1,2,3],`, 100000) + `"eos_token_id":1`), true},
		{"a member twice, the last counts", config, in(`"rms_norm_eps":5,"rms_norm_eps":1e-5`), true},
		{"nested ten thousand deep", config, in(`"x":` + deep(9000)), true},
		{"nested a million deep", config, in(`"x":` + deep(million)), false},
		{"a million ends", config, in(`"eos_token_id":` + numbers(million)), false},
		{"one end a million times", config, in(`"eos_token_id":[1` + strings.Repeat(",1", million) + `]`), false},
		{"every token is an end", config, in(`"eos_token_id":` + numbers(300)), true},
		{"an end that is negative", config, in(`"eos_token_id":-2`), false},
		{"an end that is a fraction", config, in(`"eos_token_id":1.5`), false},
		{"an end beyond 32 bits", config, in(`"eos_token_id":4294967297`), false},
		{"an end that is an object", config, in(`"eos_token_id":{"a":1}`), false},
		{"ends in lists of lists", config, in(`"eos_token_id":[[1]]`), false},
		{"a whole number with a fraction of 0", config, strings.Replace(smallConfig(""), `"hidden_size":32`, `"hidden_size":32.0`, 1), true},
		{"a fraction where an integer belongs", config, strings.Replace(smallConfig(""), `"hidden_size":32`, `"hidden_size":32.5`, 1), false},
		{"a size of 1e3", config, in(`"intermediate_size":1e3`), false},
		{"a size of 30 digits", config, in(`"intermediate_size":123456789012345678901234567890`), false},
		{"a size of a million digits", config, in(`"intermediate_size":` + strings.Repeat("1", million)), false},
		{"an end of a million digits", config, in(`"eos_token_id":` + strings.Repeat("1", million)), false},
		{"a type of a million letters", config, in(`"model_type":"` + strings.Repeat("1", million) + `"`), false},
		{"a size that is a string", config, in(`"hidden_size":"32"`), false},
		{"a size that is NaN", config, in(`"hidden_size":NaN`), false},
		{"a size that is NaN, as text", config, in(`"hidden_size":"NaN"`), false},
		{"a negative size", config, in(`"num_attention_heads":-2`), false},
		{"epsilon beyond numbers", config, in(`"rms_norm_eps":1e999`), false},
		{"epsilon of an end of floats", config, in(`"rms_norm_eps":1e308`), false},
		{"theta near zero", config, in(`"rope_theta":1e-300`), false},
		{"theta near infinity", config, in(`"rope_theta":1e300`), false},
		{"a factor near zero", config, in(`"rope_scaling":{"type":"linear","factor":1e-300}`), false},
		{"stretching that is a list", config, in(`"rope_scaling":[1]`), false},
		{"a context of 2^62", config, in(`"max_position_embeddings":4611686018427387904`), false},
		{"17 MB of white space", config, smallConfig("") + strings.Repeat(" ", 17<<20), false},
		{"15 MB of white space", config, smallConfig("") + strings.Repeat(" ", 15<<20), true},
		{"a name of 10 MB", config, in(`"` + strings.Repeat("x", 10<<20) + `":1`), true},
		{"a value of 10 MB of escapes", config, in(`"hidden_act":"` + strings.Repeat(`\u0041`, 10<<20/6) + `"`), false},
		{"not UTF-8", config, in("\"x\":\"\xff\xfe\""), false},
		{"a byte order mark", config, "\ufeff" + smallConfig(""), false},
		{"two values", config, smallConfig("") + smallConfig(""), false},
		{"null", config, `null`, false},

		{"a million ends", generation, `{"eos_token_id":` + numbers(million) + `}`, false},
		{"one end a million times", generation, `{"eos_token_id":[1` + strings.Repeat(",1", million) + `]}`, false},
		{"every token is an end", generation, `{"eos_token_id":` + numbers(300) + `}`, true},
		{"an end outside the vocabulary", generation, `{"eos_token_id":300}`, false},
		{"an end that is NaN", generation, `{"eos_token_id":NaN}`, false},
		{"nested a million deep", generation, `{"eos_token_id":` + deep(million) + `}`, false},
		{"null", generation, `null`, true},
		{"a list", generation, `[]`, false},
		{"empty", generation, ``, false},

		{"a million templates", settings, `{"chat_template":[{}` + strings.Repeat(",{}", million) + `]}`, false},
		{"a million templates of a name", settings, `{"chat_template":[{"name":"tool_use","template":"x"}` + strings.Repeat(`,{"name":"default","template":"x"}`, million/8) + `]}`, true},
		{"a template that is a number", settings, `{"chat_template":7}`, false},
		{"templates nested deep", settings, `{"chat_template":` + deep(million) + `}`, false},
		{"a template in a template", settings, `{"chat_template":[{"name":"default","template":{"template":"x"}}]}`, false},
		{"a token that is a list", settings, `{"bos_token":[]}`, false},
		{"a token of 10 MB", settings, `{"bos_token":"` + strings.Repeat("x", 10<<20) + `"}`, true},
		{"a token within tokens", settings, `{"bos_token":{"content":{"content":"x"}}}`, false},
		{"added tokens by the hundred thousand", settings, `{"added_tokens_decoder":{"0":{}` + strings.Repeat(`,"120":{"content":"x"}`, 100000) + `}}`, true},
		{"17 MB of white space", settings, `{}` + strings.Repeat(" ", 17<<20), false},
	} {
		if !effort.Share(i, 6) {
			continue
		}
		t.Run(c.file+"/"+c.name, func(t *testing.T) {
			files := maps.Clone(folder)
			files[c.file] = []byte(c.text)
			size := 0
			for _, data := range files {
				size += len(data)
			}
			began := cost.Seconds()
			var any any
			_ = json.Unmarshal([]byte(c.text), &any)
			reference := cost.Seconds() - began
			any = nil
			began += reference
			peak, err := peakOf(func() error {
				_, err := loadFiles(files, ".")
				return err
			})
			took := cost.Seconds() - began
			if (err == nil) != c.loads {
				t.Errorf("%.300v; it should load: %v", err, c.loads)
			}
			var format *llama.FormatError
			if err != nil && (!errors.As(err, &format) || format.File != c.file) && !errors.Is(err, llama.ErrUnsupported) {
				t.Errorf("%.300v: no FormatError of %s", err, c.file)
			}
			if err != nil && len(err.Error()) > 2000 {
				t.Errorf("the message has %d bytes", len(err.Error()))
			}
			if limit := int64(mutantFactor*size + mutantMemory); peak > limit {
				t.Errorf("it takes %d bytes for files of %d", peak, size)
			}
			if took > 20*reference+1 {
				t.Errorf("it takes %.1f seconds of the processor, encoding/json %.2f", took, reference)
			}
		})
	}
}

// TestHostileHeaders gives GGUF files, safetensors headers and indices of many tiny parts, or of few that are huge: all are bounded
// in memory by their size. Unless the tests are long, a third of the cases have their turn.
func TestHostileHeaders(t *testing.T) {
	effort.Turn(t, 8)
	const many = 1 << 20
	withKey := func(name string, typ gguf.ValueType, value []byte) []byte {
		s := smallShapes[0]
		var d *mutantDoc
		isMerges := func(k docKey) bool { return k.name == "tokenizer.ggml.merges" }
		for seed := uint64(0); d == nil || !slices.ContainsFunc(d.keys, isMerges); seed++ { // a byte-level vocabulary
			d = newMutantDoc(&s, rand.New(rand.NewPCG(seed, 3)))
		}
		d.set(name, typ, value)
		if name == "tokenizer.ggml.tokens" {
			d.keys = slices.DeleteFunc(d.keys, func(k docKey) bool { return k.name == "tokenizer.ggml.token_type" || k.name == "tokenizer.ggml.scores" })
		}
		d.layOut()
		return d.encode()
	}
	distinct := func(n int) []string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprint("t", i)
		}
		return list
	}
	repeated := func(format string, n int) string {
		b := new(strings.Builder)
		for i := range n {
			fmt.Fprintf(b, format, i)
		}
		return b.String()
	}
	header := func(text string) []byte {
		return append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)
	}
	tiny := &mutantDoc{magic: "GGUF", version: 3, alignment: 32}
	for i := range 1 << 16 {
		name := string(binary.LittleEndian.AppendUint32(nil, uint32(i)))
		tiny.tensors = append(tiny.tensors, docTensor{name: name, dims: []uint64{0}})
		tiny.keys = append(tiny.keys, docKey{name, gguf.Uint8Type, []byte{0}})
	}
	const tensors, index = "model.safetensors", "model.safetensors.index.json"
	nothing := `{"dtype":"F32","shape":[0],"data_offsets":[0,0]}`
	for i, c := range []struct {
		name, file string
		data       []byte
	}{
		{"65536 tensors and keys", "m.gguf", tiny.encode()},
		{"empty tokens", "m.gguf", withKey("tokenizer.ggml.tokens", gguf.ArrayType, docStrings(make([]string, many)))},
		{"distinct tokens", "m.gguf", withKey("tokenizer.ggml.tokens", gguf.ArrayType, docStrings(distinct(many/4)))},
		{"empty merges", "m.gguf", withKey("tokenizer.ggml.merges", gguf.ArrayType, docStrings(make([]string, many)))},
		{"types", "m.gguf", withKey("tokenizer.ggml.token_type", gguf.ArrayType, docInts(make([]int32, 4*many)))},
		{"a long name of the family", "m.gguf", withKey("general.architecture", gguf.StringType, docString(strings.Repeat("x", 8*many)))},
		{"a long template", "m.gguf", withKey("tokenizer.chat_template", gguf.StringType, docString(strings.Repeat("x", 4*many)))},
		{"65536 tensors", tensors, header(`{` + repeated(`"%d":`+nothing+`,`, 1<<16-1) + `"x":` + nothing + `}`)},
		{"more tensors", tensors, header(`{` + repeated(`"%d":`+nothing+`,`, 1<<17) + `"x":` + nothing + `}`)},
		{"metadata", tensors, header(`{"__metadata__":{` + repeated(`"%d":"",`, many) + `"x":""}}`)},
		{"dimensions", tensors, header(`{"x":{"dtype":"F32","shape":[1` + strings.Repeat(",1", 4*many) + `],"data_offsets":[0,4]}}`)},
		{"offsets", tensors, header(`{"x":{"dtype":"F32","shape":[1],"data_offsets":[0` + strings.Repeat(",1", 4*many) + `]}}`)},
		{"a long name", tensors, header(`{"` + strings.Repeat("x", 8*many) + `":` + nothing + `}`)},
		{"a long type", tensors, header(`{"model.embed_tokens.weight":{"dtype":"` + strings.Repeat("x", 8*many) + `","shape":[300,32],"data_offsets":[0,0]}}`)},
		{"white space", tensors, header(`{` + strings.Repeat(" ", 8*many) + `}`)},
		{"tensors", index, []byte(`{"weight_map":{` + repeated(`"%d":"model.safetensors",`, 1<<16-1) + `"x":"model.safetensors"}}`)},
		{"more tensors", index, []byte(`{"weight_map":{` + repeated(`"%d":"model.safetensors",`, 1<<18) + `"x":"model.safetensors"}}`)},
		{"shards", index, []byte(`{"weight_map":{` + repeated(`"%[1]d":"%[1]d.safetensors",`, 1<<15) + `"x":"model.safetensors"}}`)},
		{"depth", index, []byte(`{"x":` + strings.Repeat("[", 4*many) + `}`)},
	} {
		if !effort.Share(i, 6) {
			continue
		}
		t.Run(c.file+"/"+c.name, func(t *testing.T) {
			files, name := maps.Clone(smallFolder()), "."
			if files[c.file] = c.data; c.file == "m.gguf" {
				name = c.file
			}
			size := len(c.data) // the other files are small
			peak, err := peakOf(func() error {
				_, err := loadFiles(files, name)
				return err
			})
			if limit := int64(mutantFactor*size + mutantMemory); peak > limit {
				t.Errorf("it takes %d bytes for a file of %d: %.100v", peak, size, err)
			}
			if err != nil && len(err.Error()) > 2000 {
				t.Errorf("the message has %d bytes: %.200v", len(err.Error()), err)
			}
			t.Logf("%.1f times the file of %d bytes; %.200v", float64(peak)/float64(size), size, err)
		})
	}
}

// TestManyEndsAreQuick counts the work for a vocabulary of tokens that all end a turn, and for one with a single end token.
func TestManyEndsAreQuick(t *testing.T) {
	files := smallFolder()
	list := make([]byte, 0, 1<<12)
	for i := range 300 {
		list = fmt.Append(list, 299-i, ",", 299-i, ",")
	}
	files["generation_config.json"] = fmt.Appendf(nil, `{"eos_token_id":[%s7]}`, list[:len(list)/2-1])
	fsys := fstest.MapFS{}
	for name, data := range files {
		fsys[name] = &fstest.MapFile{Data: data}
	}
	m, err := llama.LoadFS(context.Background(), fsys, ".", nil)
	if err == nil {
		defer m.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	ends := m.Config().EOS
	if sorted := slices.Sorted(slices.Values(ends)); len(ends) < 100 || len(slices.Compact(sorted)) != len(ends) {
		t.Errorf("%d ends, some of them twice: %v", len(ends), ends)
	}
	for id := range llama.Token(302) {
		if m.IsEnd(id-1) != slices.Contains(ends, id-1) {
			t.Errorf("token %d is an end: %v", id-1, m.IsEnd(id-1))
		}
	}
}

// TestVectorsOfEveryType stores norms, biases and divisors of frequencies in every type of GGUF. What can be read gives the
// logits that the same numbers in F32 give, what cannot is an error that names the tensor and its type.
// Unless the tests are long, half of the types have their turn for each kind.
func TestVectorsOfEveryType(t *testing.T) {
	shape := mutantShape{hidden: 256, wide: 256, layers: 1, heads: 1, kv: 1, headDim: 512, vocab: 64, matrices: gguf.F32, bias: true, tied: true, divisors: true}
	for i, kind := range []string{"norm.weight", "attn_q.bias", "attn_k.bias", "attn_v.bias", "ffn_gate.bias", "rope_freqs"} {
		for typ := gguf.GGMLType(0); typ < 42; typ++ {
			if !effort.Share(i+int(typ), 5) {
				continue
			}
			if _, err := typ.Size([]int{256}); err != nil || typ.DType() == 0 && kind != "norm.weight" && kind != "rope_freqs" {
				continue
			}
			t.Run(kind+"/"+typ.String(), func(t *testing.T) {
				logits := func(as gguf.GGMLType, widened bool) ([]float32, error) {
					data, err := vectorsAs(&shape, kind, as, widened)
					if err != nil {
						t.Fatal(err)
					}
					device := cpu.New(1)
					defer device.Close()
					m, err := llama.LoadFS(context.Background(), fstest.MapFS{"m": {Data: data}}, "m", &llama.LoadOptions{Backend: device})
					if err != nil {
						return nil, err
					}
					defer m.Close()
					s := llamatest.Session(t, m, &llama.SessionOptions{KV: tensor.F32})
					if err := s.Prefill(context.Background(), []llama.Token{1, 2, 3, 4, 5}); err != nil {
						return nil, err
					}
					return slices.Clone(llamatest.Logits(s)), nil
				}
				got, err := logits(typ, false)
				if kind == "norm.weight" && rewritten(typ) {
					// It is compared below.
				} else if typ.DType() == 0 {
					if !errors.Is(err, llama.ErrUnsupported) || !strings.Contains(err.Error(), kind) || !strings.Contains(err.Error(), typ.String()) {
						t.Errorf("%v: no ErrUnsupported that names %s and %v", err, kind, typ)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				want, err := logits(typ, true)
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(got, want) {
					t.Errorf("the logits differ from those of the same numbers in F32")
				}
			})
		}
	}
}

// rewritten reports whether loading rewrites a vector of the type: nothing computes with it, and its rows lie apart from each other.
func rewritten(typ gguf.GGMLType) bool {
	kind := rare.Of(typ)
	return kind != nil && kind.RowsAtOnce() == 1
}

// vectorsAs writes a model with vectors of a kind in a type, or with the numbers of that type as F32.
func vectorsAs(s *mutantShape, kind string, typ gguf.GGMLType, widened bool) ([]byte, error) {
	d := newMutantDoc(s, rand.New(rand.NewPCG(3, 3)))
	d.set("llama.context_length", gguf.Uint32Type, []byte{64, 0, 0, 0})
	var infos []gguf.TensorInfo
	var data [][]byte
	for _, t := range s.tensors() {
		n := 1
		for _, d := range t.dims {
			n *= d
		}
		values := make([]float32, n) // between 0.25 and 1, and those of matrices around 0
		if err := tensor.F32.Format().Dequantize(values, mutantWeights[:4*n]); err != nil {
			return nil, err
		}
		if len(t.dims) == 2 {
			for i, v := range values {
				values[i] = (v - 0.625) / 4
			}
		}
		info := gguf.TensorInfo{Name: t.name, Type: gguf.F32, Shape: t.dims}
		raw := make([]byte, 4*len(values))
		if err := tensor.F32.Format().Quantize(raw, values); err != nil {
			return nil, err
		}
		if strings.Contains(t.name, kind) {
			size, err := typ.Size(t.dims)
			if err != nil {
				return nil, err
			}
			stored := make([]byte, size)
			f := typ.DType().Format()
			from := stored // what f reads
			switch kind := rare.Of(typ); {
			case rewritten(typ):
				for i := range stored { // small scales
					stored[i] = 0x21
				}
				f, from = kind.Target().Format(), make([]byte, kind.Target().Format().Bytes(n))
				err = kind.Rewrite(from, stored, n)
			case f.Valid():
				err = f.Quantize(stored, values)
			}
			if err != nil {
				return nil, err
			}
			if widened && f.Valid() {
				if err := f.Dequantize(values, from); err != nil {
					return nil, err
				}
				if err := tensor.F32.Format().Quantize(raw, values); err != nil {
					return nil, err
				}
			}
			if !widened {
				info.Type, raw = typ, stored
			}
		}
		infos, data = append(infos, info), append(data, raw)
	}
	var meta []gguf.KeyValue
	for _, k := range d.keys {
		if !strings.HasPrefix(k.name, "tokenizer") {
			meta = append(meta, metaOf(k))
		}
	}
	var file bytes.Buffer
	w, err := gguf.NewWriter(&file, meta, infos)
	if err != nil {
		return nil, err
	}
	for i, info := range infos {
		if err := w.WriteTensor(info.Name, data[i]); err != nil {
			return nil, err
		}
	}
	err = w.Close()
	return file.Bytes(), err
}

// metaOf decodes a key.
func metaOf(k docKey) gguf.KeyValue {
	f, err := gguf.Parse((&mutantDoc{magic: "GGUF", version: 3, alignment: 32, keys: []docKey{k}}).encode())
	if err != nil {
		panic(err)
	}
	return f.Metadata()[0]
}

// TestPanicsOfLoadingAreErrors lets a backend, and a caller's own function, panic on the goroutines that Load starts.
func TestPanicsOfLoadingAreErrors(t *testing.T) {
	device := &clumsy{cpu.New(1)}
	defer device.Close()
	_, byDevice := llama.LoadFS(context.Background(), fstest.MapFS{"m": {Data: ggufOf(&smallShapes[0])}}, "m", &llama.LoadOptions{Backend: device})
	_, byCaller := llama.LoadFS(context.Background(), fstest.MapFS{"m": {Data: ggufOf(&smallShapes[0])}}, "m", &llama.LoadOptions{Progress: func(_, _ int64) { panic("no progress") }})
	for _, err := range []error{byDevice, byCaller} {
		var panicked *parallel.PanicError
		if !errors.As(err, &panicked) || len(panicked.Stack) == 0 {
			t.Errorf("got %v", err)
		}
	}
}

// clumsy is a device that panics.
type clumsy struct{ *cpu.Backend }

func (clumsy) Name() string { return "clumsy" }

func (clumsy) Prepare(context.Context, *tensor.Tensor) (*tensor.Tensor, error) { panic("dropped it") }

func (clumsy) PrepareAs(context.Context, *tensor.Tensor, tensor.DType, func(int) int) (*tensor.Tensor, error) {
	panic("dropped it")
}

// ggufOf returns a valid file.
func ggufOf(s *mutantShape) []byte {
	d := newMutantDoc(s, rand.New(rand.NewPCG(3, 3)))
	d.layOut()
	return d.encode()
}
