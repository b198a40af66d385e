package llama

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"
	"unsafe"

	"github.com/antigravity-go/antigravity/internal/bpe"
	"github.com/antigravity-go/antigravity/internal/chat"
)

// Tokenizer turns text into tokens and back, and conversations into tokens. It is immutable and safe for concurrent use.
type Tokenizer struct {
	vocabulary Vocabulary
	template   *chat.Template // nil: the model has no chat format
}

// Vocabulary is what a kind of tokenizer offers: the methods of Tokenizer in plain types. Implementations are immutable and
// safe for concurrent use.
type Vocabulary interface {
	// Encode appends the tokens of a text in which special tokens are inert; EncodeContinuation does so for text that follows
	// a special token.
	Encode(dst []int32, text string) []int32
	EncodeContinuation(dst []int32, text string) []int32
	// EncodeSpecial recognises special tokens; bos puts the begin token first where there is one.
	EncodeSpecial(dst []int32, text string, bos bool) []int32
	// Decode returns the text of tokens without special ones; AppendBytes the bytes of one token.
	Decode(tokens []int32) string
	AppendBytes(dst []byte, id int32) []byte
	// VocabSize is the largest id plus one; IsSpecial, ID and Text describe entries, Specials lists the special ones' texts.
	VocabSize() int
	IsSpecial(id int32) bool
	ID(text string) (int32, bool)
	Text(id int32) string
	Specials() []string
	// BOS is the token that begins a text.
	BOS() (int32, bool)
}

// Encode returns the tokens of a text. Special tokens in it are inert: "<|eot_id|>" is ten characters like any others. No
// begin-of-text token is added.
func (t *Tokenizer) Encode(text string) []Token {
	return fromInt32(t.vocabulary.Encode(nil, text))
}

// EncodeSpecial returns the tokens of a text with special tokens recognised in it, as Hugging Face's tokenizers do; bos puts
// the begin-of-text token first where the model wants one. Never use it on text from outside.
func (t *Tokenizer) EncodeSpecial(text string, bos bool) []Token {
	return fromInt32(t.vocabulary.EncodeSpecial(nil, text, bos))
}

// Decode returns the text of tokens. Special tokens are skipped, bytes that are not UTF-8 become U+FFFD.
func (t *Tokenizer) Decode(tokens ...Token) string {
	return t.vocabulary.Decode(toInt32(tokens))
}

// VocabSize returns the number of entries: the largest id plus one.
func (t *Tokenizer) VocabSize() int { return t.vocabulary.VocabSize() }

// Special tells whether a token is a control token, which Decode skips.
func (t *Tokenizer) Special(token Token) bool { return t.vocabulary.IsSpecial(int32(token)) }

// ID returns the token whose text, as the vocabulary writes it, is this: "<|eot_id|>", "Ġworld".
func (t *Tokenizer) ID(text string) (Token, bool) {
	id, ok := t.vocabulary.ID(text)
	return Token(id), ok
}

// Text returns a token as the vocabulary writes it, "" for an id that is not in use.
func (t *Tokenizer) Text(token Token) string { return t.vocabulary.Text(int32(token)) }

// bytes returns the bytes of one token.
func (t *Tokenizer) bytes(token Token) []byte {
	return t.vocabulary.AppendBytes(nil, int32(token))
}

// leadingSpace tells whether the first token of a text carries a space that the text does not have, as SentencePiece's does.
func (t *Tokenizer) leadingSpace() bool {
	v, ok := t.vocabulary.(interface{ LeadingSpace() bool })
	return ok && v.LeadingSpace()
}

// Message is one turn of a conversation.
type Message struct {
	Role, Content string     // roles are the template's: "system", "user", "assistant", "tool" for Llama 3
	ToolCalls     []ToolCall // functions that an assistant's turn calls
	Name          string     // who speaks, for templates that use it
	ToolCallID    string     // the call that a tool's turn answers, for templates that use it
}

// ToolCall is a function call in an assistant's turn.
type ToolCall struct {
	ID        string
	Name      string
	Arguments json.RawMessage // a JSON object; its keys keep their order
}

// TemplateOptions say how a conversation is rendered. The zero value ends it with the opening of the assistant's turn.
type TemplateOptions struct {
	Complete bool              // end with the last message instead: the conversation is over
	Tools    []json.RawMessage // functions on offer, each {"type":"function","function":{…}}
	Date     time.Time         // today, for templates that tell the model; zero: the template's own fixed date
	Vars     map[string]any    // more variables of the template
}

// Template renders a conversation with the model's own chat template, or with Llama 3's format for a Llama 3 vocabulary that
// carries none, to tokens. Only the template's own text gives special tokens: messages, names and tools are inert.
func (t *Tokenizer) Template(history []Message, o TemplateOptions) ([]Token, error) {
	return t.render(context.Background(), history, o)
}

