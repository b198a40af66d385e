package checkpoint

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/safetensors"
)

func TestChat(t *testing.T) {
	for _, c := range []struct {
		name, config string
		want         Chat
		fails        bool
	}{
		{"nothing", "", Chat{}, false},
		{"texts", `{"bos_token":"<s>","eos_token":{"content":"</s>"},"pad_token":null}`, Chat{BOS: "<s>", EOS: "</s>"}, false},
		{"a template", `{"chat_template":"x"}`, Chat{Templates: []Template{{DefaultTemplate, "x", TokenizerConfigFile}}}, false},
		{"no token", `{"bos_token":3}`, Chat{}, true},
		{"no JSON", `{`, Chat{}, true},
	} {
		files := map[string][]byte{}
		if c.config != "" {
			files[TokenizerConfigFile] = []byte(c.config)
		}
		got, err := folderOf(files).Chat(listIn(files))
		if got != nil {
			got.repeated = nil // TestSettingsOfTokenizersAgree has its turn
		}
		var in *FileError
		switch {
		case c.fails && (!errors.As(err, &in) || in.Name != TokenizerConfigFile):
			t.Errorf("%s: no error that names %s: %v", c.name, TokenizerConfigFile, err)
		case !c.fails && (err != nil || !reflect.DeepEqual(*got, c.want)):
			t.Errorf("%s: %+v, %v; want %+v", c.name, got, err, c.want)
		}
	}
}

