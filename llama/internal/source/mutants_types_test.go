package source_test

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/fixture/families"
	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/internal/llamatest"
)

// TestMutantsOfTypes gives each key of each fixture's GGUF file every other type, and has each tensor once more under other names. A mutant does not load,
// or it computes the same bits as the clean file. Without ANTIGRAVITY_EVAL only a sample of the mutants of a few files is tried; a long run has all of a
// quarter of the files.
func TestMutantsOfTypes(t *testing.T) {
	effort.Turn(t, 8)
	sample := 12 // mutants of a file
	names := []string{"qwen3", "gemma3", "granite"}
	if effort.Long() {
		sample, names = math.MaxInt, append(families.Names, "enc-bert", "enc-xlmr", "enc-nomic", "enc-nomic-moe", "enc-modernbert", "enc-gemma", "rank-bert", "rank-xlmr")
	}
	files := map[string]string{"pebble": fixture.Path(t, "pebble/gguf/pebble-Q4_K_M.gguf")}
	for _, name := range names {
		files[name] = ""
	}
	if effort.Long() {
		quants, err := filepath.Glob(filepath.Join(fixture.Path(t, "quants"), "*.gguf"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range quants {
			files[filepath.Base(path)] = path
		}
	}
	for i, name := range slices.Sorted(maps.Keys(files)) {
		if effort.Long() && !effort.Part(i, 4) {
			continue
		}
		path := files[name]
		t.Run(name, func(t *testing.T) {
			if path == "" {
				path = families.GGUF(t, fixture.Path(t, "families/"+name))
			}
			m := &typeMutants{T: t, clean: families.ReadFile(t, path)}
			m.want, _ = m.digest(m.clean)
			if m.want == [32]byte{} {
				t.Fatal("the clean file does not load")
			}
			list := append(m.keys(), m.tensors()...)
			r := rand.New(rand.NewPCG(1, uint64(len(list))))
			r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
			for _, mutant := range list[:min(sample, len(list))] {
				m.try(mutant)
			}
			t.Logf("%d of %d mutants: %d are the same, %d are refused", min(sample, len(list)), len(list), m.same, m.refused)
		})
	}
}

// typeMutants are the mutants of a file.
type typeMutants struct {
	*testing.T
	clean         *families.File
	want          [32]byte
	same, refused int
}

// typeMutant is a change of the file, in words.
type typeMutant struct {
	change func(f *families.File)
	words  string
	equal  bool // it says the same, and must load
}

func (m *typeMutants) try(mutant typeMutant) {
	m.Helper()
	f := m.clean.Clone()
	mutant.change(f)
	switch got, err := m.digest(f); {
	case err != nil && mutant.equal:
		m.Errorf("%s: %v, and says the same as the clean file", mutant.words, err)
	case err != nil:
		m.refused++
	case got != m.want:
		m.Errorf("%s: the file loads, and computes other bits", mutant.words)
	default:
		m.same++
	}
}

// digest hashes what a model computes, and what its tokenizer does.
func (m *typeMutants) digest(f *families.File) (sum [32]byte, err error) {
	m.Helper()
	model, err := llama.LoadFS(m.Context(), fstest.MapFS{"m.gguf": {Data: f.Bytes(m)}}, "m.gguf", &llama.LoadOptions{Threads: 1})
	if err != nil {
		return sum, err
	}
	defer model.Close()
	h := sha256.New()
	add := func(values []float32, err error) {
		if err != nil {
			m.Fatal(err)
		}
		for _, v := range values {
			h.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(v)))
		}
	}
	const text = "The library's name is Antigravity: naïve 12345, 한글!"
	var tokens []llama.Token
	if model.Tokenizer().Text(0) != "" {
		tokens = model.Tokenizer().EncodeSpecial(text, true)
	}
	if model.Tokenizer().HasTemplate() {
		chat, err := model.Tokenizer().Template(llamatest.User(text), llama.TemplateOptions{})
		if err != nil {
			m.Fatal(err)
		}
		tokens = append(tokens, chat...)
	}
	for _, token := range append(tokens, model.Config().EOS...) {
		h.Write(binary.LittleEndian.AppendUint32(nil, uint32(token)))
	}
	if model.Kind() != llama.Generator { // the file has no tokenizer, so that nothing can be computed
		fmt.Fprintf(h, "%+v", model.Config())
	} else {
		s, err := model.NewSession(nil)
		if err != nil {
			m.Fatal(err)
		}
		defer s.Close()
		if err := s.Prefill(m.Context(), ids(24, model.Config().VocabSize)); err != nil {
			m.Fatal(err)
		}
		add(llamatest.Logits(s), nil)
	}
	return [32]byte(h.Sum(nil)), nil
}

