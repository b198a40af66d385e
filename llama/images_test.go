package llama

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/fixture/families"
	"github.com/antigravity-go/antigravity/internal/safetensors"
	"github.com/antigravity-go/antigravity/llama/internal/engine"
	"github.com/antigravity-go/antigravity/tensor"
)

// seeingFixture is a fixture of a model that sees, with what transformers computed for its pictures and texts.
type seeingFixture struct {
	name    string
	folder  string
	model   *Model
	golden  map[string]safetensors.Tensor
	images  []*Attachment // made of transformers' features
	prompts []seeingPrompt
}

// seeingPrompt is a prompt with images, and what comes of it.
type seeingPrompt struct {
	tokens []Token // with the attachments' ids
	logits [][]float32
	greedy []Token
}

// seeingNames are the fixtures of models that see.
var seeingNames = []string{"vl-qwen3vl", "vl-qwen35", "vl-glmocr", "vl-qwen2vl", "vl-qwen25vl", "vl-gemma4-e", "vl-gemma4-dense", "vl-gemma4-unified", "vl-gemma3", "vl-smolvlm", "vl-lfm2", "vl-mistral3"}

// floats returns a tensor's elements.
func (s *seeingFixture) floats(t testing.TB, name string) (list []float32, shape []int) {
	stored, ok := s.golden[name]
	if !ok {
		t.Fatalf("%s has no %s", s.name, name)
	}
	for b := stored.Data; len(b) > 0; b = b[4:] {
		list = append(list, math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	return list, stored.Shape
}

// ints returns a tensor's elements.
func (s *seeingFixture) ints(t testing.TB, name string) (list []Token) {
	values, _ := s.floats(t, name)
	for _, v := range values {
		list = append(list, Token(math.Float32bits(v)))
	}
	return list
}

// newSeeingFixture loads a fixture, with attachments of transformers' features.
func newSeeingFixture(t testing.TB, name string) *seeingFixture {
	t.Helper()
	folder := fixture.Path(t, "families/"+name)
	return seeingFixtureOf(t, name, folder, folder)
}

// seeingFixtureOf is newSeeingFixture of a model that lies elsewhere.
func seeingFixtureOf(t testing.TB, name, folder, path string) *seeingFixture {
	t.Helper()
	m, err := Load(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	data, err := os.ReadFile(filepath.Join(folder, "golden.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := safetensors.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	s := &seeingFixture{name: name, folder: folder, model: m, golden: map[string]safetensors.Tensor{}}
	for _, stored := range f.Tensors() {
		s.golden[stored.Name] = stored
	}
	for i := range 3 {
		s.images = append(s.images, s.attachGolden(t, i))
	}
	placeholder := placeholderOf(t, folder)
	for j, shown := range shownIn {
		p := seeingPrompt{tokens: s.ints(t, fmt.Sprintf("input_ids.%d", j)), greedy: s.ints(t, fmt.Sprintf("greedy_ids.%d", j))}
		at := -1
		for _, i := range shown {
			for row := range Token(s.images[i].features.Rows()) {
				if at = slices.Index(p.tokens, placeholder); at < 0 {
					t.Fatalf("%s: prompt %d has no place for row %d of image %d", name, j, row, i)
				}
				p.tokens[at] = s.images[i].first + row
			}
		}
		if slices.Index(p.tokens, placeholder) > at {
			t.Fatalf("%s: a place of an image is left in prompt %d", name, j)
		}
		logits, shape := s.floats(t, fmt.Sprintf("logits.%d", j))
		p.logits = slices.Collect(slices.Chunk(logits, shape[1]))
		s.prompts = append(s.prompts, p)
	}
	return s
}

// shownIn are the pictures in each prompt.
var shownIn = [][]int{{0}, {1, 2}, {2}}

// placeholderOf returns the token that stands for a row in a fixture's prompts.
func placeholderOf(t testing.TB, folder string) Token {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, "tokens.json"))
	var tokens struct{ Image Token }
	if err == nil {
		err = json.Unmarshal(data, &tokens)
	}
	if err != nil {
		t.Fatal(err)
	}
	return tokens.Image
}

// attachGolden attaches the features that transformers made of an image.
func (s *seeingFixture) attachGolden(t testing.TB, i int) *Attachment {
	t.Helper()
	read := func(name string) *tensor.Tensor {
		values, shape := s.floats(t, name)
		x, err := tensor.FromFloats(values, shape...)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	a := &Attachment{features: &engine.Features{X: read(fmt.Sprintf("image_features.%d", i))}, rows: 1}
	for k := 0; ; k++ {
		name := fmt.Sprintf("deepstack.%d.%d", i, k)
		if _, ok := s.golden[name]; !ok {
			break
		}
		a.features.Deep = append(a.features.Deep, read(name))
	}
	if a.columns = a.features.Rows(); s.golden[fmt.Sprintf("grid.%d", i)].Data != nil {
		grid := s.ints(t, fmt.Sprintf("grid.%d", i))
		a.rows, a.columns = int(grid[1])/2, int(grid[2])/2
	}
	a.tokens = s.goldenFrame(t, i, a.features.Rows())
	made, err := s.model.seen.attach(t.Context(), s.model.config.VocabSize, attachmentKey{tokens: i + 1}, func() (*Attachment, error) { return a, nil })
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// goldenFrame returns what stands for an image of some rows in the first prompt that begins with it, with noToken for each row.
func (s *seeingFixture) goldenFrame(t testing.TB, i, rows int) (list []Token) {
	for j, shown := range shownIn {
		if shown[0] != i {
			continue
		}
		placeholder := placeholderOf(t, s.folder)
		prompt := s.ints(t, fmt.Sprintf("input_ids.%d", j))
		for _, token := range prompt[slices.Index(prompt, placeholder):] {
			if rows == 0 {
				break
			}
			if token == placeholder {
				token = noToken
				rows--
			}
			list = append(list, token)
		}
	}
	return list
}

// greedy goes on with the likeliest tokens; end-of-text is a token as any other.
func (s *Session) greedy(t testing.TB, n int) (answer []Token) {
	t.Helper()
	for range n {
		logits, err := s.needLogits()
		if err != nil {
			t.Fatal(err)
		}
		answer = append(answer, Token(slices.Index(logits, slices.Max(logits))))
		if err := s.Prefill(t.Context(), answer[len(answer)-1:]); err != nil {
			t.Fatal(err)
		}
	}
	return answer
}

// TestImagesAreTransformers compares logits and greedy answers with transformers', given its features: the place of images in the model of text.
func TestImagesAreTransformers(t *testing.T) {
	for _, name := range seeingNames {
		t.Run(name, func(t *testing.T) {
			s := newSeeingFixture(t, name)
			for j, p := range s.prompts {
				session, err := s.model.NewSession(&SessionOptions{KV: tensor.F32})
				if err != nil {
					t.Fatal(err)
				}
				defer session.Close()
				worst := 0.0
				err = session.score(t.Context(), p.tokens, func(i int, logits []float32) {
					worst = max(worst, families.RelativeError(logits, p.logits[i-1]))
				})
				if err != nil {
					t.Fatal(err)
				}
				if worst > 1e-3 {
					t.Errorf("prompt %d: logits differ by %.2g of the largest", j, worst)
				}
				answer := session.greedy(t, len(p.greedy))
				if !slices.Equal(answer, p.greedy) {
					t.Errorf("prompt %d: the answer is %d, transformers' %d (logits within %.2g)", j, answer, p.greedy, worst)
				}
				t.Logf("prompt %d: %.2g", j, worst)
			}
		})
	}
}

// TestPicturesAreTransformers goes the whole way, from files of pictures to answers, with every fixture that has a tower, as a folder and as GGUF files.
func TestPicturesAreTransformers(t *testing.T) {
	for _, name := range seeingNames {
		t.Run(name, func(t *testing.T) {
			s := newSeeingFixture(t, name)
			if !s.model.Inputs().Image {
				t.Skip("the tower is not there")
			}
			s.seesPictures(t)
			folder := fixture.Path(t, "families/"+name)
			text, tower := families.GGUF(t, folder), families.Tower(t, folder)
			tower.WriteFile(t, filepath.Join(filepath.Dir(text), "mmproj-F32.gguf"))
			seeingFixtureOf(t, name, folder, text).seesPictures(t)
		})
	}
}

// seesPictures shows the fixture's pictures to the model, and compares features and answers with transformers'.
func (s *seeingFixture) seesPictures(t *testing.T) {
	seen := map[Token]Token{} // ids of features that transformers made → ids of ours
	for i, golden := range s.images {
		file, err := os.ReadFile(fixture.Path(t, fmt.Sprintf("families/%s/image.%d.png", s.name, i)))
		if err != nil {
			t.Fatal(err)
		}
		image, err := NewImage(file)
		if err != nil {
			t.Fatal(err)
		}
		a, err := s.model.Attach(t.Context(), image, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer runtime.KeepAlive(a)
		if e := families.RelativeError(a.Features(), golden.Features()); e > 1e-5 {
			t.Errorf("features of picture %d differ by %.2g of the largest", i, e)
		}
		rows, columns := a.Size()
		if rows*columns != a.features.Rows() || s.name == "vl-qwen3vl" && (rows != golden.rows || columns != golden.columns) {
			t.Errorf("picture %d has %d×%d rows", i, rows, columns)
		}
		for row := range a.features.Rows() {
			seen[golden.first+Token(row)] = a.first + Token(row)
		}
	}
	for j, p := range s.prompts {
		prompt := slices.Clone(p.tokens)
		for i, token := range prompt {
			if ours, ok := seen[token]; ok {
				prompt[i] = ours
			}
		}
		session, err := s.model.NewSession(&SessionOptions{KV: tensor.F32})
		if err != nil {
			t.Fatal(err)
		}
		defer session.Close()
		if err := session.Prefill(t.Context(), prompt); err != nil {
			t.Fatal(err)
		}
		if answer := session.greedy(t, len(p.greedy)); !slices.Equal(answer, p.greedy) {
			t.Errorf("prompt %d: the answer is %d, transformers' %d", j, answer, p.greedy)
		}
	}
}