func TestWeights(t *testing.T) {
	shard := func(name string) []byte {
		var b bytes.Buffer
		w, err := safetensors.NewWriter(&b, nil, []safetensors.TensorInfo{{Name: name, DType: "U8", Shape: []int{1}}})
		if err == nil {
			err = errors.Join(w.WriteTensor(name, []byte{7}), w.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	a, b := ShardFile(0, 2), ShardFile(1, 2)
	files := map[string][]byte{a: shard("x"), b: shard("y"), WeightsFile: shard("z"),
		IndexFile: []byte(`{"weight_map":{"x":"` + a + `","y":"` + b + `","gone":"` + b + `"}}`)}
	folder := folderOf(files)
	whole := files[WeightsFile]
	delete(files, WeightsFile)
	w, err := folder.Weights(folder)
	if err != nil || w.List() != IndexFile {
		t.Fatalf("%v, %v", w, err)
	}
	for _, c := range []struct{ tensor, file string }{{"x", a}, {"y", b}, {"gone", ""}, {"z", ""}} {
		got, file, err := w.Tensor(c.tensor)
		var in *FileError
		if ok := err == nil; ok != (c.file != "") || ok && (file != c.file || got.Name != c.tensor) || !ok && !errors.As(err, &in) {
			t.Errorf("%s: %+v in %s, %v", c.tensor, got, file, err)
		}
	}
	files[WeightsFile] = whole
	if w, err = folder.Weights(folder); err != nil || w.List() != WeightsFile {
		t.Fatalf("%v, %v", w, err)
	}
	if _, file, err := w.Tensor("z"); err != nil || file != WeightsFile {
		t.Errorf("z lies in %s, %v", file, err)
	}
	delete(files, WeightsFile)
	delete(files, IndexFile)
	if _, err = folder.Weights(folder); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without weights: %v", err)
	}
}

// FuzzChat reads arbitrary JSON as what surrounds a tokenizer.
func FuzzChat(f *testing.F) {
	f.Add([]byte(`{"eos_token":{"content":"</s>"},"pad_token":null,"chat_template":[{"name":"default","template":"x"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		files := map[string][]byte{TokenizerConfigFile: data}
		c, err := folderOf(files).Chat(listIn(files))
		if err != nil {
			return
		}
		size := 0
		for _, t := range c.Templates {
			size += len(t.Source)
		}
		if !json.Valid(data) || size > 3*len(data) { // U+FFFD takes three bytes
			t.Errorf("%q gives %+v", data, c)
		}
	})
}

// TestKeysMatchExactly has keys that differ in their case from those that are read, and what Python writes for numbers.
func TestKeysMatchExactly(t *testing.T) {
	const sizes = `"model_type":"llama","hidden_size":64,"intermediate_size":64,"num_attention_heads":4,"vocab_size":100,` +
		`"max_position_embeddings":64,"num_hidden_layers":2`
	for text, layers := range map[string]int{
		`{` + sizes + `}`:                                                                   2,
		`{` + sizes + `,"Num_Hidden_Layers":1}`:                                             2,
		`{` + sizes + `,"NUM_HIDDEN_LAYERS":1,"Vocab_Size":7}`:                              2,
		`{` + sizes + `,"initializer_range":NaN,"x":[Infinity,-Infinity]}`:                  2,
		`{` + sizes + `,"max_window_layers":4.0}`:                                           2,
		`{` + strings.Replace(sizes, `"num_hidden_layers"`, `"Num_hidden_layers"`, 1) + `}`: 0,
		`{` + sizes + `,"rms_norm_eps":NaN}`:                                                0,
		`{` + sizes + `,"head_dim":4.0}`:                                                    2,
		`{` + sizes + `,"head_dim":4.5}`:                                                    0,
		`{` + sizes + `,"head_dim":"4"}`:                                                    0,
		`{` + sizes + `,"alibi":true}`:                                                      0,
	} {
		folder := Folder(func(name string) ([]byte, error) {
			if name == ConfigFile {
				return []byte(text), nil
			}
			return nil, fs.ErrNotExist
		})
		c, err := folder.Config()
		if layers == 0 && err == nil || layers > 0 && (err != nil || c.Layers != layers || c.VocabSize != 100) {
			t.Errorf("%s: %+v, %v", text, c, err)
		}
	}
}

// TestShardsAndIndexDisagree has a tensor in no shard, in one or in two, and in each place of the index. All of a shard's tensors are read, and only
// two that differ are an error.
func TestShardsAndIndexDisagree(t *testing.T) {
	const none = 9
	for _, listed := range []string{"", "a.safetensors", "b.safetensors"} {
		for _, a := range []byte{none, 0} {
			for _, b := range []byte{none, 0, 1} {
				files := map[string][]byte{IndexFile: []byte(`{"weight_map":{"in a":"a.safetensors","in b":"b.safetensors"}}`),
					"a.safetensors": tensorFile(map[string]byte{"in a": 0, "x": a}, none), "b.safetensors": tensorFile(map[string]byte{"in b": 0, "x": b}, none)}
				if listed != "" {
					files[IndexFile] = []byte(`{"weight_map":{"in a":"a.safetensors","in b":"b.safetensors","x":"` + listed + `"}}`)
				}
				w, err := folderOf(files).Weights(folderOf(files))
				if differ := a == 0 && b == 1; differ || err != nil {
					if !differ || err == nil || !strings.Contains(err.Error(), "the tensor x is another one in ") {
						t.Errorf("%q, %d, %d: %v", listed, a, b, err)
					}
					continue
				}
				got, file, err := w.Tensor("x")
				want, value := listed, a
				if a == none {
					want, value = "b.safetensors", b
				} else if b == none || listed == "" {
					want = "a.safetensors"
				}
				if value == none {
					if err == nil || !strings.Contains(err.Error(), "the tensor x") {
						t.Errorf("%q: a tensor that no file has: %v", listed, err)
					}
				} else if err != nil || file != want || got.Data[0] != value || !slices.Contains(w.Names(), "x") {
					t.Errorf("%q, %d, %d: %v of %s, %v", listed, a, b, got, file, err)
				}
			}
		}
	}
}

// tensorFile returns a safetensors file of numbers with these first bytes. Those of a certain value are left out.
func tensorFile(values map[string]byte, without byte) []byte {
	header, data := "{", []byte(nil)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if values[name] == without {
			continue
		}
		if len(data) > 0 {
			header += ","
		}
		header += fmt.Sprintf(`%q:{"dtype":"F32","shape":[1],"data_offsets":[%d,%d]}`, name, len(data), len(data)+4)
		data = append(data, values[name], 0, 0, 0)
	}
	header += "}"
	return slices.Concat(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), []byte(header), data)
}

// TestTie has folders with and without an output head and a table of embeddings. The configuration ties the two, or not.
func TestTie(t *testing.T) {
	const none, head, table = 9, "lm_head.weight", "model.embed_tokens.weight"
	for _, h := range []byte{none, 0, 1} {
		for _, e := range []byte{none, 0} {
			for _, tied := range []bool{false, true} {
				files := map[string][]byte{WeightsFile: tensorFile(map[string]byte{head: h, table: e, "model.norm.weight": 0}, none)}
				w, err := folderOf(files).Weights(folderOf(files))
				if err != nil {
					t.Fatal(err)
				}
				c := &model.Config{TiedEmbeddings: tied}
				c.Family = "llama"
				w.Tie(c)
				if want := tied && (h != 1 || e == none); c.TiedEmbeddings != want {
					t.Errorf("head %d, table %d, tied %t: then %t", h, e, tied, c.TiedEmbeddings)
				}
				want := e
				if tied && e == none {
					want = h
				}
				got, _, err := w.Tensor(table)
				if (err == nil) != (want != none) || err == nil && (got.Data[0] != want || !slices.Contains(w.Names(), table)) {
					t.Errorf("head %d, table %d, tied %t: the table is %v, %v", h, e, tied, got, err)
				}
			}
		}
	}
}

// TestWhichFilesHaveTheWeights makes folders of every selection of files with weights: those that transformers would read are read, and the others are left
// over. Each file has a tensor of its own.
func TestWhichFilesHaveTheWeights(t *testing.T) {
	one := func(name string) []byte {
		header := fmt.Sprintf(`{%q:{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, name)
		return append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...), 0, 0, 0, 0)
	}
	const shard, own = "model-00001-of-00001.safetensors", "mine.safetensors"
	all := map[string][]byte{
		WeightsFile: one("whole"), IndexFile: []byte(`{"weight_map":{"sharded":"` + shard + `"}}`), shard: one("sharded"), "consolidated.safetensors": one("consolidated"),
		"pytorch_model.bin": nil, "adapter_model.safetensors": one("adapter"), AdapterConfigFile: []byte("{}"), own: one("own"), "README.md": nil,
		"mine.safetensors.index.json": []byte(`{"weight_map":{"own":"` + own + `"}}`), "model.Q4_0.gguf": nil,
	}
	names := slices.Sorted(maps.Keys(all))
	tried := map[string]int{}
	for selected := range 1 << len(names) {
		for _, explicit := range []string{"", own, "mine.safetensors.index.json"} {
			files := map[string][]byte{ConfigFile: []byte(`{}`)}
			if explicit != "" {
				files[ConfigFile] = []byte(`{"transformers_weights":"` + explicit + `"}`)
			}
			var there []string
			for i, name := range names {
				if selected>>i&1 != 0 {
					files[name], there = all[name], append(there, name)
				}
			}
			has := func(name string) bool { return files[name] != nil }
			want, read := "", []string{explicit}
			switch {
			case explicit == own && has(own), explicit != "" && explicit != own && has(explicit) && has(own):
				want, read = "own", append(read, own)
			case explicit != "":
			case has(WeightsFile):
				want, read = "whole", append(read, WeightsFile)
			case has(IndexFile) && has(shard):
				want, read = "sharded", append(read, IndexFile, shard)
			}
			folder := Folder(func(name string) ([]byte, error) {
				if data, ok := files[name]; ok {
					return data, nil
				}
				return nil, fs.ErrNotExist
			})
			w, err := folder.Weights(folder)
			tried[want]++
			if err != nil {
				if want != "" {
					t.Fatalf("%v, %s: %v", there, explicit, err)
				}
				continue
			}
			if got := w.fileNames(); want == "" || !slices.Equal(got, []string{want}) {
				t.Fatalf("%v, %s: tensors %v, want %s", there, explicit, got, want)
			}
			var left, over []string
			for _, i := range w.Leftovers(there) {
				left = append(left, i.Name)
			}
			for _, name := range there {
				if name != "README.md" && !slices.Contains(read, name) {
					over = append(over, name)
				}
			}
			if !slices.Equal(left, over) {
				t.Fatalf("%v, %s: left over are %v, want %v", there, explicit, left, over)
			}
		}
	}
	if len(tried) != 4 {
		t.Errorf("tried %v", tried)
	}
}
