package hub

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/safetensors"
)

// pick chooses which files of a repository to fetch. A file or a type that the name gives decides. Without them, a folder of safetensors
// comes first, then an adapter, then the only GGUF model or the one of the type Q4_K_M. Parts of a split model come together. For example:
//
//	name               files of the repository                      choice
//	hf:o/n             config.json, model.safetensors, a.gguf       the folder: path "", without a.gguf
//	hf:o/n             a-Q4_K_M.gguf, a-Q8_0.gguf                   a-Q4_K_M.gguf
//	hf:o/n             a-Q4_K_M.gguf, mmproj-a-F16.gguf             both, path of the former
//	hf:o/n:q8_0        a-Q4_K_M.gguf, a-Q8_0.gguf                   a-Q8_0.gguf
//	hf:o/n/b/a-00001-of-00002.gguf   b/a-00001-of-00002.gguf and -00002-of-  both parts, path of the first

// choice is what of a repository makes the model that a name says.
type choice struct {
	path  string  // in the repository, what llama.Load takes: a file, or "" for the repository's folder
	files []entry // to fetch
	index *entry  // one of the files, which names more of them: see addShards; nil: no file is an index
	all   listing // where addShards finds them
}

// defaultKind is the type of GGUF file for names without a type.
const defaultKind = "Q4_K_M"

const ggufSuffix = ".gguf"

// pick chooses the files.
func pick(l listing, r *reference) (*choice, error) {
	c, err := pickModel(l, r)
	if err == nil {
		c.addTower(l)
	}
	return c, err
}

// addTower adds the file with the tower of a GGUF model that sees, which llama.Load looks for next to the model's.
func (c *choice) addTower(l listing) {
	if !strings.EqualFold(path.Ext(c.path), ggufSuffix) {
		return
	}
	var names []string
	for e := range l.sorted() {
		if path.Dir(e.path) == path.Dir(c.path) {
			names = append(names, path.Base(e.path))
		}
	}
	if towers := checkpoint.TowersFor(names, path.Base(c.path)); len(towers) > 0 {
		c.files = append(slices.Clip(c.files), l[path.Join(path.Dir(c.path), towers[0])])
	}
}

// pickModel chooses the files without those of a tower.
func pickModel(l listing, r *reference) (*choice, error) {
	switch {
	case r.file != "":
		return pickFile(l, r.file)
	case r.kind != "":
		return pickKind(l, r.kind)
	}
	if _, ok := l[checkpoint.WeightsFile]; ok {
		return pickFolder(l)
	}
	if _, ok := l[checkpoint.IndexFile]; ok {
		return pickFolder(l)
	}
	if c := pickAdapter(l); c != nil {
		return c, nil
	}
	models := ggufModels(l)
	switch len(models) {
	case 0:
		return nil, fmt.Errorf("the repository has neither %s or %s nor a GGUF file%s", checkpoint.WeightsFile, checkpoint.IndexFile, describeFiles(l))
	case 1:
		return models[0].choice()
	}
	if found := ofKind(models, defaultKind); len(found) == 1 {
		return found[0].choice()
	}
	return nil, fmt.Errorf("the repository has several models and not one %s; say which, as in :%s or /%s: %s", defaultKind,
		cmp.Or(kindOf(models[0].name), defaultKind), models[0].name, names(models))
}

// pickFolder chooses a Hugging Face folder: what loading reads, without the shards.
func pickFolder(l listing) (*choice, error) {
	if _, ok := l[checkpoint.ConfigFile]; !ok {
		return nil, fmt.Errorf("the repository has weights, and no %s%s", checkpoint.ConfigFile, describeFiles(l))
	}
	c := &choice{all: l}
	for _, name := range checkpoint.SmallFiles() {
		if e, ok := l[name]; ok {
			c.files = append(c.files, e)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l)) {
		if checkpoint.IsModuleFile(name) || checkpoint.IsTemplateFile(name) {
			c.files = append(c.files, l[name])
		}
	}
	if e, ok := l[checkpoint.WeightsFile]; ok { // then an index counts for nothing
		c.files = append(c.files, e)
	} else {
		e := l[checkpoint.IndexFile]
		c.files, c.index = append(c.files, e), &e
	}
	return c, nil
}

// pickAdapter chooses the folder of a LoRA adapter. It returns nil if the repository has no adapter.
func pickAdapter(l listing) *choice {
	c := &choice{all: l}
	for _, name := range []string{checkpoint.AdapterConfigFile, checkpoint.AdapterWeightsFile} {
		e, ok := l[name]
		if !ok {
			return nil
		}
		c.files = append(c.files, e)
	}
	return c
}

// addShards adds the files that the index names. data is the index's content.
func (c *choice) addShards(data []byte) error {
	index, err := safetensors.ParseIndex(data)
	if err != nil {
		return fmt.Errorf("%s: %w", checkpoint.IndexFile, err)
	}
	for _, name := range index.Shards() {
		e, ok := c.all[name]
		if !ok {
			return fmt.Errorf("the repository lacks %q, which its %s names", name, checkpoint.IndexFile)
		}
		c.files = append(c.files, e)
	}
	return nil
}

// pickFile chooses one file, with the others if it is a part of several.
func pickFile(l listing, file string) (*choice, error) {
	e, ok := l[file]
	if !ok {
		return nil, fmt.Errorf("the repository has no file %q%s", file, describeFiles(l))
	}
	for _, m := range ggufFiles(l) {
		if slices.ContainsFunc(m.parts, func(part entry) bool { return part.path == file }) {
			return m.choice()
		}
	}
	return &choice{path: file, files: []entry{e}}, nil
}

