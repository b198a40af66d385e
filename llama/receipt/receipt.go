package receipt

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/antigravity-go/antigravity/llama"
)

// Format is the format of the receipts that this package writes and reads.
const Format = "antigravity receipt 1"

// MaxBytes bounds the JSON of a receipt.
const MaxBytes = 16 << 20

// Receipt is a statement about an answer, with the tokens that it speaks of and, if somebody vouches for it, a signature.
type Receipt struct {
	Answer    []llama.Token `json:"answer,omitempty"` // the answer's tokens; nil in a sealed receipt, or if the answer is empty
	Digest    string        `json:"digest"`           // of the statement's JSON: an altered receipt is noticed before anything is computed
	Prompt    []llama.Token `json:"prompt,omitempty"` // the prompt's tokens; nil in a sealed receipt
	Signature *Signature    `json:"signature,omitempty"`
	Statement Statement     `json:"statement"`
}

// Statement is what a receipt claims. Digests are "sha256:" and 64 hexadecimal digits. Those of tokens are of their numbers, and those of logits of their
// floats, with four bytes each, the lowest first.
type Statement struct {
	Adapter    *Adapter   `json:"adapter,omitempty"` // that changed the model; nil: no adapter did
	Answer     Answer     `json:"answer"`
	Cache      Cache      `json:"cache"`
	Format     string     `json:"format"` // Format
	Kind       Kind       `json:"kind"`
	Made       Made       `json:"made"`
	Model      string     `json:"model"` // llama.Digest
	Parameters Parameters `json:"parameters"`
	Prompt     Prompt     `json:"prompt"`
}

// Kind says how a prompt is answered.
type Kind string

// The kinds of answers.
const (
	Message Kind = "message" // a message of its own, as of Session.Chat and Pool.Answer
	Text    Kind = "text"    // the continuation of a text, as of Session.Generate and Pool.Generate
)

// Adapter identifies a LoRA adapter.
type Adapter struct {
	Fingerprint string `json:"fingerprint"` // llama.Adapter.Fingerprint
	Scale       Number `json:"scale"`
}

// Answer describes the answer.
type Answer struct {
	Calls      string `json:"calls,omitempty"`       // digest of the calls' canonical JSON, [{"arguments":"{…}","name":"…"},…]; "": it calls nothing
	Count      int    `json:"count"`                 // tokens
	Logits     string `json:"logits"`                // digest of the logits from which the last choice was made, after Parameters.LogitBias
	Stop       string `json:"stop"`                  // why it ended, as llama.StopReason.String has it
	StopString string `json:"stop_string,omitempty"` // that ended it
	Text       string `json:"text"`                  // digest of the text in UTF-8: of all Piece.Text together
	Thought    string `json:"thought,omitempty"`     // digest of the thought; "": there is no thought
	Tokens     string `json:"tokens"`                // digest
}

// Cache has the properties of a conversation's memory that an answer depends on.
type Cache struct {
	Capacity int    `json:"capacity"` // in tokens
	KV       string `json:"kv"`       // the type of keys and values, such as "f16"
}

// Made names the program and the machine that made the receipt. It is for people: nothing that is computed again shows whether it is true.
type Made struct {
	Go       string `json:"go"`       // Go's version
	Kernels  string `json:"kernels"`  // llama.Kernels
	Library  string `json:"library"`  // the version of this module
	Platform string `json:"platform"` // operating system and architecture
}

// Prompt identifies a prompt.
type Prompt struct {
	Count  int    `json:"count"` // tokens
	Tokens string `json:"tokens"`
}

// Sealed returns a copy without the prompt and the answer. Its digests and its signature still hold, so it can be shown to people who are not to read
// them. Verify needs the prompt: whoever has it sets Receipt.Prompt again. A digest hides no text that can be guessed.
func (r *Receipt) Sealed() *Receipt {
	sealed := *r
	sealed.Prompt, sealed.Answer = nil, nil
	return &sealed
}

// MarshalJSON writes the canonical JSON.
func (r *Receipt) MarshalJSON() ([]byte, error) {
	type plain Receipt
	return canonical((*plain)(r))
}

