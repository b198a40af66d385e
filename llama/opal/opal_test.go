package opal_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"math"
	"os"
	"runtime"
	"sync"
	"testing"

	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/fixture/families"
	"github.com/antigravity-go/antigravity/internal/picture"
	"github.com/antigravity-go/antigravity/internal/pixels"
	"github.com/antigravity-go/antigravity/internal/safetensors"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/opal"
)

// embedded loads Opal once for all tests.
var embedded = sync.OnceValues(func() (*llama.Model, error) { return opal.Load(nil) })

func session(t testing.TB) *llama.Session {
	t.Helper()
	m, err := embedded()
	if err != nil {
		t.Fatal(err)
	}
	s, err := m.NewSession(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// conversation is turns about held-out pictures, with right answers.
type conversation struct {
	Images []string // files
	Turns  []struct {
		Kind, Question, Answer string
		Images                 []int         // those that come with the question
		Greedy                 string        // what transformers answers in float32, with the weights of both files; "": Answer
		Prompt                 []llama.Token `json:"prompt_ids"` // of the first turn, each picture as one token
	}
}

func readConversations(t testing.TB) (list []conversation) {
	t.Helper()
	b, err := os.ReadFile(fixture.Path(t, "opal/questions.json"))
	if err == nil {
		err = json.Unmarshal(b, &list)
	}
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// readImage reads a picture of the fixture.
func readImage(t testing.TB, file string) *llama.Image {
	t.Helper()
	b, err := os.ReadFile(fixture.Path(t, "opal/"+file))
	if err != nil {
		t.Fatal(err)
	}
	picture, err := llama.NewImage(b)
	if err != nil {
		t.Fatal(err)
	}
	return picture
}

// attach returns a picture of the fixture as the model sees it.
func attach(t testing.TB, file string) *llama.Attachment {
	t.Helper()
	m, err := embedded()
	if err != nil {
		t.Fatal(err)
	}
	a, err := m.Attach(t.Context(), readImage(t, file), 0)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// golden is what transformers computes in float32 with the weights of both files.
type golden struct {
	t    testing.TB
	file *safetensors.File
}

func readGolden(t testing.TB) golden {
	t.Helper()
	b, err := os.ReadFile(fixture.Path(t, "opal/golden.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	file, err := safetensors.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	return golden{t, file}
}

// floats returns a tensor's elements.
func (g golden) floats(format string, i int) (list []float32) {
	g.t.Helper()
	stored, ok := g.file.Tensor(fmt.Sprintf(format, i))
	if !ok {
		g.t.Fatalf("the fixture has no "+format, i)
	}
	for b := stored.Data; len(b) > 0; b = b[4:] {
		list = append(list, math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	return list
}

// seen are the pictures with golden features.
var seen = []int{0, 2, 3}

// TestPixelsAreTransformers resizes pictures, and compares them with those that transformers' processor made of them.
func TestPixelsAreTransformers(t *testing.T) {
	read := func(format string, i int) *picture.RGB {
		b, err := os.ReadFile(fixture.Path(t, fmt.Sprintf("opal/"+format, i)))
		if err != nil {
			t.Fatal(err)
		}
		rgb, err := picture.Decode(b, picture.DefaultLimits())
		if err != nil {
			t.Fatal(err)
		}
		return rgb
	}
	for _, i := range seen {
		want := read("pixels.%d.png", i)
		got, err := pixels.Resize(nil, read("image.%d.0.png", i), want.Width, want.Height, pixels.Bicubic)
		if err != nil {
			t.Fatal(err)
		}
		for at := range want.Pix {
			if got.Pix[at] != want.Pix[at] {
				t.Fatalf("picture %d: byte %d is %d, want %d", i, at, got.Pix[at], want.Pix[at])
			}
		}
	}
}

// TestFeaturesAreTransformers compares what the tower makes of pictures.
func TestFeaturesAreTransformers(t *testing.T) {
	g := readGolden(t)
	list := seen
	if asm.Tier() == "generic" {
		list = seen[:1] // the portable kernels take seconds for a picture
	}
	for _, i := range list {
		a := attach(t, fmt.Sprintf("image.%d.0.png", i))
		e := families.RelativeError(a.Features(), g.floats("image_features.%d", i))
		t.Logf("picture %d: relative error %.2g", i, e)
		if e > 0.03 {
			t.Errorf("picture %d: relative error %.2g", i, e)
		}
	}
}

// TestLogitsAreTransformers compares the first turns' prompts, and the logits after them.
func TestLogitsAreTransformers(t *testing.T) {
	const pad = "<|image_pad|>"
	every := 8
	if asm.Tier() == "generic" {
		every = 24
	}
	g, worst := readGolden(t), 0.0
	m, err := embedded()
	if err != nil {
		t.Fatal(err)
	}
	tokenizer := m.Tokenizer()
	for i, c := range readConversations(t) {
		if !effort.Share(i, every) {
			continue
		}
		s := session(t)
		placeholder, _ := tokenizer.ID(pad)
		prompt, shown := []llama.Token{}, 0
		for _, token := range c.Turns[0].Prompt {
			if token != placeholder {
				prompt = append(prompt, token)
				continue
			}
			a := attach(t, c.Images[c.Turns[0].Images[shown]])
			defer runtime.KeepAlive(a)
			for _, row := range a.Tokens() {
				if int(row) >= tokenizer.VocabSize() {
					prompt = append(prompt, row)
				}
			}
			shown++
		}
		if err := s.Prefill(t.Context(), prompt); err != nil {
			t.Fatal(err)
		}
		got, err := s.Logits()
		if err != nil {
			t.Fatal(err)
		}
		e := families.RelativeError(got, g.floats("logits.%d", i))
		if worst = max(worst, e); e > 0.03 {
			t.Errorf("conversation %d: relative error %.2g", i, e)
		}
	}
	t.Logf("relative error %.2g", worst)
}

// TestAnswers holds conversations about held-out pictures: some of them, or all where ANTIGRAVITY_EVAL is "all". Each answer is the one of
// transformers, and nearly all are right.
func TestAnswers(t *testing.T) {
	every := 6
	switch {
	case effort.All():
		every = 1
	case asm.Tier() == "generic":
		every = 24
	}
	asked, right := 0, 0
	for i, c := range readConversations(t) {
		if i%every != 0 {
			continue
		}
		s := session(t)
		var history []llama.Message
		for _, turn := range c.Turns {
			question := llama.Message{Role: llama.RoleUser, Content: turn.Question}
			if len(turn.Images) > 0 {
				question.Content = ""
				for _, k := range turn.Images {
					question.Parts = append(question.Parts, llama.Part{Image: readImage(t, c.Images[k])})
				}
				question.Parts = append(question.Parts, llama.Part{Text: turn.Question})
			}
			history = append(history, question)
			answer, err := llama.Collect(s.Chat(t.Context(), history, llama.Params{MaxTokens: 60}))
			if err != nil {
				t.Fatal(err)
			}
			want := turn.Greedy
			if want == "" {
				want = turn.Answer
			}
			asked++
			if answer.Text == turn.Answer {
				right++
			}
			if answer.Text != want {
				t.Errorf("conversation %d, %s, %q: the answer is %q, want %q", i, turn.Kind, turn.Question, answer.Text, want)
			}
			history = append(history, llama.Message{Role: llama.RoleAssistant, Content: answer.Text})
		}
	}
	t.Logf("%d of %d answers are right", right, asked)
	if float64(right) < 0.95*float64(asked) {
		t.Errorf("%d of %d answers are right", right, asked)
	}
}

func Example() {
	model, err := opal.Load(nil)
	if err != nil {
		panic(err)
	}
	defer model.Close()
	session, err := model.NewSession(nil)
	if err != nil {
		panic(err)
	}
	defer session.Close()

	// A red circle on white; llama.NewImage reads PNG, JPEG, GIF and WebP.
	drawing := image.NewRGBA(image.Rect(0, 0, 200, 150))
	for i := range drawing.Bounds().Dx() * drawing.Bounds().Dy() {
		x, y := i%200, i/200
		if drawing.Set(x, y, color.White); (x-140)*(x-140)+(y-75)*(y-75) < 30*30 {
			drawing.Set(x, y, color.RGBA{R: 255, A: 255})
		}
	}
	picture, err := llama.ImageOf(drawing)
	if err != nil {
		panic(err)
	}
	history := []llama.Message{{Role: llama.RoleUser, Parts: []llama.Part{{Image: picture}, {Text: "What do you see?"}}}}
	answer, err := llama.Collect(session.Chat(context.Background(), history, llama.Params{}))
	if err != nil {
		panic(err)
	}
	fmt.Println(answer.Text)
	history = append(history, answer.Message, llama.Message{Role: llama.RoleUser, Content: "Where is the circle?"})
	if answer, err = llama.Collect(session.Chat(context.Background(), history, llama.Params{})); err != nil {
		panic(err)
	}
	fmt.Println(answer.Text)
	// Output:
	// A red circle on a white background.
	// On the right.
}