// pickKind chooses the model of a type.
func pickKind(l listing, kind string) (*choice, error) {
	models := ggufModels(l)
	switch found := ofKind(models, kind); {
	case len(models) == 0:
		return nil, fmt.Errorf("the repository has no GGUF file%s", describeFiles(l))
	case len(found) == 0:
		return nil, fmt.Errorf("the repository has no model of the type %s, but %s", kind, names(models))
	case len(found) > 1:
		return nil, fmt.Errorf("the repository has several models of the type %s; name the file: %s", kind, names(found))
	default:
		return found[0].choice()
	}
}

// ggufModel is a model in a GGUF file, or in several that are its parts.
type ggufModel struct {
	name  string // the path, without the numbers of parts
	parts []entry
	count int // of the parts that there must be
}

// choice returns the choice of this model.
func (m *ggufModel) choice() (*choice, error) {
	if len(m.parts) != m.count {
		return nil, fmt.Errorf("of the model %s the repository has %d parts of %d", m.name, len(m.parts), m.count)
	}
	return &choice{path: m.parts[0].path, files: m.parts}, nil
}

// part recognises the files of models that are split, as llama.cpp names them.
var part = regexp.MustCompile(`(?i)^(.+)-(\d{5})-of-(\d{5})(\.gguf)$`)

// maxParts bounds the parts of a model.
const maxParts = 1000

// partOf takes the name of a part of a split model apart: the path without numbers, the part's number from 1, and the number of parts.
func partOf(file string) (whole string, number, count int, ok bool) {
	m := part.FindStringSubmatch(file)
	if m == nil {
		return "", 0, 0, false
	}
	number, _ = strconv.Atoi(m[2])
	count, _ = strconv.Atoi(m[3])
	return m[1] + m[4], number, count, number >= 1 && number <= count && count <= maxParts
}

// partName returns the name of a part: what partOf takes apart.
func partName(whole string, number, count int) string {
	suffix := path.Ext(whole)
	return fmt.Sprintf("%s-%05d-of-%05d%s", strings.TrimSuffix(whole, suffix), number, count, suffix)
}

// ggufFiles returns the GGUF files by path, parts together.
func ggufFiles(l listing) (models []*ggufModel) {
	split := map[string]*ggufModel{}
	for e := range l.sorted() { // parts come in order, since their numbers have five digits
		whole, _, count, ok := partOf(e.path)
		switch {
		case !strings.EqualFold(path.Ext(e.path), ggufSuffix):
		case !ok:
			models = append(models, &ggufModel{e.path, []entry{e}, 1})
		default:
			key := fmt.Sprintf("%s %d", whole, count)
			m := split[key]
			if m == nil {
				m = &ggufModel{name: whole, count: count}
				split[key], models = m, append(models, m)
			}
			m.parts = append(m.parts, e)
		}
	}
	return models
}

// ggufModels returns the GGUF files that are models, and not what belongs to one.
func ggufModels(l listing) []*ggufModel {
	return slices.DeleteFunc(ggufFiles(l), func(m *ggufModel) bool {
		name := strings.ToLower(path.Base(m.name))
		return strings.Contains(name, "mmproj") || strings.Contains(name, "imatrix")
	})
}

// ofKind returns the models of a type: those with the type as a word of the file's name or of its folder's; or, if there are no such
// models, after an underscore at the end of such a word. Capitals do not count.
func ofKind(models []*ggufModel, kind string) (found []*ggufModel) {
	text := regexp.QuoteMeta(kind)
	for _, expression := range []string{`(?i)(^|[^a-z0-9_])` + text + `([^a-z0-9_]|$)`, `(?i)_` + text + `([^a-z0-9_]|$)`} {
		word := regexp.MustCompile(expression)
		for _, m := range models {
			if name := strings.TrimSuffix(m.name, path.Ext(m.name)); word.MatchString(path.Base(name)) || word.MatchString(path.Base(path.Dir(name))) {
				found = append(found, m)
			}
		}
		if len(found) > 0 {
			break
		}
	}
	return found
}

// kindWord recognises the type in a file's name.
var kindWord = regexp.MustCompile(`(?i)(^|[^a-z0-9])((IQ|TQ|Q)[1-8]_[a-z0-9_]+|MXFP4|BF16|F16|F32)(\.gguf)?$`)

// kindOf returns the type that a file's name ends in, "" if it does not.
func kindOf(name string) string {
	if m := kindWord.FindStringSubmatch(strings.TrimSuffix(name, path.Ext(name))); m != nil {
		return m[2]
	}
	return ""
}

// maxNamed bounds how many files an error names.
const maxNamed = 40

// names returns the models' names for an error.
func names(models []*ggufModel) string {
	list := make([]string, 0, len(models))
	for _, m := range models {
		list = append(list, m.name)
	}
	return enumerate(list)
}

// describeFiles says for an error which files the repository has, weights first.
func describeFiles(l listing) string {
	var weights, others []string
	for e := range l.sorted() {
		switch strings.ToLower(path.Ext(e.path)) {
		case ggufSuffix, ".safetensors", ".bin", ".pt", ".pth", ".onnx":
			weights = append(weights, e.path)
		default:
			others = append(others, e.path)
		}
	}
	if len(weights)+len(others) == 0 {
		return ": it is empty"
	}
	return "; it has " + enumerate(append(weights, others...))
}

// enumerate joins names for a message. Of many names it leaves some out.
func enumerate(list []string) string {
	if more := len(list) - maxNamed; more > 0 {
		list = append(list[:maxNamed:maxNamed], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(list, ", ")
}
