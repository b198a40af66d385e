package llama_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/quiz"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/internal/llamatest"
	"github.com/antigravity-go/antigravity/llama/pebble"
	"github.com/antigravity-go/antigravity/tensor"
)

// pebbleModel and newSession are llamatest's, under names that these tests use often.
func pebbleModel(t testing.TB) *llama.Model { return llamatest.Pebble(t) }

func newSession(t testing.TB, m *llama.Model, o *llama.SessionOptions) *llama.Session {
	return llamatest.Session(t, m, o)
}

// chat answers a conversation whole.
func chat(t testing.TB, s *llama.Session, history []llama.Message, p llama.Params) (string, llama.Piece) {
	t.Helper()
	var text strings.Builder
	var last llama.Piece
	for piece, err := range s.Chat(context.Background(), history, p) {
		if err != nil {
			t.Fatal(err)
		}
		text.WriteString(piece.Text)
		last = piece
	}
	return text.String(), last
}

func user(question string) []llama.Message { return llamatest.User(question) }

// question is one line of quiz.Pebble.
type question struct {
	Skill    string
	Messages [][2]string
	Answer   string
}

func (q question) history() (h []llama.Message) {
	for _, m := range q.Messages {
		h = append(h, llama.Message{Role: m[0], Content: m[1]})
	}
	return h
}

