package cli

import (
	"context"
	"fmt"
	"io"
	"iter"

	"github.com/antigravity-go/antigravity/llama"
)

// Prompt is what a program is asked.
type Prompt struct {
	Text   string   // a user's message, or a text to continue
	Images []string // files of images before the text
	System string   // a system's message before it; "": no message
	Raw    bool     // continue the text instead of answering it
	JSON   bool     // the answer is wanted as one JSON object

	flags  *Flags
	images []*llama.Image // read from Images
}

// Flags defines the flags; text is the default prompt.
func (p *Prompt) Flags(f *Flags, text string) {
	p.flags = f
	f.Group("Prompt and answer", func() {
		f.StringVar(&p.Text, "prompt", text, "`text` to answer; -: read from stdin")
		f.Strings(&p.Images, "image", "`path` of a picture that the prompt is about, for models that see: PNG, JPEG, GIF or WebP; may be repeated; without -prompt the model is to describe it")
		f.StringVar(&p.System, "system", "", "`text` of the system message, which says how to answer")
		f.BoolVar(&p.Raw, "raw", false, "continue the prompt instead of answering it")
		f.BoolVar(&p.JSON, "json", false, "print one JSON object: text, stop, and measurements")
	})
}

// maxPrompt bounds the text that is read from stdin, in bytes; no context is that long.
const maxPrompt = 64 << 20

// Read checks the flags, and reads the images, and the text from stdin if it is to come from there.
func (p *Prompt) Read(stdin io.Reader) error {
	if p.Raw && p.System != "" {
		return Usagef("-raw has no messages, so it cannot have a -system message")
	}
	if p.Raw && len(p.Images) > 0 {
		return Usagef("-raw has no messages, so it cannot have an -image")
	}
	if len(p.Images) > 0 && p.flags != nil && !p.flags.Given("prompt") {
		p.Text = "Describe the picture."
	}
	for _, path := range p.Images {
		image, err := ReadImage(path)
		if err != nil {
			return err
		}
		p.images = append(p.images, image)
	}
	if p.Text != "-" {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(stdin, maxPrompt+1))
	if err != nil {
		return fmt.Errorf("read the prompt from stdin: %w", err)
	}
	if len(text) > maxPrompt {
		return fmt.Errorf("read the prompt from stdin: it must be no longer than %d bytes", maxPrompt)
	}
	p.Text = string(text)
	return nil
}

// Ask starts the answer. If the model has a chat template and Raw is false, the prompt becomes a user's message; otherwise it is continued.
func (p *Prompt) Ask(ctx context.Context, m *llama.Model, s *llama.Session, params llama.Params) iter.Seq2[llama.Piece, error] {
	if (p.Raw || !m.Tokenizer().HasTemplate()) && len(p.images) == 0 {
		return s.Generate(ctx, m.Tokenizer().EncodeSpecial(p.Text, true), params)
	}
	var history []llama.Message
	if p.System != "" {
		history = append(history, llama.Message{Role: "system", Content: p.System})
	}
	return s.Chat(ctx, append(history, UserMessage(p.Text, p.images)), params)
}
