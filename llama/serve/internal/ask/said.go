package ask

import (
	"log/slog"
	"strings"

	"github.com/antigravity-go/antigravity/llama"
)

// maxSaid bounds what is logged of a prompt or of an answer, in bytes.
const maxSaid = 4000

// said collects the beginning of an answer for the log. The zero value collects nothing.
type said struct {
	text strings.Builder
	log  *slog.Logger // nil: what is said is not logged
}

// hear begins to log one of a request's answers, if what is said may be logged: its prompt is logged now.
func (m *Model) hear(choice int, prompt []llama.Token) *said {
	if !m.desk.LogPrompts {
		return &said{}
	}
	t := m.Model.Tokenizer()
	var text []byte
	for _, token := range prompt {
		if text = t.AppendBytes(text, token); len(text) > maxSaid {
			break
		}
	}
	s := &said{log: m.request.Log.With(slog.Int("answer", choice))}
	s.log.Info("prompt", slog.Int("tokens", len(prompt)), slog.String("text", beginning(string(text))))
	return s
}

// add adds a piece of the answer.
func (s *said) add(p llama.Piece) {
	if s.log == nil || s.text.Len() > maxSaid {
		return
	}
	s.text.WriteString(p.Text)
	for _, c := range p.Calls {
		s.text.WriteString(c.Name)
		s.text.WriteString(c.Arguments)
	}
}

// done logs the answer as far as it came.
func (s *said) done() {
	if s.log != nil {
		s.log.Info("answer", slog.String("text", beginning(s.text.String())))
	}
}

// beginning returns what is logged of a text.
func beginning(text string) string {
	if len(text) <= maxSaid {
		return strings.ToValidUTF8(text, "\ufffd")
	}
	return strings.ToValidUTF8(text[:maxSaid], "\ufffd") + "…"
}
