package checkpoint

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/antigravity-go/antigravity/internal/checkpoint/families"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/modeljson"
	"github.com/antigravity-go/antigravity/internal/safetensors"
)

// A folder's small files are read whole by a Folder, the weights by a function that the caller gives, which may map them. For example, of a
// model in two shards
//
//	config.json, generation_config.json                  become a Config
//	tokenizer_config.json, chat_template.jinja and its like   become a Chat
//	model.safetensors.index.json                         says which shard has a tensor
//	model-00001-of-00002.safetensors,
//	model-00002-of-00002.safetensors                     become a Weights
//
// To find model.norm.weight, Weights.Tensor asks the index for its shard, and then that shard for the tensor. If there is a file model.safetensors, it has
// all tensors, and the index counts for nothing: so transformers reads folders that were saved to twice. Leftovers lists files that are not read.

// SmallFiles returns the names of the files besides the weights and their index that a folder may have and Folder reads.
func SmallFiles() []string {
	return append([]string{
		ConfigFile, GenerationFile, TokenizerFile, TokenizerConfigFile, TemplateFile, OldTemplateFile, ProcessorFile, PreprocessorFile, SpecialTokensFile, AddedTokensFile, ModulesFile, PoolingFile, PromptsFile, CalibrationFile,
	}, textsFiles...)
}

// IsModuleFile reports whether a file of a folder is one of a module, as sentence-transformers names them: 2_Dense/config.json, say.
func IsModuleFile(name string) bool {
	module, file, _ := strings.Cut(name, "/")
	number, kind, _ := strings.Cut(module, "_")
	_, err := strconv.Atoi(number)
	return err == nil && kind != "" && (file == moduleConfig || kind == denseModule && file == WeightsFile)
}

// ShardFile returns the name of shard i of n, counted from 0, of the weights.
func ShardFile(i, n int) string {
	if n == 1 {
		return WeightsFile
	}
	return fmt.Sprintf("model-%05d-of-%05d.safetensors", i+1, n)
}

// Config reads config.json, and generation_config.json and CalibrationFile if they are there. The result is valid.
func (f Folder) Config() (*model.Config, error) {
	data, err := f(ConfigFile)
	if err != nil {
		return nil, fmt.Errorf("read the model's configuration: %w", err)
	}
	generation, err := f.Optional(GenerationFile)
	if err != nil {
		return nil, err
	}
	c, err := parseConfig(data)
	if err != nil {
		return nil, &FileError{ConfigFile, err}
	}
	if generation != nil {
		if err := addGeneration(c, generation); err != nil {
			return nil, &FileError{GenerationFile, err}
		}
	}
	return c, f.optionally(CalibrationFile, func(data []byte) error { return addCalibration(c, data) })
}

// Weights are the tensors of a folder: one safetensors file, or shards with an index.
//
// Folders name the tensors of the model of text in some ways: see naming. A Weights has the usual names.
type Weights struct {
	list   string             // the file that lists the tensors: the index, or the one file
	index  *safetensors.Index // nil: there is one file
	strays map[string]string  // the files of tensors that shards have and the index lists not, or elsewhere

	table    string                       // the usual name of the table of embeddings if the files have the output head alone, which is the table, too
	onlyHead string                       // the head's name in the files
	files    map[string]*safetensors.File // by name
	modules  map[string]*safetensors.File // of the modules, by their folders
	naming
}

// Weights parses the files of the weights. The function open is called for each of them with its name and returns its bytes,
// which the Weights refer to. The tensors of modules, in folders of their own, have names that begin with their folders.
func (f Folder) Weights(open func(name string) ([]byte, error), modules ...model.Dense) (*Weights, error) {
	w := &Weights{files: map[string]*safetensors.File{}, modules: map[string]*safetensors.File{}}
	read := func(name string) error {
		data, err := open(name)
		if err != nil {
			return err
		}
		if w.files[name], err = safetensors.Parse(data); err != nil {
			return &FileError{name, err}
		}
		return nil
	}
	list, index, err := f.listFile()
	if err != nil {
		return nil, err
	}
	named := list != ""
	if list = cmp.Or(list, WeightsFile); !index {
		err = read(list)
	}
	if !named && errors.Is(err, fs.ErrNotExist) {
		if data, other := f.Optional(IndexFile); other != nil {
			return nil, other
		} else if data != nil {
			list, index, err = IndexFile, true, nil
		}
	}
	if err != nil {
		return nil, err
	}
	if w.list = list; index {
		if err := w.readShards(f, read); err != nil {
			return nil, err
		}
	}
	w.naming = namingOf(w.fileNames())
	for _, m := range modules {
		if m.Folder == "" {
			continue
		}
		name := m.Folder + "/" + WeightsFile
		data, err := open(name)
		if err != nil {
			return nil, err
		}
		if w.modules[m.Folder], err = safetensors.Parse(data); err != nil {
			return nil, &FileError{name, err}
		}
	}
	return w, nil
}

