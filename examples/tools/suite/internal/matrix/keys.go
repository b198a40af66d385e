package matrix

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Each key of a matrix is in one table, with its name and its field. A field's value reads JSON from a file (read) and text from a flag
// (set). Both replace the field's content; lists leave repetitions out. For example:
//
//	{"threads": [1, 4, 1]}             -threads 1,4,1          Matrix.Threads is [1 4]
//	{"threads": 4}                     -threads 4              Matrix.Threads is [4]
//	{"weights": ["stored", "q8_0"]}    -weights stored,q8_0    Matrix.Weights is ["" "q8_0"]
//	{"threads": "4"}                                           error: "4" is not a whole number or a list of them

// key is one of a matrix's keys: in a file, and as a flag.
type key struct {
	name, kind, usage string
	value             value
}

// value is a field of a Matrix. Both setters replace what it held.
type value interface {
	set(text string) error // from a flag: lists have commas between their elements
	read(text []byte) error
	String() string
}

// keys lists the keys.
func (m *Matrix) keys() []key {
	return []key{
		{"models", "names", "of models: pebble and flint are embedded, others are paths of .gguf files and Hugging Face folders, or names as hf:owner/name", &texts{&m.Models, ""}},
		{"weights", "types", "to convert the weights to, as bench -weights has them; stored: as they are in the file", &texts{&m.Weights, "stored"}},
		{"backends", "names", "of what computes: cpu, opencl (in programs built with -tags opencl)", &texts{&m.Backends, ""}},
		{"threads", "numbers", "of threads to compute with; 0: one for each processor", &integers{&m.Threads}},
		{"kv-type", "types", "of the cached keys and values: f32, f16, q8_0, q4_0", &texts{&m.KV, ""}},
		{"policies", "names", "of eviction policies; none: everything stays", &texts{&m.Policies, ""}},
		{"windows", "slots", "that the policies keep; the policy none has no window", &integers{&m.Windows}},
		{"protected", "tokens", "at the beginning that the policy sliding keeps, of its window", &integers{&m.Protected}},
		{"prompts", "tokens", "of the prompt that is read", &integers{&m.Prompts}},
		{"generate", "tokens", "that are generated after it", &integers{&m.Generate}},
		{"handicaps", "parts", "by which each token is made slower: 0,0.1 plants a tenth, to try the comparison", &decimals{&m.Handicaps}},
		{"programs", "programs", "that compute, in turn, as LABEL=PATH: base=./suite_old,new= compares an older suite with this one", &texts{&m.Programs, ""}},
		{"profile", "", "time the operations too, in a pass of their own", &boolean{&m.Profile}},
		{"questions", "file", "of questions to answer, to measure accuracy; pebble: those that are embedded", &text{&m.Questions}},
		{"skills", "names", "of the questions that are asked; none: all of the file", &texts{&m.Skills, ""}},
		{"asked", "number", "of questions of each skill", &integer{&m.Asked}},
	}
}

// texts is a list of strings. Elements that equal empty stand for "".
type texts struct {
	p     *[]string
	empty string
}

func (v *texts) String() string {
	list := slices.Clone(*v.p)
	for i, s := range list {
		if s == "" {
			list[i] = v.empty
		}
	}
	return strings.Join(list, ",")
}

func (v *texts) set(s string) error {
	*v.p = nil
	for field := range strings.SplitSeq(s, ",") {
		v.add(strings.TrimSpace(field))
	}
	return nil
}

func (v *texts) add(s string) {
	if s == v.empty {
		s = ""
	}
	if !slices.Contains(*v.p, s) {
		*v.p = append(*v.p, s)
	}
}

func (v *texts) read(text []byte) error {
	list, err := listOf[string](text, "a string or a list of strings")
	if err != nil {
		return err
	}
	*v.p = nil
	for _, s := range list {
		v.add(s)
	}
	return nil
}

// integers is a list of whole numbers.
type integers struct{ p *[]int }

func (v *integers) String() string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(*v.p), " ", ","), "[]")
}

func (v *integers) set(s string) error {
	return parseList(v.p, s, strconv.Atoi, "must be whole numbers with commas between")
}

func (v *integers) read(text []byte) (err error) {
	list, err := listOf[int](text, "a whole number or a list of them")
	if err == nil {
		*v.p = unique(list)
	}
	return err
}

// decimals is a list of numbers.
type decimals struct{ p *[]float64 }

func (v *decimals) String() string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(*v.p), " ", ","), "[]")
}

func (v *decimals) set(s string) error {
	parse := func(s string) (float64, error) { return strconv.ParseFloat(s, 64) }
	return parseList(v.p, s, parse, "must be numbers with commas between")
}

func (v *decimals) read(text []byte) error {
	list, err := listOf[float64](text, "a number or a list of numbers")
	if err == nil {
		*v.p = unique(list)
	}
	return err
}

// text is a string.
type text struct{ p *string }

func (v *text) String() string         { return *v.p }
func (v *text) set(s string) error     { *v.p = s; return nil }
func (v *text) read(text []byte) error { return strictly(text, v.p, "a string") }

// integer is a whole number.
type integer struct{ p *int }

func (v *integer) String() string         { return strconv.Itoa(*v.p) }
func (v *integer) read(text []byte) error { return strictly(text, v.p, "a whole number") }

func (v *integer) set(s string) (err error) {
	if *v.p, err = strconv.Atoi(s); err != nil {
		return errors.New("must be a whole number")
	}
	return nil
}

// boolean is true or false.
type boolean struct{ p *bool }

func (v *boolean) String() string         { return strconv.FormatBool(*v.p) }
func (v *boolean) read(text []byte) error { return strictly(text, v.p, "true or false") }

func (v *boolean) set(s string) (err error) {
	if *v.p, err = strconv.ParseBool(s); err != nil {
		return errors.New("must be true or false")
	}
	return nil
}

// parseList reads a flag's list.
func parseList[T comparable](p *[]T, s string, parse func(string) (T, error), must string) error {
	var list []T
	for field := range strings.SplitSeq(s, ",") {
		v, err := parse(strings.TrimSpace(field))
		if err != nil {
			return errors.New(must)
		}
		list = append(list, v)
	}
	*p = unique(list)
	return nil
}

// listOf reads a list of a file's, for which a single value may stand.
func listOf[T any](text []byte, must string) (list []T, err error) {
	if !bytes.HasPrefix(text, []byte("[")) {
		list = make([]T, 1)
		return list, strictly(text, &list[0], must)
	}
	var elements []json.RawMessage
	if err := json.Unmarshal(text, &elements); err != nil {
		return nil, err
	}
	if len(elements) == 0 {
		return nil, errors.New("needs at least one value")
	}
	list = make([]T, len(elements))
	for i, e := range elements {
		if err := strictly(e, &list[i], must); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// strictly reads a value of a file into p. null is an error.
func strictly(text []byte, p any, must string) error {
	if string(text) == "null" || json.Unmarshal(text, p) != nil {
		return fmt.Errorf("%s is not %s", text, must)
	}
	return nil
}

// unique returns a list without its repetitions.
func unique[T comparable](list []T) (once []T) {
	seen := map[T]bool{}
	for _, v := range list {
		if !seen[v] {
			seen[v] = true
			once = append(once, v)
		}
	}
	return once
}
