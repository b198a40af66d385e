package checkpoint

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/internal/bpe"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/tensor"
)

// fileOf writes a GGUF file of a configuration, all its tensors of 32 bits and zero but the divisors, and parses it.
func fileOf(t *testing.T, c *model.Config, more ...gguf.KeyValue) *gguf.File {
	t.Helper()
	metadata := Metadata(c, "test", more...)
	ids := map[string]int32{BOSKey: c.BOS}
	for i, key := range []string{EOSKey, EndOfTurnKey, EndOfMessageKey}[:len(c.EOS)] {
		ids[key] = c.EOS[i]
	}
	for key, id := range ids {
		metadata = append(metadata, gguf.KeyValue{Key: key, Value: gguf.ValueOf(uint32(id))})
	}
	return fileWith(t, c, metadata)
}

// fileWith is fileOf with other keys.
func fileWith(t *testing.T, c *model.Config, metadata []gguf.KeyValue) *gguf.File {
	t.Helper()
	var infos []gguf.TensorInfo
	var data [][]byte
	add := func(name string, shape []int, values []float32) {
		b := make([]byte, 4*len(values))
		if err := tensor.F32.Format().Quantize(b, values); err != nil {
			t.Fatal(err)
		}
		infos, data = append(infos, gguf.TensorInfo{Name: name, Type: gguf.F32, Shape: shape}), append(data, b)
	}
	for _, w := range Tensors(c) {
		n := 1
		for _, d := range w.Shape {
			n *= d
		}
		add(w.GGUF.Name, w.Shape, make([]float32, n))
	}
	divisors, err := GGUFDivisors(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range divisors {
		add(d.Name, []int{len(d.List)}, d.List)
	}
	var file bytes.Buffer
	w, err := gguf.NewWriter(&file, metadata, infos)
	if err != nil {
		t.Fatal(err)
	}
	for i, info := range infos {
		if err := w.WriteTensor(info.Name, data[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := gguf.Parse(file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestConfigStaysInBothFormats writes configurations and reads them.
func TestConfigStaysInBothFormats(t *testing.T) {
	for _, change := range []func(c *model.Config){
		func(*model.Config) {},
		func(c *model.Config) {
			c.TiedEmbeddings, c.AttentionBias, c.MLPBias, c.RoPE = true, false, false, model.RoPE{Theta: 77}
		},
		func(c *model.Config) { c.KVHeads, c.HeadDim, c.BOS, c.EOS = 4, 32, 0, []int32{99} },
		func(c *model.Config) {
			c.RoPE = model.RoPE{Theta: 500000, Scaling: "llama3", Factor: 32, LowFreqFactor: 1, HighFreqFactor: 4, OriginalContext: 64}
		},
	} {
		want := biased()
		change(want)
		data, err := JSON(want, "bfloat16")
		if err != nil {
			t.Fatal(err)
		}
		got, err := configOf(data, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !equalConfigs(*got, *want) {
			t.Errorf("config.json gives %+v, want %+v", *got, *want)
		}
		if got, _, err = ConfigOf(fileOf(t, want)); err != nil {
			t.Fatal(err)
		}
		if d := want.RoPE.StretchDivisors(want.HeadDim); d != nil {
			for i, f := range got.RoPE.Frequencies(want.HeadDim) {
				if ratio := f / want.RoPE.Frequencies(want.HeadDim)[i]; ratio < 1-1e-7 || ratio > 1+1e-7 {
					t.Errorf("pair %d: the divisor %g gives a frequency %g times the one wanted", i, d[i], ratio)
				}
			}
			want.RoPE = model.RoPE{Theta: want.RoPE.Theta, Divisors: d}
		}
		if !equalConfigs(*got, *want) {
			t.Errorf("GGUF gives %+v, want %+v", *got, *want)
		}
	}
}

func TestConfigOfRefuses(t *testing.T) {
	number := func(key string, n uint32) gguf.KeyValue { return gguf.KeyValue{Key: key, Value: gguf.ValueOf(n)} }
	for _, c := range []struct {
		name        string
		change      func(c *model.Config)
		more        []gguf.KeyValue
		unsupported bool
	}{
		{"experts of which no token has any", nil, []gguf.KeyValue{number("llama.expert_count", 8)}, false},
		{"experts of an architecture without", func(c *model.Config) { c.Family = "qwen2" }, []gguf.KeyValue{number("qwen2.expert_count", 8)}, true},
		{"uneven groups", func(c *model.Config) { c.KVHeads = 3 }, nil, false},
		{"an end outside the vocabulary", func(c *model.Config) { c.EOS = []int32{100} }, nil, false},
		{"divisors for other heads", func(c *model.Config) {
			c.RoPE = model.RoPE{Theta: 1, Scaling: "llama3", Factor: 1, LowFreqFactor: 1, HighFreqFactor: 2, OriginalContext: 1}
			c.HeadDim = 2 * model.MaxHeadDim
		}, nil, false},
	} {
		config := biased()
		if c.change != nil {
			c.change(config)
		}
		got, _, err := ConfigOf(fileOf(t, config, c.more...))
		if err == nil {
			t.Errorf("%s: accepted as %+v", c.name, got)
		} else if errors.Is(err, errors.ErrUnsupported) != c.unsupported {
			t.Errorf("%s: %v; unsupported should be %v", c.name, err, c.unsupported)
		}
	}
	f, err := gguf.Parse(emptyGGUF(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := ConfigOf(f); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a file without an architecture: %v", err)
	}
}

// emptyGGUF is a file of nothing.
func emptyGGUF(t *testing.T) []byte {
	var file bytes.Buffer
	w, err := gguf.NewWriter(&file, nil, nil)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func TestVocabularyOf(t *testing.T) {
	tokens := []string{"<unk>", "<s>", "</s>", "a", "<|im_end|>"}
	keys := func(tokens []string) []gguf.KeyValue {
		return []gguf.KeyValue{
			{Key: TokenizerModelKey, Value: gguf.ValueOf(bpe.SentencePieceModel)}, {Key: TokensKey, Value: gguf.ArrayOf(tokens)},
			{Key: TokenTypesKey, Value: gguf.ArrayOf([]int32{bpe.TypeUnknown, bpe.TypeControl, bpe.TypeControl, bpe.TypeNormal, bpe.TypeControl})},
			{Key: UnknownKey, Value: gguf.ValueOf(uint32(0))}, {Key: AddSpacePrefixKey, Value: gguf.ValueOf(false)},
		}
	}
	c := biased()
	c.EOS = []int32{2}
	f := fileOf(t, c, keys(tokens)...)
	v, err := VocabularyOf(f)
	if err != nil || !slices.Equal(v.Tokens, tokens) || v.BOS != 1 || v.EOS != 2 || v.Unknown != 0 || !v.AddBOS || v.AddSpacePrefix {
		t.Errorf("%+v, %v", v, err)
	}
	read, _, err := ConfigOf(f)
	if err != nil || !slices.Equal(read.EOS, []int32{2, 4}) {
		t.Errorf("the ends are those of %+v, %v; want 2, which the file names, and 4, which is known", read, err)
	}
	if v, err := VocabularyOf(fileOf(t, c)); v != nil || err != nil {
		t.Errorf("a file without a vocabulary gives %+v, %v", v, err)
	}
	if _, err := VocabularyOf(fileOf(t, c, keys(make([]string, 101))...)); err == nil {
		t.Error("a vocabulary of more tokens than the embedding table has rows was read")
	}
}

// TestUnroundedYaRNHasNoPlaceInGGUF asks for the tensors of a scaling that the format cannot say.
func TestUnroundedYaRNHasNoPlaceInGGUF(t *testing.T) {
	c := biased()
	c.RoPE = model.RoPE{Theta: 10000, Scaling: model.YaRN, Factor: 4, OriginalContext: 64, BetaFast: 32, BetaSlow: 1, Attention: 1, Unrounded: true}
	if _, err := GGUFDivisors(c); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("%v; want an error that wraps ErrUnsupported", err)
	}
}

// TestRoundedYaRNIsSaidByTheFile reads files of gpt-oss that say that YaRN is rounded, or is not, or do not say.
func TestRoundedYaRNIsSaidByTheFile(t *testing.T) {
	dir := fixture.Path(t, "families/gptoss")
	config, err := Folder(func(name string) ([]byte, error) { return os.ReadFile(filepath.Join(dir, name)) }).Config()
	if err != nil {
		t.Fatal(err)
	}
	const key = "gpt-oss.rope.scaling.yarn_truncate"
	for name, c := range map[string]struct {
		says      []gguf.KeyValue
		unrounded bool
	}{
		"nothing":     {nil, true},
		"rounded":     {[]gguf.KeyValue{{Key: key, Value: gguf.ValueOf(true)}}, false},
		"not rounded": {[]gguf.KeyValue{{Key: key, Value: gguf.ValueOf(false)}}, true},
	} {
		got, _, err := ConfigOf(fileOf(t, config, c.says...))
		if err != nil || got.RoPE.Unrounded != c.unrounded {
			t.Errorf("%s: %v, %+v", name, err, got)
		}
	}
}
