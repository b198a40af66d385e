// Package keys walks over the keys of a configuration. One function of a family names each key once, in the terms of both formats, and the variable that
// it is about; a [Walk] reads them from a folder's config.json or from a GGUF file's metadata, or writes them. For example,
//
//	k.Int("num_hidden_layers", "block_count", &c.Layers, 0)
//	k.Float("rope_theta", "rope.freq_base", &c.RoPE.Theta, 10000)
//
// reads "num_hidden_layers": 16 of a folder, llama.block_count = 16 of a file of the architecture llama, and writes either. "" stands for a format
// without such a key. The last argument is what a file that says nothing means. A key that is there and cannot be read is an error, and never a default.
//
// A Walk notes which keys were read. Unread and UnreadKeys have those that nobody asked for, so that the caller can refuse the ones that count: a family
// has the keys that its function names, and nothing is ignored that would change a result.
//
// The first error of a walk counts: after it nothing is read or written, and Err returns it.
package keys

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/internal/modeljson"
)

// Walk reads or writes keys. It is for one goroutine.
type Walk struct {
	object map[string]json.RawMessage // config.json; nil: no folder is read
	file   *gguf.File                 // nil: no file is read
	prefix string                     // of a file's keys: the architecture and a dot
	folder map[string]any             // config.json that is written; nil: no folder is
	list   []gguf.KeyValue            // metadata that are written
	asked  map[string]bool            // the keys, with their prefixes, that somebody has looked for
	err    error
}

// ReadFolder reads config.json.
func ReadFolder(data []byte) (*Walk, error) {
	k := &Walk{asked: map[string]bool{}}
	if err := modeljson.Unmarshal(data, &k.object); err != nil {
		return nil, err
	}
	if k.object == nil {
		k.object = map[string]json.RawMessage{}
	}
	return k, nil
}

// ReadFile reads those of a GGUF file's metadata that begin with a prefix: the architecture and a dot.
func ReadFile(f *gguf.File, prefix string) *Walk {
	return &Walk{file: f, prefix: prefix, asked: map[string]bool{}}
}

// WriteFolder writes config.json.
func WriteFolder() *Walk { return &Walk{folder: map[string]any{}} }

// WriteFile writes the metadata of a GGUF file with a prefix.
func WriteFile(prefix string) *Walk { return &Walk{prefix: prefix} }

// Folder reports whether the walk is over config.json, Reads whether it reads.
func (k *Walk) Folder() bool { return k.object != nil || k.folder != nil }

// Reads reports whether the walk reads.
func (k *Walk) Reads() bool { return k.object != nil || k.file != nil }

// ReadsFolder reports whether the walk reads config.json.
func (k *Walk) ReadsFolder() bool { return k.object != nil }

// ReadsFile reports whether the walk reads the metadata of a GGUF file.
func (k *Walk) ReadsFile() bool { return k.file != nil }

// WritesFile reports whether the walk writes the metadata of a GGUF file.
func (k *Walk) WritesFile() bool { return !k.Reads() && !k.Folder() }

// Err returns the walk's first error.
func (k *Walk) Err() error { return k.err }

// Fail notes an error. nil is no error, and only the first one counts.
func (k *Walk) Fail(err error) {
	if k.err == nil {
		k.err = err
	}
}

// None stands for a value in a GGUF file of a key that it has not.
var None gguf.Value

// Written returns the metadata that were written.
func (k *Walk) Written() []gguf.KeyValue { return k.list }

// JSON returns the config.json that was written.
func (k *Walk) JSON() ([]byte, error) { return json.Marshal(k.folder) }

// Key returns the name of a key as messages have it, given its names in both formats.
func (k *Walk) Key(folder, file string) string {
	if k.Folder() {
		return folder
	}
	return k.prefix + file
}

// First returns the first of several names of a key that config.json has; the first of all if it has not any of them.
func (k *Walk) First(folder ...string) string {
	for _, name := range folder {
		if k.Has(name, "") {
			return name
		}
	}
	return folder[0]
}

// Has reports whether the folder or the file that is read has a key, with a value other than null. "" is no key.
func (k *Walk) Has(folder, file string) bool {
	switch {
	case k.object != nil && folder != "":
		k.asked[folder] = true
		value, ok := k.object[folder]
		return ok && string(value) != "null"
	case k.file != nil && file != "":
		_, ok := k.Value(file)
		return ok
	}
	return false
}

