package cli

import (
	"context"
	"io"
	"iter"

	"github.com/antigravity-go/antigravity/llama"
)

// Open loads the model and opens a session of it. The function that it returns closes both.
func Open(ctx context.Context, m *Model, memory *Memory, stderr io.Writer) (*llama.Model, *llama.Session, func(), error) {
	model, closeModel, err := m.Load(ctx, stderr)
	if err != nil {
		return nil, nil, nil, err
	}
	session, closeSession, err := memory.Session(model)
	if err != nil {
		closeModel()
		return nil, nil, nil, err
	}
	return model, session, func() {
		closeSession()
		closeModel()
	}, nil
}

// Ask starts the answer to a prompt, as a user's message after a system's if there is one. Raw prompts, and those of models
// without a chat template, are continued instead.
func Ask(ctx context.Context, m *llama.Model, s *llama.Session, system, prompt string, raw bool, p llama.Params) iter.Seq2[llama.Piece, error] {
	if raw || !m.Tokenizer().HasTemplate() {
		return s.Generate(ctx, m.Tokenizer().EncodeSpecial(prompt, true), p)
	}
	var history []llama.Message
	if system != "" {
		history = append(history, llama.Message{Role: "system", Content: system})
	}
	return s.Chat(ctx, append(history, llama.Message{Role: "user", Content: prompt}), p)
}
