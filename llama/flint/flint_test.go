package flint_test

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/safetensors"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/flint"
	"github.com/antigravity-go/antigravity/tensor"
)

// embedded loads Flint once for all tests.
var embedded = sync.OnceValues(func() (*llama.Model, error) { return flint.Load(nil) })

func model(t testing.TB) *llama.Model {
	t.Helper()
	m, err := embedded()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func session(t testing.TB, o *llama.SessionOptions) *llama.Session {
	t.Helper()
	s, err := model(t).NewSession(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// messages makes a history of pairs of role and content.
func messages(pairs [][2]string) (h []llama.Message) {
	for _, m := range pairs {
		h = append(h, llama.Message{Role: m[0], Content: m[1]})
	}
	return h
}

// collect returns the text and the tokens of an answer.
func collect(t *testing.T, s *llama.Session, prompt []llama.Token, p llama.Params) (string, []llama.Token) {
	t.Helper()
	var text strings.Builder
	var tokens []llama.Token
	for piece, err := range s.Generate(context.Background(), prompt, p) {
		if err != nil {
			t.Fatal(err)
		}
		text.WriteString(piece.Text)
		tokens = append(tokens, piece.Tokens...)
	}
	return text.String(), tokens
}

// generation is what transformers generated greedily, in float32, with the weights before they were rounded to Q4_0.
type generation struct {
	Messages  [][2]string   // a conversation, or
	Prompt    string        // a text to continue
	PromptIDs []llama.Token `json:"prompt_ids"`
	GreedyIDs []llama.Token `json:"greedy_ids"` // the end-of-turn token included
	Text      string
}

func readGenerations(t *testing.T) []generation {
	t.Helper()
	raw, err := os.ReadFile(fixture.Path(t, "flint/golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	var golden struct{ Generations []generation }
	if err := json.Unmarshal(raw, &golden); err != nil {
		t.Fatal(err)
	}
	if len(golden.Generations) == 0 {
		t.Fatal("golden.json has no generations")
	}
	return golden.Generations
}

// TestTextsEqualTransformers compares prompts and greedy answers with those of transformers. Rounding the weights to Q4_0 changes no
// answer, but it does change a story, because the model draws its names and places: there it is enough that the model finds the golden
// story as probable as its own kind.
func TestTextsEqualTransformers(t *testing.T) {
	tokenizer := model(t).Tokenizer()
	for i, g := range readGenerations(t) {
		prompt := tokenizer.EncodeSpecial(g.Prompt, true)
		if g.Prompt == "" {
			var err error
			if prompt, err = tokenizer.Template(messages(g.Messages), llama.TemplateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(prompt, g.PromptIDs) {
			t.Errorf("prompt %d: tokens %v, want %v", i, prompt, g.PromptIDs)
		}
		if g.Prompt != "" {
			if got := meanLogProb(t, prompt, g.GreedyIDs); got < -0.5 { // -0.32 was measured; -8.3 is that of any token
				t.Errorf("text %d: its tokens have a mean log-probability of %.2f, want at least -0.5", i, got)
			}
			continue
		}
		text, tokens := collect(t, session(t, nil), prompt, llama.Params{})
		if text != g.Text {
			t.Errorf("answer %d: %q, want %q", i, text, g.Text)
		}
		if want := g.GreedyIDs[:len(g.GreedyIDs)-1]; !slices.Equal(tokens, want) {
			t.Errorf("answer %d: tokens %v, want %v", i, tokens, want)
		}
	}
}

// meanLogProb returns the mean log-probability of a continuation's tokens after a prompt.
func meanLogProb(t *testing.T, prompt, continuation []llama.Token) float64 {
	t.Helper()
	s := session(t, nil)
	if err := s.Prefill(context.Background(), prompt); err != nil {
		t.Fatal(err)
	}
	scores, err := s.Score(context.Background(), continuation)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, score := range scores {
		sum += float64(score)
	}
	return sum / float64(len(continuation))
}

// TestLogitsEqualTransformers compares the logits after the last token of each golden prompt. The golden ones are those of the weights
// before they were rounded to Q4_0, which explains the difference: in float32, from the folder that the GGUF file was made of, it is 8e-7.
func TestLogitsEqualTransformers(t *testing.T) {
	const tolerance = 0.1
	data, err := os.ReadFile(fixture.Path(t, "flint/golden.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	file, err := safetensors.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	// words returns a tensor's elements of 32 bits each.
	words := func(name string) (list []uint32) {
		stored, ok := file.Tensor(name)
		if !ok {
			t.Fatalf("golden.safetensors has no %s", name)
		}
		for b := stored.Data; len(b) > 0; b = b[4:] {
			list = append(list, uint32(b[0])|uint32(b[1])<<8|uint32(b[2])<<16|uint32(b[3])<<24)
		}
		return list
	}
	for i := range 5 {
		var prompt []llama.Token
		for _, w := range words(fmt.Sprintf("ids.%d", i)) {
			prompt = append(prompt, llama.Token(w))
		}
		s := session(t, &llama.SessionOptions{KV: tensor.F32})
		if err := s.Prefill(context.Background(), prompt); err != nil {
			t.Fatal(err)
		}
		got, err := s.Logits()
		if err != nil {
			t.Fatal(err)
		}
		worst, scale := 0.0, 0.0
		for j, w := range words(fmt.Sprintf("logits.%d", i)) {
			want := float64(math.Float32frombits(w))
			worst, scale = max(worst, math.Abs(float64(got[j])-want)), max(scale, math.Abs(want))
		}
		if !(worst/scale <= tolerance) {
			t.Errorf("text %d: relative error %.2g, want at most %g", i, worst/scale, tolerance)
		}
	}
}

// conversation is one line of eval.jsonl. Its last message is the answer that is expected.
type conversation struct {
	Skill    string
	Messages [][2]string
}

// readConversations reads every n-th of the held-out conversations, which come skill by skill.
func readConversations(t testing.TB, n int) (list []conversation) {
	t.Helper()
	f, err := os.Open(fixture.Path(t, "flint/eval.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<20)
	for i := 0; lines.Scan(); i++ {
		if i%n != 0 {
			continue
		}
		var c conversation
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		list = append(list, c)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// TestAnswers asks for the last message of a spread sample of the held-out conversations, or of all of them where
// ANTIGRAVITY_EVAL is "all". The share of answers that must be exact is 1 for the sample, and the one measured with transformers for
// all of them.
func TestAnswers(t *testing.T) {
	every, want, all := 20, 1.0, effort.All()
	if all {
		every, want = 1, 0.997
	}
	s := session(t, nil)
	exact, asked, skills := 0, 0, map[string]bool{}
	for _, c := range readConversations(t, every) {
		if !all && asm.Tier() == "generic" && (skills[c.Skill] || strings.HasPrefix(c.Skill, "needle")) {
			continue // the portable kernels take too long for more than one question of a skill, and for long ones
		}
		last := len(c.Messages) - 1
		prompt, err := model(t).Tokenizer().Template(messages(c.Messages[:last]), llama.TemplateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Truncate(0); err != nil {
			t.Fatal(err)
		}
		asked++
		skills[c.Skill] = true
		if answer, _ := collect(t, s, prompt, llama.Params{MaxTokens: 1000}); answer == c.Messages[last][1] {
			exact++
		} else {
			t.Logf("%s: %q, want %q", c.Skill, answer, c.Messages[last][1])
		}
	}
	for _, skill := range []string{"tool", "extract", "edit"} {
		if !skills[skill] {
			t.Errorf("the sample asks for no %s", skill)
		}
	}
	if got := float64(exact) / float64(asked); got < want {
		t.Errorf("%d of %d answers are exact: %.4f, want %.4f", exact, asked, got, want)
	}
}

// TestTemplateWritesTools compares a conversation with tools for the template with the same conversation, tokenised by transformers, with
// the tools in the text of its system turn.
func TestTemplateWritesTools(t *testing.T) {
	compared := 0
	for i, g := range readGenerations(t) {
		if len(g.Messages) == 0 || g.Messages[0][0] != llama.RoleSystem {
			continue
		}
		var tools []json.RawMessage
		for _, function := range strings.Split(g.Messages[0][1], "\n")[1:] { // the first line is "Tools:"
			tools = append(tools, json.RawMessage(`{"type": "function", "function": `+function+`}`))
		}
		history := messages(g.Messages[1:])
		for j, m := range history {
			var call struct {
				Name       string
				Parameters json.RawMessage
			}
			if m.Role == llama.RoleAssistant && json.Unmarshal([]byte(m.Content), &call) == nil {
				history[j] = llama.Message{Role: m.Role, ToolCalls: []llama.ToolCall{{Name: call.Name, Arguments: call.Parameters}}}
			}
		}
		got, err := model(t).Tokenizer().Template(history, llama.TemplateOptions{Tools: tools})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, g.PromptIDs) {
			t.Errorf("prompt %d: %q, want %q", i, model(t).Tokenizer().Decode(got...), model(t).Tokenizer().Decode(g.PromptIDs...))
		}
		compared++
	}
	if compared != 2 {
		t.Errorf("%d golden prompts have tools, want 2", compared)
	}
}

func Example() {
	model, err := flint.Load(nil)
	if err != nil {
		panic(err)
	}
	defer model.Close()
	session, err := model.NewSession(nil)
	if err != nil {
		panic(err)
	}
	defer session.Close()
	history := []llama.Message{{Role: llama.RoleUser, Content: "Replace lantern with kite in this text:\n\nThe old lantern hung above the stairs."}}
	for piece, err := range session.Chat(context.Background(), history, llama.Params{}) {
		if err != nil {
			panic(err)
		}
		fmt.Print(piece.Text)
	}
	// Output: The old kite hung above the stairs.
}

func Example_tools() {
	model, err := flint.Load(nil)
	if err != nil {
		panic(err)
	}
	defer model.Close()
	session, err := model.NewSession(nil)
	if err != nil {
		panic(err)
	}
	defer session.Close()
	weather := json.RawMessage(`{"type": "function", "function": {"name": "get_weather", "description": "Tells the weather in a city.",
		"parameters": {"type": "object", "properties": {"city": {"type": "string", "description": "name of the city"}}, "required": ["city"]}}}`)
	history := []llama.Message{{Role: llama.RoleUser, Content: "What is the weather in Oslo?"}}
	answer, err := llama.Collect(session.Chat(context.Background(), history, llama.Params{Template: llama.TemplateOptions{Tools: []json.RawMessage{weather}}}))
	if err != nil {
		panic(err)
	}
	for _, call := range answer.Message.ToolCalls {
		fmt.Println(call.Name, string(call.Arguments))
	}
	// Output: get_weather {"city": "Oslo"}
}