// HasList reports whether the GGUF file that is read has a list at a key.
func (k *Walk) HasList(file string) bool {
	v, ok := k.Value(file)
	return ok && v.Type() == gguf.ArrayType
}

// Null reports whether config.json has null at a key.
func (k *Walk) Null(folder string) bool { return string(k.object[folder]) == "null" }

// Raw returns the value of a key of config.json, and nil if there is no such key.
func (k *Walk) Raw(folder string) json.RawMessage {
	if k.object == nil {
		return nil
	}
	k.asked[folder] = true
	return k.object[folder]
}

// Unread returns the value of a key of config.json that nobody has asked for, and nil if there is no such key or somebody has.
func (k *Walk) Unread(folder string) json.RawMessage {
	if k.asked[folder] {
		return nil
	}
	return k.object[folder]
}

// UnreadKeys yields the keys of the GGUF file that begin with the prefix and that nobody has asked for, each without the prefix.
func (k *Walk) UnreadKeys(yield func(file string, v gguf.Value) bool) {
	for _, key := range k.file.Keys() {
		name, ok := strings.CutPrefix(key, k.prefix)
		if !ok || k.asked[key] {
			continue
		}
		if v, _ := k.file.Value(key); !yield(name, v) {
			return
		}
	}
}

// Value returns the value of a key of a GGUF file's metadata, after the architecture's name and a dot.
func (k *Walk) Value(file string) (gguf.Value, bool) {
	if k.file == nil {
		return gguf.Value{}, false
	}
	k.asked[k.prefix+file] = true
	return k.file.Value(k.prefix + file)
}

// Tensor returns a tensor of the GGUF file that is read: some of a configuration only tensors say.
func (k *Walk) Tensor(name string) (gguf.Tensor, bool) {
	if k.file == nil {
		return gguf.Tensor{}, false
	}
	return k.file.Tensor(name)
}

// HasTensor reports whether the GGUF file that is read has a tensor.
func (k *Walk) HasTensor(name string) bool {
	_, ok := k.Tensor(name)
	return ok
}

// Decode reads a value of config.json of any type, and reports whether there is one other than null.
func (k *Walk) Decode(folder string, into any) bool {
	if k.err != nil || k.object == nil || !k.Has(folder, "") {
		return false
	}
	if err := modeljson.Unmarshal(k.object[folder], into); err != nil {
		k.Fail(fmt.Errorf("%s is %.60s, which it cannot be: %w", folder, k.object[folder], err))
		return false
	}
	return true
}

// Put writes a key of one format, or of both. "" is no key.
func (k *Walk) Put(folder, file string, v any, inFile gguf.Value) {
	switch {
	case k.err != nil || k.Reads():
	case k.folder != nil && folder != "":
		k.folder[folder] = v
	case k.folder == nil && file != "":
		k.list = append(k.list, gguf.KeyValue{Key: k.prefix + file, Value: inFile})
	}
}

// PutPlain writes a key of a GGUF file that has no prefix.
func (k *Walk) PutPlain(key string, v gguf.Value) {
	k.list = append(k.list, gguf.KeyValue{Key: key, Value: v})
}

// Most is the largest number that Int reads from a GGUF file; larger ones are read as this one, and no size is near it.
const Most = 1<<30 + 1

// Int reads or writes a whole number.
func (k *Walk) Int(folder, file string, v *int, otherwise int) {
	if k.err != nil {
		return
	}
	if !k.Reads() {
		k.Put(folder, file, *v, gguf.ValueOf(uint32(*v)))
		return
	}
	*v = otherwise
	if k.object != nil {
		var n struct {
			V *int `json:"v" whole:"4.0"`
		}
		if folder == "" || !k.Has(folder, "") {
			return
		}
		if err := modeljson.Unmarshal(slices.Concat([]byte(`{"v":`), k.object[folder], []byte(`}`)), &n); err != nil {
			k.Fail(fmt.Errorf("%s is %.60s, and must be a whole number", folder, k.object[folder]))
		} else if n.V != nil {
			*v = *n.V
		}
		return
	}
	if n, ok := valueOf(k, file, gguf.Value.Uint, "a whole number that is not negative"); ok {
		*v = int(min(n, Most))
	}
}

