package checkpoint

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// A folder has its tower among its tensors. A GGUF file has it in another file, which a caller names or which lies in the same folder: of the files
// mmproj*.gguf that fit the model, the one with a name that has most in common with the model's. For example, next to Qwen3VL-2B-Instruct-Q4_K_M.gguf
//
//	mmproj-Qwen3VL-2B-Instruct-F16.gguf    the first choice: qwen3vl, 2b and instruct are in both names
//	mmproj-Qwen3VL-2B-Instruct-Q8_0.gguf   as much in common, and a type that is less exact
//	mmproj-gemma-3-4b-it.gguf              does not fit

// TowersFor returns those of a folder's files that may have the tower of a model, the likeliest first.
func TowersFor(names []string, of string) (list []string) {
	for _, name := range names {
		lower := strings.ToLower(name)
		if strings.HasPrefix(lower, "mmproj") && strings.HasSuffix(lower, ".gguf") && name != of {
			list = append(list, name)
		}
	}
	words := wordsOf(of)
	common := func(name string) (n int) {
		for _, w := range wordsOf(name) {
			if slices.Contains(words, w) {
				n++
			}
		}
		return n
	}
	slices.SortFunc(list, func(a, b string) int {
		return cmp.Or(cmp.Compare(common(b), common(a)), cmp.Compare(exactness(a), exactness(b)), strings.Compare(a, b))
	})
	return list
}

// wordsOf returns the words of a file's name.
func wordsOf(name string) []string {
	name = strings.TrimSuffix(strings.ToLower(path.Base(name)), ".gguf")
	return strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("-_. ", r) })
}

// towerTypes are the types that names of files with towers have, the one that is taken first first: F16 has as many bits as towers are stored with, and half of F32's.
var towerTypes = []string{"f16", "bf16", "f32", "q8"}

// exactness returns the place of a name's type in towerTypes.
func exactness(name string) int {
	words := wordsOf(name)
	for i, t := range towerTypes {
		if slices.ContainsFunc(words, func(w string) bool { return w == t }) {
			return i
		}
	}
	return len(towerTypes)
}
