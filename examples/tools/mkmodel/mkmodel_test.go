package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/atomicfile"
	"github.com/antigravity-go/antigravity/internal/atomicfile/filetest"
	"github.com/antigravity-go/antigravity/llama"
)

// make makes a model of the tiny shape and returns its path.
func mk(t *testing.T, args ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "model")
	if !slices.Contains(args, "hf") {
		path += ".gguf"
	}
	args = append([]string{"-shape", "tiny", "-out", path}, args...)
	if err := run(t.Context(), args, nil, io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestEveryKindLoadsAndGenerates(t *testing.T) {
	kinds := [][]string{
		{"-type", "f16", "-format", "hf"}, {"-type", "bf16", "-format", "hf", "-shards", "3"}, {"-type", "f32", "-format", "hf"},
		{"-type", "q4_0", "-head", "q4_0"}, {"-type", "q4_0", "-vocab", "8192", "-context", "64"},
	}
	for name := range recipes {
		kinds = append(kinds, []string{"-type", name})
	}
	for _, args := range kinds {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			m, err := llama.Load(mk(t, args...), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			s, err := m.NewSession(nil)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			stop := llama.StopReason(0)
			for piece, err := range s.Chat(t.Context(), []llama.Message{{Role: "user", Content: "tena 12"}}, llama.Params{MaxTokens: 4}) {
				if err != nil {
					t.Fatal(err)
				}
				stop = piece.Stop
			}
			if stop == 0 {
				t.Error("the answer has no end")
			}
			l, err := s.Logits()
			if err != nil {
				t.Fatal(err)
			}
			deviation(t, l)
		})
	}
}

// deviation fails unless logits have about the size that the weights' deviation is chosen for.
func deviation(t *testing.T, logits []float32) {
	t.Helper()
	squares := 0.0
	for _, x := range logits {
		squares += float64(x) * float64(x)
	}
	if d := math.Sqrt(squares / float64(len(logits))); !(d > 0.5 && d < 2) {
		t.Errorf("the logits have a standard deviation of %g, want about 1", d)
	}
}

func TestBothFormatsHaveOneVocabulary(t *testing.T) {
	const text = "tena ratona 2026\n\n  lise, The quick brown fox: naïve <|eot_id|>"
	var encodings [][]llama.Token
	for _, args := range [][]string{{"-type", "f16"}, {"-type", "f16", "-format", "hf"}} {
		k, err := llama.LoadTokenizer(mk(t, args...))
		if err != nil {
			t.Fatal(err)
		}
		tokens := k.EncodeSpecial(text, true)
		if got := k.Decode(tokens...); got != strings.Replace(text, "<|eot_id|>", "", 1) {
			t.Errorf("%v: decoded %q", args, got)
		}
		encodings = append(encodings, tokens)
	}
	if !slices.Equal(encodings[0], encodings[1]) {
		t.Errorf("GGUF encodes %v, Hugging Face %v", encodings[0], encodings[1])
	}
}

func TestBytesDependOnTheSeedAlone(t *testing.T) {
	sum := func(processors int, seed string) [32]byte {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
		data, err := os.ReadFile(mk(t, "-type", "q4_k_m", "-vocab", "20000", "-seed", seed))
		if err != nil {
			t.Fatal(err)
		}
		return sha256.Sum256(data)
	}
	one := sum(1, "1")
	if one != sum(4, "1") {
		t.Error("the number of processors changes the file")
	}
	if one == sum(1, "2") {
		t.Error("another seed gives the same file")
	}
}

func TestVocabulary(t *testing.T) {
	for _, n := range []int{minVocab, smallVocab, 128256} {
		v := newVocabulary(n)
		if len(v.tokens) != n {
			t.Fatalf("%d tokens, want %d", len(v.tokens), n)
		}
		known := map[string]bool{}
		for id, token := range v.tokens {
			if id >= 256 && id < n-v.specials {
				m := v.merges[id-256]
				if !known[m[0]] || !known[m[1]] || m[0]+m[1] != token {
					t.Fatalf("token %d, %q, is no merge of %q", id, token, m)
				}
			}
			if known[token] || token == "" {
				t.Fatalf("token %d, %q, occurs twice or is empty", id, token)
			}
			known[token] = true
		}
		if v.text(endOfTurn) != "<|eot_id|>" || n == 128256 && v.id(endOfTurn) != 128009 {
			t.Errorf("end of turn is %q, %d", v.text(endOfTurn), v.id(endOfTurn))
		}
	}
}