// ids makes tokens.
func ids(n, vocabulary int) []llama.Token {
	list := make([]llama.Token, n)
	for i := range list {
		list[i] = llama.Token((i + 1) * 7919 % vocabulary)
	}
	return list
}

// keys lists mutants in which a key has another type.
func (m *typeMutants) keys() (list []typeMutant) {
	for i, kv := range m.clean.Keys {
		for _, v := range otherTypes(kv.Value) {
			list = append(list, typeMutant{func(f *families.File) { f.Keys[i].Value = v.value }, kv.Key + " as " + v.words, v.equal})
		}
	}
	return list
}

// tensors lists mutants that have a tensor once more.
func (m *typeMutants) tensors() (list []typeMutant) {
	for i, tensor := range m.clean.Tensors {
		names := []string{tensor.Name + "x", "extra." + tensor.Name, strings.Replace(tensor.Name, "blk.0.", "blk.0.more.", 1), "more.weight"}
		if stem, ok := strings.CutSuffix(tensor.Name, ".weight"); ok && len(tensor.Shape) > 1 {
			names = append(names, stem+".bias", stem+".scale", stem+".weight_scale", stem)
		}
		for _, name := range names {
			if slices.ContainsFunc(m.clean.Tensors, func(t gguf.Tensor) bool { return t.Name == name }) {
				continue
			}
			list = append(list, typeMutant{func(f *families.File) {
				again := f.Tensors[i]
				again.Name = name
				f.Tensors = append(f.Tensors, again)
			}, tensor.Name + " once more as " + name, false})
		}
	}
	return list
}

// otherValue is a value of another type. equal says that it is the same number.
type otherValue struct {
	value gguf.Value
	words string
	equal bool
}

// otherTypes returns a value in every other type: the same number if the type has a place for it, and something else if not.
func otherTypes(v gguf.Value) (list []otherValue) {
	add := func(value gguf.Value, words string, equal bool) { list = append(list, otherValue{value, words, equal}) }
	n, isNumber := v.Float()
	isNumber = isNumber && v.Type() != gguf.BoolType
	b, isBool := v.Bool()
	isBool = isBool && v.Type() == gguf.BoolType
	if isBool {
		n = map[bool]float64{true: 1}[b]
	}
	if length, isList := v.Len(); isList && length > 1 {
		isNumber, n = false, 1
		if whole := v.Int32s(); whole != nil {
			wide, fractions := make([]int64, len(whole)), make([]float32, len(whole))
			for i, n := range whole {
				wide[i], fractions[i] = int64(n), float32(n)
			}
			add(gguf.ArrayOf(wide), "a list of int64", true)
			add(gguf.ArrayOf(fractions), "a list of float32", true)
		}
		if fractions := v.Float32s(); fractions != nil {
			wide := make([]float64, len(fractions))
			for i, n := range fractions {
				wide[i] = float64(n)
			}
			add(gguf.ArrayOf(wide), "a list of float64", true)
		}
	}
	same := isNumber || isBool
	if v.Type() != gguf.StringType {
		add(gguf.ValueOf(strconv.FormatFloat(n, 'g', -1, 64)), "a text", false)
	} else {
		text, _ := v.Text()
		add(gguf.ArrayOf([]string{text, text}), "a list of texts", false)
	}
	if !isBool {
		add(gguf.ValueOf(true), "true", false)
		add(gguf.ValueOf(false), "false", false)
	}
	add(gguf.ArrayOf([]string{"x"}), "a text in a list", false)
	add(gguf.ArrayOf([]int32{3, 1, 2, 5, 4, 7, 6}), "a list of numbers", false)
	add(gguf.ArrayOf([]bool{true}), "true in a list", isBool && b)
	whole := n == math.Trunc(n)
	number(add, whole && n >= 0 && n < 1<<8, same, uint8(n), "uint8")
	number(add, whole && n >= -1<<7 && n < 1<<7, same, int8(n), "int8")
	number(add, whole && n >= 0 && n < 1<<16, same, uint16(n), "uint16")
	number(add, whole && n >= -1<<15 && n < 1<<15, same, int16(n), "int16")
	number(add, whole && n >= 0 && n < 1<<32, same, uint32(n), "uint32")
	number(add, whole && n >= -1<<31 && n < 1<<31, same, int32(n), "int32")
	number(add, whole && n >= 0, same, uint64(n), "uint64")
	number(add, whole, same, int64(n), "int64")
	number(add, float64(float32(n)) == n, same, float32(n), "float32")
	number(add, true, same, n, "float64")
	return list
}

// number adds a number in a type, and in a list of one, if the type has a place for it.
func number[T gguf.Scalar](add func(v gguf.Value, words string, equal bool), fits, same bool, n T, words string) {
	if fits {
		add(gguf.ValueOf(n), words, same)
		add(gguf.ArrayOf([]T{n}), words+" in a list", same)
	}
}
