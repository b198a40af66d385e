package gguf

import (
	"fmt"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A large model may lie in several files with names that end in -00001-of-00003.gguf and so on. Each is a GGUF file with some of the
// tensors; the first one has the metadata. These are the keys about the parts.
const (
	splitPartKey    = "split.no"            // which part the file is, from 0
	splitCountKey   = "split.count"         // how many there are
	splitTensorsKey = "split.tensors.count" // how many tensors they have together
)

// MaxParts is the most files that a model may lie in.
const MaxParts = 1 << 12

// extension ends the names of GGUF files.
const extension = ".gguf"

// partEnding is how the name of a part ends.
var partEnding = regexp.MustCompile(`-([0-9]{5})-of-([0-9]{5})(?i:(\.gguf))$`)

// PartName returns the name of part i, from 0, of a file that is split in n. The name of the whole ends in .gguf, in letters of either
// case; those of the parts end in small letters, as llama.cpp looks for them.
func PartName(whole string, i, n int) string {
	if ext := path.Ext(whole); strings.EqualFold(ext, extension) {
		whole = strings.TrimSuffix(whole, ext)
	}
	return partName(whole, extension, i, n)
}

func partName(whole, extension string, i, n int) string {
	return fmt.Sprintf("%s-%05d-of-%05d%s", whole, i+1, n, extension)
}

// PartKeys returns the keys of part i of n parts of a model with tensors tensors.
func PartKeys(i, n, tensors int) []KeyValue {
	return []KeyValue{
		{splitPartKey, ValueOf(uint16(i))}, {splitCountKey, ValueOf(uint16(n))}, {splitTensorsKey, ValueOf(int32(tensors))},
	}
}

// isPartKey reports whether a key is one of PartKeys.
func isPartKey(key string) bool {
	return key == splitPartKey || key == splitCountKey || key == splitTensorsKey
}

// WithoutPartKeys returns a list without the keys of PartKeys. A file that is not split may have them too: llama.cpp leaves them when it
// joins parts.
func WithoutPartKeys(list []KeyValue) []KeyValue {
	return slices.DeleteFunc(slices.Clone(list), func(kv KeyValue) bool { return isPartKey(kv.Key) })
}

// Parts returns the names of all files of a model, given the first file and its name. If the model is not split, that is the only name. All
// files lie in one folder.
func (f *File) Parts(name string) ([]string, error) {
	n, i, err := f.part()
	if err != nil || n == 1 {
		return []string{name}, err
	}
	if i != 0 {
		return nil, fmt.Errorf("it is part %d of %d of a split model: give the first part, whose name ends in %s", i+1, n, PartName("", 0, n))
	}
	folder, file := path.Split(strings.ReplaceAll(name, `\`, "/"))
	folder = name[:len(folder)]
	ending := partEnding.FindStringSubmatch(file)
	if ending == nil || ending[1] != "00001" {
		return nil, fmt.Errorf("it is the first of %d parts of a split model, and its name must end in %s, that the others can be found",
			n, PartName("", 0, n))
	}
	if of, _ := strconv.Atoi(ending[2]); of != n {
		return nil, fmt.Errorf("it is the first of %d parts of a split model, and its name says of %d", n, of)
	}
	whole := strings.TrimSuffix(file, ending[0])
	names := make([]string, n)
	for i := range names {
		names[i] = folder + partName(whole, ending[3], i, n)
	}
	return names, nil
}

// part returns of how many parts the file is one, and which.
func (f *File) part() (n, i int, err error) {
	count, ok := f.Uint(splitCountKey)
	if !ok || count <= 1 {
		return 1, 0, nil
	}
	number, ok := f.Uint(splitPartKey)
	if count > MaxParts || !ok || number >= count {
		return 0, 0, fmt.Errorf("the key %s is %d and %s %d: there can be %d parts, numbered from 0", splitCountKey, count, splitPartKey, number, MaxParts)
	}
	return int(count), int(number), nil
}

// Join makes one File of the parts of a split model, in their order. A Tensor's Part is then the number of its file.
func Join(parts []*File) (*File, error) {
	if len(parts) == 0 {
		return nil, fmt.Errorf("gguf: join no parts")
	}
	first := parts[0]
	joined := &File{version: first.version, metadata: map[string]Value{}, byName: map[string]int{}}
	for _, key := range first.keys {
		if !isPartKey(key) {
			joined.keys = append(joined.keys, key)
			joined.metadata[key] = first.metadata[key]
		}
	}
	total, ok := first.Uint(splitTensorsKey)
	if !ok || total > maxTensors {
		return nil, fmt.Errorf("gguf: the key %s of the first part is missing or more than %d", splitTensorsKey, maxTensors)
	}
	for i, f := range parts {
		n, number, err := f.part()
		tensors, _ := f.Uint(splitTensorsKey)
		switch {
		case err != nil:
			return nil, fmt.Errorf("gguf: part %d: %w", i+1, err)
		case n != len(parts) || number != i || tensors != total:
			return nil, fmt.Errorf("gguf: part %d of %d, of a model with %d tensors, is in fact part %d of %d, of one with %d: "+
				"files of different models are mixed", i+1, len(parts), total, number+1, n, tensors)
		}
		for _, t := range f.tensors {
			if at, twice := joined.byName[t.Name]; twice {
				return nil, fmt.Errorf("gguf: part %d has the tensor %.100q, which part %d has too", i+1, t.Name, joined.tensors[at].Part+1)
			}
			t.Part = i
			joined.byName[t.Name] = len(joined.tensors)
			joined.tensors = append(joined.tensors, t)
		}
	}
	if uint64(len(joined.tensors)) != total {
		return nil, fmt.Errorf("gguf: the %d parts have %d tensors, and should have %d", len(parts), len(joined.tensors), total)
	}
	return joined, nil
}

// Split divides tensors into parts, in their order: each part gets as many tensors as fit into bytes, and at least one. It returns the end
// of each part.
func Split(tensors []TensorInfo, bytes int64) (ends []int, err error) {
	used := int64(0)
	for i, t := range tensors {
		n, err := t.Type.Size(t.Shape)
		if err != nil {
			return nil, fmt.Errorf("gguf: tensor %q: %w", t.Name, err)
		}
		padded := (min(int64(n), math.MaxInt64-defaultAlignment) + defaultAlignment - 1) / defaultAlignment * defaultAlignment
		if i > 0 && padded > bytes-used {
			ends = append(ends, i)
			used = 0
		}
		used += padded
	}
	if ends = append(ends, len(tensors)); len(ends) > MaxParts {
		return nil, fmt.Errorf("gguf: parts of %d bytes would be %d, more than %d", bytes, len(ends), MaxParts)
	}
	return ends, nil
}