// Float reads or writes a number. 0 is not written.
func (k *Walk) Float(folder, file string, v *float64, otherwise float64) {
	if k.err != nil {
		return
	}
	if !k.Reads() {
		if *v != 0 {
			k.Put(folder, file, *v, gguf.ValueOf(float32(*v)))
		}
		return
	}
	*v = otherwise
	if k.object != nil {
		if folder != "" {
			k.Decode(folder, v)
		}
		return
	}
	n, ok := valueOf(k, file, gguf.Value.Float, "a number")
	if !ok {
		return
	}
	if value, _ := k.Value(file); n == 0 && value.Type() != gguf.Float32Type && value.Type() != gguf.Float64Type {
		k.refuse(file, value, "a number with its fraction")
	}
	*v = n
}

// Float32 is Float for a number of 32 bits.
func (k *Walk) Float32(folder, file string, v *float32, otherwise float32) {
	wide := float64(*v)
	k.Float(folder, file, &wide, float64(otherwise))
	if k.Reads() {
		if *v = float32(wide); math.IsInf(float64(*v), 0) {
			k.Fail(fmt.Errorf("%s is %g, which is no number of 32 bits", k.Key(folder, file), wide))
		}
	}
}

// Bool reads or writes a truth value.
func (k *Walk) Bool(folder, file string, v *bool, otherwise bool) {
	plain(k, folder, file, v, otherwise, gguf.ValueOf(*v), gguf.Value.Bool, "true or false")
}

// Text reads or writes a text.
func (k *Walk) Text(folder, file string, v *string, otherwise string) {
	plain(k, folder, file, v, otherwise, gguf.ValueOf(*v), gguf.Value.Text, "a text")
}

// plain reads or writes a value that both formats have alike: written is for a GGUF file, as takes it out of one, and want says in
// messages how it should be.
func plain[T any](k *Walk, folder, file string, v *T, otherwise T, written gguf.Value, as func(gguf.Value) (T, bool), want string) {
	if k.err != nil {
		return
	}
	if !k.Reads() {
		k.Put(folder, file, *v, written)
		return
	}
	*v = otherwise
	if k.object != nil {
		if folder != "" {
			k.Decode(folder, v)
		}
		return
	}
	if got, ok := valueOf(k, file, as, want); ok {
		*v = got
	}
}

// Bools reads or writes a list of truth values in a GGUF file; nil stands for no such key.
func (k *Walk) Bools(file string, v *[]bool) {
	switch {
	case k.err != nil || k.Folder():
	case k.Reads():
		*v = listOf(k, file, gguf.Value.Bools, "a truth for each layer")
	case *v != nil:
		k.Put("", file, nil, gguf.ArrayOf(*v))
	}
}

// Sizes reads or writes a size that may differ from layer to layer: v is the largest, and list, if it is not nil, has that of each layer. config.json
// has one number for all, or a list.
func (k *Walk) Sizes(folder, file string, v *int, list *[]int, otherwise int) {
	switch {
	case k.err != nil:
	case k.object != nil && len(k.object[folder]) > 0 && k.object[folder][0] == '[':
		var numbers []int
		if k.Decode(folder, &numbers); len(numbers) == 0 || len(numbers) > mostEntries || slices.Min(numbers) < 0 {
			k.Fail(fmt.Errorf("%s is %.60s, which are no sizes", folder, k.object[folder]))
			return
		}
		if *v = min(slices.Max(numbers), Most); slices.Min(numbers) != *v {
			*list = numbers
		}
	case k.Folder():
		k.Int(folder, "", v, otherwise)
	case k.file == nil && *list != nil:
		numbers := make([]int32, len(*list))
		for i, n := range *list {
			numbers[i] = int32(n)
		}
		k.Put("", file, nil, gguf.ArrayOf(numbers))
	case k.file == nil:
		k.Int("", file, v, 0)
	default:
		*v, *list = k.size(file, otherwise)
	}
}

// mostEntries is how many entries a list for layers may have.
const mostEntries = 1 << 10

