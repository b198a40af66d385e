package ask

import (
	"log/slog"
	"strings"

	"github.com/antigravity-go/antigravity/llama"
)

// maxLogged bounds how much is logged of a prompt or of an answer, in bytes.
const maxLogged = 4000

// answerLog logs one answer's prompt and text, at most maxLogged bytes of each. The zero value logs nothing.
type answerLog struct {
	text strings.Builder
	log  *slog.Logger // nil: prompts and answers are not logged
}

// newAnswerLog starts the log of one of a request's answers, and logs its prompt. If the service does not log prompts, the log does nothing.
func (m *Model) newAnswerLog(choice int, prompt []llama.Token) *answerLog {
	if !m.service.LogPrompts {
		return &answerLog{}
	}
	t := m.Model.Tokenizer()
	var text []byte
	for _, token := range prompt {
		if text = t.AppendBytes(text, token); len(text) > maxLogged {
			break
		}
	}
	s := &answerLog{log: m.request.Log.With(slog.Int("answer", choice))}
	s.log.Info("prompt", slog.Int("tokens", len(prompt)), slog.String("text", truncated(string(text))))
	return s
}

// add adds a piece of the answer.
func (s *answerLog) add(p llama.Piece) {
	if s.log == nil || s.text.Len() > maxLogged {
		return
	}
	s.text.WriteString(p.Thought)
	s.text.WriteString(p.Text)
	for _, c := range p.Calls {
		s.text.WriteString(c.Name)
		s.text.WriteString(c.Arguments)
	}
}

// end logs the answer as far as it was computed.
func (s *answerLog) end() {
	if s.log != nil {
		s.log.Info("answer", slog.String("text", truncated(s.text.String())))
	}
}

// truncated returns at most maxLogged bytes of a text, as valid UTF-8.
func truncated(text string) string {
	if len(text) <= maxLogged {
		return strings.ToValidUTF8(text, "\ufffd")
	}
	return strings.ToValidUTF8(text[:maxLogged], "\ufffd") + "…"
}