// readShards reads the index, and by a function the shards.
func (w *Weights) readShards(f Folder, read func(name string) error) error {
	data, err := f(w.list)
	if err != nil {
		return err
	}
	if w.index, err = safetensors.ParseIndex(data); err != nil {
		return &FileError{w.list, err}
	}
	for _, name := range w.index.Shards() {
		if err := read(name); err != nil {
			return err
		}
	}
	w.strays = map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(w.files)) {
		for _, again := range w.files[name].Tensors() {
			if placed, _ := w.index.Shard(again.Name); placed == name {
				continue
			}
			t, first, ok := w.place(again.Name)
			if !ok {
				w.strays[again.Name] = name
				continue
			}
			if t.DType != again.DType || !slices.Equal(t.Shape, again.Shape) || !bytes.Equal(t.Data, again.Data) {
				return &FileError{name, fmt.Errorf("the tensor %s is another one in %s: transformers would take that of the last file", again.Name, first)}
			}
		}
	}
	return nil
}

// place returns a tensor of a name in the files, and its file. If the file that the index names has no such tensor, or
// the index names no file, another shard counts that has one: transformers reads all tensors of all shards.
func (w *Weights) place(stored string) (t safetensors.Tensor, file string, ok bool) {
	file = w.list
	if w.index != nil {
		file, _ = w.index.Shard(stored)
	}
	if f := w.files[file]; f != nil {
		if t, ok = f.Tensor(stored); ok {
			return t, file, true
		}
	}
	if stray := w.strays[stored]; stray != "" {
		t, ok = w.files[stray].Tensor(stored)
		return t, stray, ok
	}
	return t, file, false
}

// Tie changes a configuration that ties the output head to the table of embeddings as transformers does if the files say otherwise. If they have
// two that differ, these are not tied. If they have the head alone, it is the table, too.
func (w *Weights) Tie(c *model.Config) {
	f := families.Of(c)
	if !c.TiedEmbeddings {
		return
	}
	head, _, err := w.Tensor(f.FolderName(model.OutputHead, 0, false))
	if err != nil {
		return
	}
	table, _, err := w.Tensor(f.FolderName(model.Embedding, 0, false))
	switch {
	case err != nil:
		w.table = f.FolderName(model.Embedding, 0, false)
		w.onlyHead = head.Name
	case head.DType != table.DType || !slices.Equal(head.Shape, table.Shape) || !bytes.Equal(head.Data, table.Data):
		c.TiedEmbeddings = false
	}
}

// FitAhead leaves the head that predicts further tokens out of a configuration if the files do not have it.
func (w *Weights) FitAhead(c *model.Config) {
	if c.Ahead == nil {
		return
	}
	if _, _, err := w.Tensor(families.AheadName(c.Ahead)); err != nil {
		c.Ahead = nil
	}
}

// ReadNumbers notes in a configuration what the family has in tensors of one element, and returns their names. The error wraps a *FileError.
func (w *Weights) ReadNumbers(c *model.Config) (names []string, err error) {
	err = families.Of(c).ReadNumbers(c, func(name string) (float32, error) {
		t, file, err := w.Tensor(name)
		if err != nil {
			return 0, err
		}
		names = append(names, name)
		one, elements := [1]float32{}, 1
		for _, d := range t.Shape {
			elements *= d
		}
		d, _ := t.ElementType()
		if elements != 1 || !d.Format().Valid() || d.Quantized() {
			return 0, &FileError{file, fmt.Errorf("the tensor %s is %s%v, and must be one number", name, t.DType, t.Shape)}
		}
		err = d.Format().Dequantize(one[:], t.Data)
		return one[0], err
	})
	return names, err
}