// size returns the number at a key. If the key has a list with different numbers for the layers, size returns the largest and the list.
func (k *Walk) size(file string, otherwise int) (v int, list []int) {
	value, there := k.Value(file)
	n, isList := value.Len()
	switch {
	case !there:
		return otherwise, nil
	case n > mostEntries:
		k.Fail(fmt.Errorf("%s has %d entries, more than any model has layers", k.prefix+file, n))
		return 0, nil
	case !isList || n == 1:
		k.Int("", file, &v, otherwise)
		return v, nil
	}
	v = -1
	for _, n := range k.Ints(file, "a whole number, or one for each layer") {
		if n < 0 {
			k.Fail(fmt.Errorf("%s has %d, which is no size", k.prefix+file, n))
			return 0, nil
		}
		v = max(v, min(int(n), Most))
		list = append(list, min(int(n), Most))
	}
	if !slices.ContainsFunc(list, func(n int) bool { return n != v }) {
		list = nil
	}
	return v, list
}

// noToken are the ways in which files write that there is no such token, besides leaving the key out.
var noToken = []int64{-1, 1<<32 - 1}

// mostTokens is more than any vocabulary has.
const mostTokens = 1 << 24

// Token returns the token at a key of a GGUF file; -1 if there is no such token.
func (k *Walk) Token(file string) int32 {
	n, ok := valueOf(k, file, gguf.Value.Int, "the number of a token")
	switch {
	case !ok || slices.Contains(noToken, n):
		return -1
	case n < 0 || n >= mostTokens:
		v, _ := k.Value(file)
		k.refuse(file, v, "the number of a token")
		return -1
	}
	return int32(n)
}

// Ints reads a list of whole numbers in a GGUF file; nil stands for no such key.
func (k *Walk) Ints(file, want string) []int32 { return listOf(k, file, gguf.Value.Int32s, want) }

// Floats reads a list of numbers in a GGUF file; nil stands for no such key.
func (k *Walk) Floats(file string) []float32 {
	return listOf(k, file, gguf.Value.Float32s, "a list of numbers")
}

// PlainFloats reads a list of numbers, or one number as a list, at a key of a GGUF file that has no prefix; nil stands for no such key.
func (k *Walk) PlainFloats(key string) []float32 {
	plain := &Walk{file: k.file, asked: k.asked}
	if v, ok := plain.Value(key); ok && v.Type() != gguf.ArrayType {
		n := 0.0
		plain.Float("", key, &n, 0)
		k.Fail(plain.err)
		return []float32{float32(n)}
	}
	list := plain.Floats(key)
	k.Fail(plain.err)
	return list
}

// Texts reads a list of texts in a GGUF file; nil stands for no such key.
func (k *Walk) Texts(file string) []string {
	return listOf(k, file, gguf.Value.Strings, "a list of texts")
}

// Bytes reads a list of bytes in a GGUF file; nil stands for no such key.
func (k *Walk) Bytes(file string) []byte {
	b, _ := valueOf(k, file, func(v gguf.Value) ([]byte, bool) { b := v.Bytes(); return b, b != nil }, "a list of bytes")
	return b
}

// valueOf returns the value of a key of a GGUF file as another type; ok is false if there is no such key, or if the value cannot be read.
func valueOf[T any](k *Walk, file string, as func(gguf.Value) (T, bool), want string) (v T, ok bool) {
	if file == "" || k.err != nil {
		return v, false
	}
	value, there := k.Value(file)
	if !there {
		return v, false
	}
	if v, ok = as(value); !ok {
		k.refuse(file, value, want)
	}
	return v, ok
}

// listOf returns the list at a key, of elements of a type; nil if there is no such key.
func listOf[T any](k *Walk, file string, as func(gguf.Value) []T, want string) []T {
	list, _ := valueOf(k, file, func(v gguf.Value) ([]T, bool) {
		n, is := v.Len()
		list := as(v)
		return list, is && len(list) == n
	}, want)
	return list
}

// refuse notes an error about the value of a GGUF file's key.
func (k *Walk) refuse(file string, v gguf.Value, want string) {
	k.Fail(fmt.Errorf("%s is %s, and must be %s", k.prefix+file, ValueText(v), want))
}

// ValueText returns a value of metadata for messages.
func ValueText(v gguf.Value) string {
	if s, ok := v.Text(); ok {
		return fmt.Sprintf("the text %.40q", s)
	}
	if n, ok := v.Len(); ok {
		return fmt.Sprintf("a list of %d", n)
	}
	if b, ok := v.Bool(); ok && v.Type() == gguf.BoolType {
		return fmt.Sprint(b)
	}
	n, _ := v.Float()
	return fmt.Sprintf("%g", n)
}
