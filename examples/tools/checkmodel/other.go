package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/examples/tools/internal/importance"
	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/internal/mmap"
	"github.com/antigravity-go/antigravity/internal/safetensors"
	"github.com/antigravity-go/antigravity/llama"
)

// describeOther says what a file or a folder is that people take for a model; "" for what may be one, and for what llama.Inspect
// names itself.
func describeOther(path string) (words string) {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	if info.IsDir() {
		return otherFolder(path)
	}
	f, err := mmap.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	defer mmap.Catch(&err)() // the file may be cut short: then it is for others to say so
	return otherFile(path, f.Bytes())
}

// pickles end the names of files that PyTorch writes.
var pickles = []string{".bin", ".pt", ".pth", ".ckpt"}

// otherFolder is describeOther for a folder.
func otherFolder(dir string) string {
	has := func(name string) bool {
		info, err := os.Stat(filepath.Join(dir, name))
		return err == nil && info.Mode().IsRegular()
	}
	entries, _ := os.ReadDir(dir)
	ending := func(endings ...string) (names []string) {
		for _, e := range entries {
			if slices.Contains(endings, strings.ToLower(filepath.Ext(e.Name()))) {
				names = append(names, e.Name())
			}
		}
		return names
	}
	weights := has(checkpoint.WeightsFile) || has(checkpoint.IndexFile)
	switch {
	case has(checkpoint.ConfigFile) && weights:
		return ""
	case has(checkpoint.AdapterConfigFile):
		return adapterFolder(dir)
	case len(ending(".gguf")) > 1:
		return "several GGUF files, of which one has to be named: " + abridge(ending(".gguf"))
	case has(checkpoint.ConfigFile) && len(ending(pickles...)) > 0:
		return fmt.Sprintf("a model whose weights are in PyTorch's own files (%s), which are programs and not read: save it as safetensors, "+
			"by save_pretrained of transformers", abridge(ending(pickles...)))
	case has(checkpoint.TokenizerFile) && !has(checkpoint.ConfigFile) && !weights:
		return tokenizerAlone(dir)
	case has(checkpoint.ConfigFile) && !weights && len(ending(".safetensors")) > 0:
		return fmt.Sprintf("a configuration, and weights under other names than %s or those of its %s: %s", checkpoint.WeightsFile, checkpoint.IndexFile,
			abridge(ending(".safetensors")))
	case len(ending(".onnx")) > 0:
		return "a model in the ONNX format, which is not read: " + abridge(ending(".onnx"))
	case weights && !has(checkpoint.ConfigFile):
		return "weights without the " + checkpoint.ConfigFile + " that tells what they are"
	}
	return ""
}

// abridge joins the first few of the names; … stands for the others.
func abridge(names []string) string {
	if len(names) > 4 {
		return strings.Join(names[:4], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

// adapterFolder describes a LoRA adapter as PEFT writes it.
func adapterFolder(dir string) string {
	var c struct {
		Kind    string  `json:"peft_type"`
		Base    string  `json:"base_model_name_or_path"`
		Rank    int     `json:"r"`
		Alpha   float64 `json:"lora_alpha"`
		Modules any     `json:"target_modules"`
	}
	data, err := os.ReadFile(filepath.Join(dir, checkpoint.AdapterConfigFile))
	if err != nil || json.Unmarshal(data, &c) != nil {
		return "an adapter of PEFT, whose " + checkpoint.AdapterConfigFile + " cannot be read"
	}
	base := "a model that it does not name"
	if c.Base != "" {
		base = fmt.Sprintf("the model %q", c.Base)
	}
	return fmt.Sprintf("an adapter as PEFT writes it (%s of rank %d, alpha %g, for %v): it changes %s, and is loaded beside it", c.Kind, c.Rank, c.Alpha, c.Modules, base)
}

// tokenizerAlone describes a tokenizer without a model.
func tokenizerAlone(path string) string {
	k, err := llama.LoadTokenizer(path)
	if err != nil {
		return fmt.Sprintf("a tokenizer without a model, which does not load: %v", err)
	}
	return fmt.Sprintf("a tokenizer without a model: %d tokens, %d of them added", k.VocabSize(), len(k.AddedTokens()))
}

// maxJSON is the longest file, in bytes, that is tried as JSON.
const maxJSON = 64 << 20

// otherFile is describeOther for a file.
func otherFile(path string, data []byte) string {
	ext := strings.ToLower(filepath.Ext(path))
	if f, err := gguf.Parse(data); err == nil {
		return otherGGUF(f)
	}
	if f, err := safetensors.Parse(data); err == nil {
		bytes := 0
		for _, t := range f.Tensors() {
			bytes += len(t.Data)
		}
		return fmt.Sprintf("a safetensors file of %d tensors, %.1f MB: a model is the folder with it, its %s and its %s", len(f.Names()), float64(bytes)/mega,
			checkpoint.ConfigFile, checkpoint.TokenizerFile)
	}
	switch {
	case filepath.Base(path) == checkpoint.TokenizerFile:
		return tokenizerAlone(path)
	case ext == ".json" && len(data) < maxJSON && json.Valid(data):
		return fmt.Sprintf("JSON, perhaps a part of a model's folder: give the folder, %s", filepath.Dir(path))
	case ext == ".onnx", bytes.HasPrefix(data, []byte{8}) && bytes.Contains(data[:min(len(data), 256)], []byte("onnx")):
		return "a model in the ONNX format, which is not read"
	case slices.Contains(pickles, ext) && (bytes.HasPrefix(data, []byte("PK\x03\x04")) || bytes.HasPrefix(data, []byte{0x80})):
		return "weights as PyTorch writes them, which are programs and not read: save them as safetensors, by save_pretrained of transformers"
	case ext == ".dat" || ext == ".imatrix":
		if _, err := importance.Read(path); err == nil {
			return "an importance matrix, for quantize"
		}
	}
	return ""
}

// ggufTypes are the values of GGUF's general.type for files that are no models.
var ggufTypes = map[string]string{
	"imatrix": "an importance matrix in the GGUF format, for quantize",
	"mmproj":  "the part of a model that sees or hears, in the GGUF format: the model is another file",
	"vocab":   "a vocabulary without a model, in the GGUF format",
}

// otherGGUF is describeOther for a GGUF file.
func otherGGUF(f *gguf.File) string {
	if checkpoint.IsAdapter(f) {
		return "a LoRA adapter in the GGUF format: it changes a model, and is loaded beside it"
	}
	kind, _ := f.String(checkpoint.TypeKey)
	if words := ggufTypes[kind]; words != "" {
		return words
	}
	_, tokens := f.Value(checkpoint.TokensKey)
	if len(f.Tensors()) == 0 && tokens {
		return ggufTypes["vocab"]
	}
	return ""
}