// Parse reads a receipt's canonical JSON, at most MaxBytes, with white space around it or not. It checks that the receipt agrees with itself: whether it is true, Verify finds out.
func Parse(text []byte) (*Receipt, error) {
	text = bytes.TrimSpace(text)
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("receipt: it has %d bytes, and may have %d", len(text), MaxBytes)
	}
	type plain Receipt
	var r plain
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return nil, fmt.Errorf("receipt: it is no receipt's JSON: %w", shortened(err))
	}
	again, err := canonical(&r)
	if err != nil {
		return nil, fmt.Errorf("receipt: %w", err)
	}
	if !bytes.Equal(again, text) {
		return nil, fmt.Errorf("receipt: its JSON is not canonical: byte %d differs from what RFC 8785 asks for", differs(again, text))
	}
	if err := (*Receipt)(&r).check(); err != nil {
		return nil, fmt.Errorf("receipt: %w", err)
	}
	return (*Receipt)(&r), nil
}

// check returns an error if the receipt contradicts itself, or has values without meaning.
func (r *Receipt) check() error {
	s := &r.Statement
	text, err := s.canonical()
	switch {
	case err != nil:
		return err
	case s.Format != Format:
		return fmt.Errorf("the format is %.60q: this package reads %q", s.Format, Format)
	case digest(text) != r.Digest:
		return fmt.Errorf("the statement has the digest %s, and the receipt says %.80q: it was altered", digest(text), r.Digest)
	case s.Kind != Message && s.Kind != Text:
		return fmt.Errorf("kind is %.60q: it must be %q or %q", s.Kind, Message, Text)
	case s.Prompt.Count < 1 || s.Answer.Count < 0:
		return fmt.Errorf("a prompt of %d tokens and an answer of %d: the first has at least 1, and the second 0", s.Prompt.Count, s.Answer.Count)
	}
	for _, d := range []struct {
		field, value string
		may          bool // be missing
	}{
		{"model", s.Model, false}, {"prompt.tokens", s.Prompt.Tokens, false}, {"answer.tokens", s.Answer.Tokens, false}, {"answer.logits", s.Answer.Logits, false},
		{"answer.text", s.Answer.Text, false}, {"answer.thought", s.Answer.Thought, true}, {"answer.calls", s.Answer.Calls, true},
	} {
		if !isDigest(d.value) && !(d.may && d.value == "") {
			return fmt.Errorf(`%s is %.80q: it must be "sha256:" and 64 hexadecimal digits`, d.field, d.value)
		}
	}
	if r.Prompt != nil && (len(r.Prompt) != s.Prompt.Count || tokensDigest(r.Prompt) != s.Prompt.Tokens) {
		return errors.New("the tokens of the prompt are not those of the statement: they were altered")
	}
	if r.Answer != nil && (len(r.Answer) != s.Answer.Count || tokensDigest(r.Answer) != s.Answer.Tokens) {
		return errors.New("the tokens of the answer are not those of the statement: they were altered")
	}
	if r.Signature != nil {
		return r.Signature.check()
	}
	return nil
}

// canonical returns the JSON that Receipt.Digest and signatures are of.
func (s *Statement) canonical() ([]byte, error) { return canonical(s) }

// canonical returns a value's JSON as RFC 8785 has it, if the fields of its structs are in alphabetical order and its numbers are whole and below 2⁵³.
// That is encoding/json's, but for two characters that it escapes.
func canonical(value any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return nil, err
	}
	text := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	if !bytes.Contains(text, []byte(`\u202`)) {
		return text, nil
	}
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' {
			switch rest := string(text[i+1 : min(i+6, len(text))]); rest {
			case "u2028", "u2029":
				out = append(out, "\xe2\x80"...)
				out = append(out, rest[4]-'8'+0xa8)
				i += 5
			default:
				out = append(out, text[i], text[i+1])
				i++
			}
			continue
		}
		out = append(out, text[i])
	}
	return out, nil
}

// digest returns the digest of bytes, as receipts write it.
func digest(b []byte) string { return sumText(sha256.Sum256(b)) }

func sumText(sum [sha256.Size]byte) string { return "sha256:" + hex.EncodeToString(sum[:]) }

// isDigest reports whether a text is a digest as receipts write it.
func isDigest(text string) bool {
	digits, ok := strings.CutPrefix(text, "sha256:")
	return ok && len(digits) == 2*sha256.Size && strings.Trim(digits, "0123456789abcdef") == ""
}

// tokensDigest returns the digest of tokens.
func tokensDigest(tokens []llama.Token) string {
	b := make([]byte, 0, 4*len(tokens))
	for _, t := range tokens {
		b = binary.LittleEndian.AppendUint32(b, uint32(t))
	}
	return digest(b)
}

// differs returns the first place at which two texts differ.
func differs(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// shortened returns an error with a message of bounded length.
func shortened(err error) error {
	if text := err.Error(); len(text) > 300 {
		return errors.New(strings.ToValidUTF8(text[:300], "") + "…")
	}
	return err
}