func TestWeightsHaveTheirDeviation(t *testing.T) {
	const n, cols = 1 << 16, 1024
	for name, r := range recipes {
		t.Run(name, func(t *testing.T) {
			p := &planned{name: "w", dtype: r.linear, dims: []int{n / cols, cols}}
			fill, err := fillOf(p)
			if err != nil {
				t.Fatal(err)
			}
			data, x := make([]byte, p.bytes()), make([]float32, n)
			fill(data, rand.NewChaCha8([32]byte{}))
			if err := r.linear.Format().Dequantize(x, data); err != nil {
				t.Fatal(err)
			}
			sum, squares := 0.0, 0.0
			for _, v := range x {
				sum += float64(v)
				squares += float64(v) * float64(v)
			}
			want := 1 / math.Sqrt(cols)
			if mean := sum / n; math.Abs(mean) > 0.03*want {
				t.Errorf("mean %g, want 0", mean)
			}
			if got := math.Sqrt(squares / n); math.Abs(got-want) > 0.05*want {
				t.Errorf("standard deviation %g, want %g", got, want)
			}
		})
	}
}

func TestMistakes(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"shape", []string{"-shape", "llama-9"}, "llama-3.2-1b"},
		{"type", []string{"-type", "q3"}, "q4_0"},
		{"format", []string{"-format", "onnx"}, "gguf"},
		{"quantised checkpoint", []string{"-format", "hf"}, "bf16"},
		{"vocabulary", []string{"-vocab", "3"}, "512"},
		{"shards", []string{"-shards", "0"}, "1000"},
		{"folder", []string{"-out", dir + "/no/such.gguf"}, "such.gguf"},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := append([]string{"-shape", "tiny", "-out", filepath.Join(dir, "m.gguf")}, c.args...)
			err := run(t.Context(), args, nil, io.Discard, io.Discard)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one that names %q", err, c.want)
			}
		})
	}
}

func TestInterruptedFileIsRemoved(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	path := filepath.Join(t.TempDir(), "m.gguf")
	if err := run(ctx, []string{"-shape", "tiny", "-out", path}, nil, io.Discard, io.Discard); err == nil {
		t.Error("no error")
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the file is still there: %v", err)
	}
}

func TestHelpListsTheFlags(t *testing.T) {
	var help bytes.Buffer
	run(t.Context(), []string{"-h"}, nil, &help, io.Discard)
	for _, flag := range []string{"-shape", "-type", "-format", "-out", "-seed", "llama-3.2-3b"} {
		if !strings.Contains(help.String(), flag) {
			t.Errorf("the help lacks %s", flag)
		}
	}
}

// TestStopped stops the writer of a file, and of a folder, at every step, over files of another model.
func TestStopped(t *testing.T) {
	for _, format := range []string{"gguf", "hf"} {
		t.Run(format, func(t *testing.T) {
			write := func(s atomicfile.System, seed, folder string) error {
				o, err := parse([]string{"-shape", "tiny", "-type", "f16", "-vocab", "512", "-format", format, "-shards", "2", "-seed", seed}, io.Discard)
				if err != nil {
					return err
				}
				m, err := o.model()
				if err != nil {
					return err
				}
				m.config.Layers, m.config.HiddenSize, m.config.IntermediateSize, m.config.HeadDim = 1, 16, 16, 4 // few bytes to write
				return o.write(t.Context(), m, s, filepath.Join(folder, "m"), func(_, _ int64) {})
			}
			old := t.TempDir()
			if err := write(nil, "1", old); err != nil {
				t.Fatal(err)
			}
			filetest.EveryStep(t, func(folder string) {
				if err := os.CopyFS(folder, os.DirFS(old)); err != nil {
					t.Fatal(err)
				}
			}, func(s atomicfile.System, folder string) error { return write(s, "2", folder) }, nil)
		})
	}
}

// TestShapes checks that every shape is a model that Load would take, and that its GGUF file says the same.
func TestShapes(t *testing.T) {
	for name := range shapes {
		c, err := shapeOf(name, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestYaRN makes a small Qwen 3 with YaRN, and reads its configuration.
func TestYaRN(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.gguf")
	if err := run(t.Context(), []string{"-shape", "tiny-yarn", "-type", "f16", "-out", path}, nil, io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	m, err := llama.Load(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if r := m.Config().RoPE; r.Scaling != "yarn" || r.Factor != 4 || r.OriginalContext != 512 || math.Abs(r.Attention-yarn4) > 1e-7 || m.Config().Family != "qwen3" {
		t.Errorf("the configuration became %+v", m.Config())
	}
}

// TestEncoders makes an encoder of MiniLM's shape, and embeds a text.
func TestEncoders(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.gguf")
	if err := run(t.Context(), []string{"-shape", "minilm-l6", "-type", "q8_0", "-vocab", "2048", "-out", path}, nil, io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	m, err := llama.Load(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	vectors, err := m.Embed(t.Context(), "how much wood?")
	if err != nil || len(vectors[0]) != 384 || m.Kind() != llama.Embedder {
		t.Errorf("%d elements, %v, a model of kind %v", len(vectors[0]), err, m.Kind())
	}
}