// listFile returns the file that config.json names as the one that lists the tensors, and whether it is an index; "" if config.json names no file.
func (f Folder) listFile() (name string, index bool, err error) {
	data, err := f.Optional(ConfigFile)
	if err != nil || data == nil {
		return "", false, err
	}
	var j struct {
		Weights *string `json:"transformers_weights"`
	}
	if err := modeljson.Unmarshal(data, &j); err != nil {
		return "", false, &FileError{ConfigFile, err}
	}
	name = or(j.Weights, "")
	index = strings.HasSuffix(name, weightsEnd+indexEnd)
	if name != "" && (strings.ContainsAny(name, `/\`) || !index && !strings.HasSuffix(name, weightsEnd)) {
		return "", false, &FileError{ConfigFile, fmt.Errorf("transformers_weights is %.100q, and must name a safetensors file of the folder or an index of such files", name)}
	}
	return name, index, nil
}

// The ends of names of files with weights, and what follows for an index.
const (
	weightsEnd = ".safetensors"
	indexEnd   = ".index.json"
)

// leftovers are the files of folders that are not read if there are others with weights, by how their names begin and end, the special ones first.
var leftovers = []struct{ begin, end, why string }{
	{"adapter_", "", "an adapter, which is added only if LoadAdapter or LoadOptions.Adapters has its folder"},
	{"", weightsEnd, "other files of the folder have the weights, as transformers chooses"},
	{"", weightsEnd + indexEnd, "other files of the folder have the weights, as transformers chooses"},
	{"", ".gguf", "another model"},
	{"", ".onnx", "another form of the model"},
	{"pytorch_model", "", "weights as PyTorch saves them; the folder has them as safetensors, too"},
	{"tf_model", "", "weights as TensorFlow saves them; the folder has them as safetensors, too"},
	{"flax_model", "", "weights as Flax saves them; the folder has them as safetensors, too"},
	{"", ".pth", "weights as PyTorch saves them; the folder has them as safetensors, too"},
	{"", ".pt", "weights as PyTorch saves them; the folder has them as safetensors, too"},
}

// Leftovers returns those of a folder's files that may have weights and are not read.
func (w *Weights) Leftovers(names []string) (list []Ignored) {
	for _, name := range names {
		if name == w.list || w.files[name] != nil {
			continue
		}
		for _, l := range leftovers {
			if strings.HasPrefix(name, l.begin) && strings.HasSuffix(name, l.end) {
				list = append(list, Ignored{name, l.why})
				break
			}
		}
	}
	return list
}

// List returns the name of the file that lists the tensors: the index, or the one file with the weights.
func (w *Weights) List() string { return w.list }

// Names returns the names of all tensors.
func (w *Weights) Names() []string {
	names := w.fileNames()
	for i, name := range names {
		if names[i] = w.usual(name); w.table != "" && name == w.onlyHead {
			names[i] = w.table
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(w.modules)) {
		for _, name := range w.modules[folder].Names() {
			names = append(names, folder+"/"+name)
		}
	}
	return names
}

// OwnNames returns the names that all tensors have in the files.
func (w *Weights) OwnNames() []string { return w.fileNames() }

// Own returns the tensor that has a name in the files, the name that Names lists for it, and the name of the file that has it. The error wraps a *FileError.
func (w *Weights) Own(name string) (t safetensors.Tensor, usual, file string, err error) {
	t, file, ok := w.place(name)
	if !ok {
		err = &FileError{w.list, fmt.Errorf("the tensor %s is missing", name)}
	}
	return t, w.usual(name), file, err
}

// fileNames returns the names that all tensors have in the files.
func (w *Weights) fileNames() (names []string) {
	for _, file := range slices.Sorted(maps.Keys(w.files)) {
		names = append(names, w.files[file].Names()...)
	}
	return names
}

// Tensor returns the tensor of a name and the name of the file that has it. The error wraps a *FileError.
func (w *Weights) Tensor(name string) (t safetensors.Tensor, file string, err error) {
	asked := name
	if at := strings.LastIndexByte(name, '/'); at >= 0 {
		file = name[:at] + "/" + WeightsFile
		if module := w.modules[name[:at]]; module != nil {
			if t, ok := module.Tensor(name[at+1:]); ok {
				return t, file, nil
			}
		}
		return t, file, &FileError{file, fmt.Errorf("the tensor %s is missing", name[at+1:])}
	}
	if name = w.naming.stored(name); asked == w.table {
		name = w.onlyHead
	}
	t, file, ok := w.place(name)
	switch {
	case ok:
		return t, file, nil
	case w.index != nil && file != "":
		return t, file, &FileError{file, fmt.Errorf("the index places the tensor %s here, but it is absent", asked)}
	}
	return t, w.list, &FileError{w.list, fmt.Errorf("the tensor %s is missing", asked)}
}