// render is Template, which looks at ctx while the template runs.
func (t *Tokenizer) render(ctx context.Context, history []Message, o TemplateOptions) ([]Token, error) {
	if t.template == nil {
		return nil, fmt.Errorf("llama: the model has no chat template: %w", ErrUnsupported)
	}
	messages := make([]chat.Message, len(history))
	for i, m := range history {
		messages[i] = chat.Message{Role: m.Role, Content: m.Content, Name: m.Name, ToolCallID: m.ToolCallID}
		for _, call := range m.ToolCalls {
			messages[i].ToolCalls = append(messages[i].ToolCalls, chat.ToolCall(call))
		}
	}
	segments, err := t.template.Render(ctx, messages, chat.Options{
		AddGenerationPrompt: !o.Complete, Tools: o.Tools, Date: o.Date, Vars: o.Vars,
	})
	if errors.Is(err, chat.ErrUnsupported) {
		err = fmt.Errorf("%w (%w)", err, ErrUnsupported)
	}
	if err != nil {
		return nil, fmt.Errorf("llama: render %d messages with the chat template: %w", len(history), err)
	}
	var tokens []int32
	for i, s := range segments {
		if !s.Special && i == 0 {
			tokens = t.vocabulary.Encode(tokens, s.Text)
		} else if !s.Special {
			tokens = t.vocabulary.EncodeContinuation(tokens, s.Text)
		} else if id, ok := t.vocabulary.ID(s.Text); ok {
			tokens = append(tokens, id)
		}
	}
	return fromInt32(tokens), nil
}

// HasTemplate tells whether Template, and so Chat, work.
func (t *Tokenizer) HasTemplate() bool { return t.template != nil }

// setTemplate chooses the chat format: the model's own, else Llama 3's for its vocabulary, else none. A template that does
// not parse is an error, since answering in another format would silently be worse.
func (t *Tokenizer) setTemplate(source, bos, eos string) error {
	specials := t.vocabulary.Specials()
	if source == "" {
		if _, ok := t.vocabulary.ID("<|start_header_id|>"); !ok {
			return nil
		}
		source = chat.Llama3()
	}
	template, err := chat.Parse(source, specials, bos, eos)
	if err != nil {
		return fmt.Errorf("chat template: %w", err)
	}
	t.template = template
	return nil
}

// parsers holds what RegisterTokenizer was given; nothing changes it once the init functions have run.
var parsers struct {
	sync.RWMutex
	list []func(data []byte) (Vocabulary, error)
}

// RegisterTokenizer adds a reader for kinds of tokenizer.json that this package does not read itself. It is asked for files
// that were refused as unsupported, and answers with an error that wraps ErrUnsupported for those that it does not read
// either. Packages call it from init, as image formats do; see package llama/tokenizers.
func RegisterTokenizer(parse func(data []byte) (Vocabulary, error)) {
	parsers.Lock()
	defer parsers.Unlock()
	parsers.list = append(parsers.list, parse)
}

// parseTokenizer reads a tokenizer.json.
func parseTokenizer(data []byte) (*Tokenizer, error) {
	b, err := bpe.ParseJSON(data)
	if err == nil {
		return &Tokenizer{vocabulary: b}, nil
	}
	if !errors.Is(err, bpe.ErrUnsupported) {
		return nil, err
	}
	err = fmt.Errorf("%w: %w (importing llama/tokenizers adds other kinds)", ErrUnsupported, err)
	parsers.RLock()
	defer parsers.RUnlock()
	for _, parse := range parsers.list {
		v, other := parse(data)
		if other == nil {
			return &Tokenizer{vocabulary: v}, nil
		}
		if !errors.Is(other, ErrUnsupported) {
			return nil, other
		}
	}
	return nil, err
}

// fromInt32 and toInt32 convert without copying: Token is an int32.
func fromInt32(ids []int32) []Token {
	return unsafe.Slice((*Token)(unsafe.SliceData(ids)), len(ids))
}

func toInt32(tokens []Token) []int32 {
	return unsafe.Slice((*int32)(unsafe.SliceData(tokens)), len(tokens))
}

// noVocabulary is the tokenizer of a model that came without one: it knows how many tokens there are and no text.
type noVocabulary struct{ size int }

func (noVocabulary) Encode(dst []int32, _ string) []int32                { return dst }
func (noVocabulary) EncodeContinuation(dst []int32, _ string) []int32    { return dst }
func (noVocabulary) EncodeSpecial(dst []int32, _ string, _ bool) []int32 { return dst }
func (noVocabulary) Decode([]int32) string                               { return "" }
func (noVocabulary) AppendBytes(dst []byte, _ int32) []byte              { return dst }
func (v noVocabulary) VocabSize() int                                    { return v.size }
func (noVocabulary) IsSpecial(int32) bool                                { return false }
func (noVocabulary) ID(string) (int32, bool)                             { return 0, false }
func (noVocabulary) Text(int32) string                                   { return "" }
func (noVocabulary) Specials() []string                                  { return nil }
func (noVocabulary) BOS() (int32, bool)                                  { return 0, false }
