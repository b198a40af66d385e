package cli

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/eviction"
	"github.com/antigravity-go/antigravity/llama"
)

// Sets notes which of the library's values flags set, by the names that its errors have for them: "Params.MaxTokens" for the flag n.
func (f *Flags) Sets(flags map[string]string) { maps.Copy(f.fields, flags) }

// has reports whether the program has a flag.
func (f *Flags) has(name string) bool { return f.Lookup(name) != nil }

// Explained returns an error of the library in the words of the command line: a value that a flag sets is called by the flag, and a full
// context says which flags give more room. errors.Is and errors.As find in it what they find in err.
func (f *Flags) Explained(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if full, ok := errors.AsType[*llama.ContextFullError](err); ok {
		text = strings.Replace(text, full.Error(), f.contextFull(full), 1)
	}
	if errors.Is(err, eviction.ErrPressure) && f.has("eviction-policy") {
		text = sentences(text, "With an -eviction-policy tokens are forgotten instead")
	}
	var words []string
	for _, field := range slices.Backward(slices.Sorted(maps.Keys(f.fields))) { // a longer name before one that it begins with
		flag := "-" + f.fields[field]
		words = append(words, "llama: "+field, flag, field, flag)
	}
	if text = strings.NewReplacer(words...).Replace(text); text == err.Error() {
		return err
	}
	return &explainedError{text, err}
}

// contextFull says what a *ContextFullError says, but with what helps at the command line.
func (f *Flags) contextFull(e *llama.ContextFullError) string {
	text, _, _ := strings.Cut(strings.TrimPrefix(e.Error(), "llama: "), ". ")
	if e.Context == 0 {
		return text
	}
	return sentences(text, f.moreRoom(e.Capacity > 0 && e.Capacity < e.Context))
}

// MoreRoom says which flags give a session of a model more room, once its context is full; "" if no flag does.
func (f *Flags) MoreRoom(m *llama.Model, s *llama.Session) string {
	return f.moreRoom(s.Capacity() < m.Config().ContextLength)
}

// moreRoom is MoreRoom for a cache that is smaller than the model's context, or not.
func (f *Flags) moreRoom(small bool) string {
	switch {
	case small && f.has("eviction-policy"):
		return "A larger -capacity gives more room, and with an -eviction-policy tokens are forgotten"
	case small && f.has("capacity"):
		return "A larger -capacity gives more room"
	case !small && f.has("endless"):
		return "With -endless a conversation goes on beyond the context that the model was trained for"
	}
	return ""
}

// sentences joins two texts; b may be empty.
func sentences(a, b string) string {
	if b == "" {
		return a
	}
	return a + ". " + b
}

// explainedError is an error in other words.
type explainedError struct {
	text string
	err  error
}

func (e *explainedError) Error() string { return e.text }
func (e *explainedError) Unwrap() error { return e.err }
