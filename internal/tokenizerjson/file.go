// Package tokenizerjson reads the parts that every tokenizer.json of Hugging Face's tokenizers library has in common, whatever kind of
// model the file is for: the file's parts, the components of the pipeline, and the added tokens. Each package for a kind of model, bpe and
// hftok, implements the components.
//
// A file looks like this:
//
//	{"added_tokens": […], "normalizer": {"type": "NFC"}, "pre_tokenizer": {"type": "Sequence", "pretokenizers": […]},
//	 "post_processor": null, "decoder": {…}, "model": {"type": "BPE", "vocab": {"a": 0, …}, "merges": ["a b", …]}}
package tokenizerjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/antigravity-go/antigravity/internal/added"
	"github.com/antigravity-go/antigravity/internal/modeljson"
	"github.com/antigravity-go/antigravity/internal/strictjson"
)

// A few bytes of a file may become many times as many bytes in memory. With these bounds a file takes memory within a small
// multiple of its length.
const (
	maxMembers     = 256     // of the file and of its model
	maxCommas      = 4096    // of a part that describes the pipeline, in which an empty component takes hundreds of bytes
	maxAddedCommas = 1 << 18 // of added_tokens; Gemma 3's 6,415 have 45,000
)

// File is a tokenizer.json. Read has found its parts, and decoded nothing else.
type File struct {
	data     []byte
	parts    map[string]span // the members of the file
	settings map[string]span // the members of its model; nil if that is no object
}

// span is the bytes [start, end) of a file.
type span struct{ start, end int }

// Read reads a file. The File keeps data.
func Read(data []byte) (*File, error) {
	if len(data) > math.MaxInt32 {
		return nil, fmt.Errorf("%d bytes; at most %d would be right", len(data), math.MaxInt32)
	}
	if !utf8.Valid(data) {
		return nil, fmt.Errorf("not UTF-8")
	}
	r := strictjson.New(data)
	f := &File{data: data}
	parts, err := members(r, func(name string) (bool, error) {
		if name != "model" || r.Next() != '{' {
			return false, nil
		}
		var err error // saves a pass over nearly all of the file
		f.settings, err = members(r, func(string) (bool, error) { return false, nil })
		return true, err
	})
	if err != nil {
		return nil, err
	}
	f.parts = parts
	return f, r.End()
}

// members reads an object and returns the place of each of its values. It asks own before each value, which may read the value itself.
func members(r *strictjson.Reader, own func(name string) (read bool, err error)) (map[string]span, error) {
	values := map[string]span{}
	err := r.Object(func(name []byte) error {
		key := string(name)
		if _, ok := values[key]; ok {
			return r.Errorf("%.40q comes twice", key)
		}
		if len(values) == maxMembers {
			return r.Errorf("more than %d members", maxMembers)
		}
		values[key] = span{}
		if read, err := own(key); read || err != nil {
			return err
		}
		value, err := r.Value()
		values[key] = span{r.Offset() - len(value), r.Offset()}
		return err
	})
	return values, err
}

// HasModel reports whether the file has a model.
func (f *File) HasModel() bool { return f.settings != nil }

// ModelType returns the type of the model; "" if the file does not name it, as files of 2020 do not.
func (f *File) ModelType() (string, error) {
	if f.Setting(typeMember) == nil {
		return "", nil
	}
	typ, err := f.Reader(typeMember).Text()
	if err != nil {
		return "", fmt.Errorf("model: %q: %w", typeMember, err)
	}
	return string(typ), nil
}

// Settings decodes the model's small settings, all but vocab and merges, into what to points to. Members of the file, and settings of the
// model, that are not known are errors: whoever asks has seen that the model is of a known type.
func (f *File) Settings(to any) error {
	if err := f.checkParts(); err != nil {
		return err
	}
	if err := f.checkSettings(); err != nil {
		return fmt.Errorf("model: %w", err)
	}
	small := map[string]json.RawMessage{}
	for name := range f.settings {
		if name != "vocab" && name != "merges" {
			small[name] = f.Setting(name)
		}
	}
	text, err := json.Marshal(small)
	if err == nil {
		err = modeljson.Unmarshal(text, to)
	}
	if err != nil {
		return fmt.Errorf("model: %w", err)
	}
	return nil
}

// Setting returns a setting of the model as it is written, nil if the model lacks it. It shares the file's memory.
func (f *File) Setting(name string) []byte {
	s, ok := f.settings[name]
	if !ok {
		return nil
	}
	return f.data[s.start:s.end:s.end]
}

// Reader returns a reader that is about to read a setting of the model.
func (f *File) Reader(name string) *strictjson.Reader {
	return strictjson.At(f.data, f.settings[name].start)
}

// part returns a part of the file, if it has at most the given number of commas; nil if there is no such part.
func (f *File) part(name string, commas int) ([]byte, error) {
	s, ok := f.parts[name]
	if !ok {
		return nil, nil
	}
	text := f.data[s.start:s.end]
	if n := bytes.Count(text, []byte{','}); n > commas {
		return nil, fmt.Errorf("%d commas; at most %d would be right", n, commas)
	}
	return text, nil
}

// AddedTokens decodes the added tokens, in the order of the file.
func (f *File) AddedTokens() (tokens []added.Token, err error) {
	text, err := f.part("added_tokens", maxAddedCommas)
	if err == nil && text != nil {
		err = addedTokens(strictjson.New(text))
	}
	if err == nil && text != nil {
		err = json.Unmarshal(text, &tokens)
	}
	if err != nil {
		return nil, fmt.Errorf("added_tokens: %w", err)
	}
	return tokens, nil
}