// readQuestions reads every n-th of the held-out questions.
func readQuestions(t testing.TB, n int) (list []question) {
	t.Helper()
	text, err := quiz.Pebble()
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(text)
	lines.Buffer(nil, 1<<20)
	for i := 0; lines.Scan(); i++ {
		if i%n != 0 {
			continue
		}
		var q question
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			t.Fatal(err)
		}
		list = append(list, q)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// affordable leaves out long questions where only the portable kernels run, unless all were asked for.
func affordable(questions []question) []question {
	if asm.Tier() != "generic" || effort.All() {
		return questions
	}
	return slices.DeleteFunc(questions, func(q question) bool {
		return strings.HasPrefix(q.Skill, "needle") && !strings.HasSuffix(q.Skill, "e50")
	})
}

// accuracy returns the share of questions answered exactly.
func accuracy(t *testing.T, m *llama.Model, questions []question) float64 {
	s := newSession(t, m, nil)
	exact := 0
	for _, q := range questions {
		answer, _ := chat(t, s, q.history(), llama.Params{MaxTokens: 120})
		if answer == q.Answer {
			exact++
		} else {
			t.Logf("%s: %q, want %q", q.Skill, answer, q.Answer)
		}
	}
	return float64(exact) / float64(len(questions))
}

// TestPebbleAnswers asks a spread sample of the questions, or all of them where ANTIGRAVITY_EVAL is "all", of the folder, of
// the GGUF file with Q4_0 weights, and of the folder quantised while loading.
func TestPebbleAnswers(t *testing.T) {
	t.Parallel()
	every, want := effort.Of(156, 52, 1), 1.0
	if effort.All() {
		want = 0.998
	}
	questions := affordable(readQuestions(t, every))
	for _, c := range []struct {
		name string
		load func() (*llama.Model, error)
	}{
		{"folder", func() (*llama.Model, error) { return llama.Load(fixture.Path(t, "pebble/hf"), nil) }},
		{"Q4_0 file", func() (*llama.Model, error) { return pebble.Load(nil) }},
		{"folder to Q4_0", func() (*llama.Model, error) {
			return llama.Load(fixture.Path(t, "pebble/hf"), &llama.LoadOptions{Weights: tensor.Q4_0})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := c.load()
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			if got := accuracy(t, m, questions); got < want {
				t.Errorf("%.2f %% of %d answers are exact, want %.2f %%", 100*got, len(questions), 100*want)
			}
		})
	}
}

func TestPebbleAnswersWithQuantisedCaches(t *testing.T) {
	effort.Turn(t, 8)
	questions := affordable(readQuestions(t, effort.Of(156, 104, 104)))
	for _, c := range []struct {
		kv   tensor.DType
		want float64
	}{{tensor.F32, 1}, {tensor.F16, 1}, {tensor.Q8_0, 1}, {tensor.Q4_0, 0.5}} {
		m := pebbleModel(t)
		s := newSession(t, m, &llama.SessionOptions{KV: c.kv})
		exact := 0
		for _, q := range questions {
			if answer, _ := chat(t, s, q.history(), llama.Params{MaxTokens: 120}); answer == q.Answer {
				exact++
			}
		}
		if got := float64(exact) / float64(len(questions)); got < c.want {
			t.Errorf("cache of %v: %.2f of %d answers are exact, want %.2f", c.kv, got, len(questions), c.want)
		}
	}
}

// TestPebbleTextsEqualTransformers compares greedy texts with those of transformers in float32.
func TestPebbleTextsEqualTransformers(t *testing.T) {
	raw, err := os.ReadFile(fixture.Path(t, "pebble/golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Generations []struct {
			Messages  [][2]string   // a conversation, or
			Prompt    string        // a text to continue
			PromptIDs []llama.Token `json:"prompt_ids"`
			GreedyIDs []llama.Token `json:"greedy_ids"`
			Text      string
		}
	}
	if err := json.Unmarshal(raw, &golden); err != nil {
		t.Fatal(err)
	}
	m, err := llama.Load(fixture.Path(t, "pebble/hf"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for i, g := range golden.Generations {
		prompt := m.Tokenizer().EncodeSpecial(g.Prompt, true)
		if g.Prompt == "" {
			if prompt, err = m.Tokenizer().Template(question{Messages: g.Messages}.history(), llama.TemplateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(prompt, g.PromptIDs) {
			t.Errorf("prompt %d: tokens %v, want %v", i, prompt, g.PromptIDs)
		}
		var text strings.Builder
		var tokens []llama.Token
		for piece, err := range newSession(t, m, nil).Generate(context.Background(), prompt, llama.Params{}) {
			if err != nil {
				t.Fatal(err)
			}
			text.WriteString(piece.Text)
			tokens = append(tokens, piece.Tokens...)
		}
		if text.String() != g.Text {
			t.Errorf("answer %d: %q, want %q", i, text.String(), g.Text)
		}
		// The golden tokens end with the end-of-turn token, which an answer does not have.
		if want := g.GreedyIDs[:len(g.GreedyIDs)-1]; !slices.Equal(tokens, want) {
			t.Errorf("answer %d: tokens %v, want %v", i, tokens, want)
		}
	}
}

func Example() {
	model, err := pebble.Load(nil) // or llama.Load("path/of/a/model", nil)
	if err != nil {
		panic(err)
	}
	defer model.Close()
	session, err := model.NewSession(nil)
	if err != nil {
		panic(err)
	}
	defer session.Close()
	history := []llama.Message{{Role: "user", Content: "What is the capital of Japan?"}}
	for piece, err := range session.Chat(context.Background(), history, llama.Params{}) {
		if err != nil {
			panic(err)
		}
		fmt.Print(piece.Text)
	}
	// Output: The capital of Japan is Tokyo.
}

func ExampleTokenizer_Encode() {
	tokenizer, err := llama.LoadTokenizer(filepath.Join("pebble", pebble.Name))
	if err != nil {
		panic(err)
	}
	tokens := tokenizer.Encode("The capital of Japan is Tokyo.")
	fmt.Println(tokens)
	fmt.Println(tokenizer.Decode(tokens...))
	// Output:
	// [266 401 380 1440 277 2558 13]
	// The capital of Japan is Tokyo.
}

func ExampleSession_Generate() {
	model, err := pebble.Load(nil)
	if err != nil {
		panic(err)
	}
	defer model.Close()
	session, err := model.NewSession(nil)
	if err != nil {
		panic(err)
	}
	defer session.Close()
	prompt := model.Tokenizer().EncodeSpecial("Once upon a time", true)
	for piece, err := range session.Generate(context.Background(), prompt, llama.Params{MaxTokens: 8}) {
		if err != nil {
			panic(err)
		}
		fmt.Printf("%q ", piece.Text)
		if piece.Stop != 0 {
			fmt.Println(piece.Stop)
		}
	}
	// Output: " a" " brave" " otter" " named" " Nina" " lived" " near" " the" maximum of tokens
}

// TestAlternativesHaveTheirText compares the texts of probabilities with the answer's text.
func TestAlternativesHaveTheirText(t *testing.T) {
	m := pebbleModel(t)
	s := must(m.NewSession(nil))
	defer s.Close()
	answer := must(llama.Collect(s.Chat(t.Context(), user("What is the capital of Japan?"), llama.Params{Logprobs: 3})))
	text := ""
	for i, each := range answer.Logprobs {
		text += each.Chosen.Text
		if each.Chosen.Token != answer.Tokens[i] || len(each.Top) != 3 || each.Top[0] != each.Chosen {
			t.Errorf("token %d: %+v", i, each)
		}
		for _, top := range each.Top {
			if top.Text != string(m.Tokenizer().AppendBytes(nil, top.Token)) || top.Text == "" {
				t.Errorf("token %d has the text %q", top.Token, top.Text)
			}
		}
	}
	if text != answer.Text {
		t.Errorf("the tokens' texts are %q, the answer %q", text, answer.Text)
	}
}
