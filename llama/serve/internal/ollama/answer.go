package ollama

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/antigravity-go/antigravity/internal/precise"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// part is what a line says of an answer: a line of a stream has the part since the line before, a whole answer is one line.
type part struct {
	thinking string
	text     string
	calls    []calledTool
	logprobs []ask.TokenLogprob
	tokens   []llama.Token // of the answer, in the last line
	end      *ending       // nil: the answer goes on
}

// head begins each line.
type head struct {
	Model string    `json:"model"`
	Time  time.Time `json:"created_at"`
	Done  bool      `json:"done"`
}

// ending is what the last line says beyond the others. Durations are nanoseconds.
type ending struct {
	Reason         string        `json:"done_reason"`
	Total          time.Duration `json:"total_duration"`
	Load           time.Duration `json:"load_duration"`
	PromptTokens   int           `json:"prompt_eval_count"`
	ReusedTokens   int           `json:"prompt_eval_cached_count"` // those of the prompt's tokens that were in the cache already
	PromptDuration time.Duration `json:"prompt_eval_duration"`
	Tokens         int           `json:"eval_count"`
	Duration       time.Duration `json:"eval_duration"`
}

// calledTool is a call, as an answer has it.
type calledTool struct {
	ID       string `json:"id"`
	Function struct {
		Index     int             `json:"index"`
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

// newHead returns the beginning of a line, of a model as the request names it.
func newHead(model string, done bool) head { return head{model, time.Now().UTC(), done} }

// answer writes the answer to the choice, as a stream or whole. line returns a line in the form of the endpoint.
func (q *question) answer(w http.ResponseWriter, r *http.Request, choice ask.Choice, line func(*part) any) error {
	answers, err := q.model.Ask(r.Context(), []ask.Choice{choice}, q.names)
	if err != nil {
		return err
	}
	defer answers.Close()
	e := encoder{question: q}
	if q.Logprobs {
		e.logprobs = &ask.Logprobs{Tokenizer: q.model.Model.Tokenizer(), Top: q.TopLogprobs}
	}
	if q.streams() {
		return e.stream(w, answers, line)
	}
	var whole part
	var thinking, text strings.Builder
	err = answers.Collect(func(event ask.Event) error {
		p := e.part(event.Piece)
		thinking.WriteString(p.thinking)
		text.WriteString(p.text)
		whole.calls, whole.logprobs = append(whole.calls, p.calls...), append(whole.logprobs, p.logprobs...)
		whole.tokens, whole.end = p.tokens, p.end
		return nil
	})
	if err != nil {
		return err
	}
	whole.thinking, whole.text = thinking.String(), text.String()
	return wire.Write(w, http.StatusOK, line(&whole))
}

// encoder turns the pieces of an answer into parts.
type encoder struct {
	*question
	logprobs *ask.Logprobs // nil: not asked for
	calls    ask.Calls     // which come whole
	tokens   []llama.Token
}

// part returns what a piece adds to the answer.
func (e *encoder) part(piece llama.Piece) (p part) {
	text, calls := e.calls.Take(piece)
	p.thinking, p.text = piece.Thought, text
	for _, c := range calls {
		call := calledTool{ID: c.ID}
		call.Function.Index, call.Function.Name, call.Function.Arguments = c.Index, c.Name, json.RawMessage(c.Arguments)
		p.calls = append(p.calls, call)
	}
	if e.logprobs != nil {
		p.logprobs = e.logprobs.Of(piece)
	}
	e.tokens = append(e.tokens, piece.Tokens...)
	if piece.Stop == 0 {
		return p
	}
	s := piece.Stats
	p.tokens = e.tokens
	p.end = &ending{
		Reason: doneReason(piece.Stop), Total: precise.Since(e.began), Load: e.loaded,
		PromptTokens: s.PromptTokens, ReusedTokens: s.ReusedTokens, PromptDuration: s.PrefillTime, Tokens: s.GeneratedTokens, Duration: s.DecodeTime,
	}
	return p
}

// doneReason returns Ollama's word for why an answer ended.
func doneReason(stop llama.StopReason) string {
	if stop == llama.MaxTokens || stop == llama.ContextFull {
		return "length"
	}
	return "stop"
}

// stream writes the answer line by line. It begins at once, since a prompt may take longer than a client waits for the header. Mistakes of
// the request were found before; an error while the answer is computed is a line of its own, the last. A sign of life is a line that says
// nothing.
func (e *encoder) stream(w http.ResponseWriter, answers *ask.Answers, line func(*part) any) error {
	lines := wire.NewLines(w)
	alive := func() error { return lines.Send(line(&part{})) }
	return answers.Stream(lines, alive, func(event ask.Event) error {
		if event.Err != nil {
			_ = lines.Send(Shape(event.Err)) // a client that is gone reads no error either
			_ = lines.Flush()
			return event.Err
		}
		p := e.part(event.Piece)
		if p.thinking == "" && p.text == "" && p.calls == nil && p.logprobs == nil && p.end == nil {
			return nil
		}
		return lines.Send(line(&p))
	})
}
