package checkpoint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/bpe"
	"github.com/antigravity-go/antigravity/internal/checkpoint/families"
	"github.com/antigravity-go/antigravity/internal/model"
)

// TestFactsStandOnce looks through the strings of the module's programs and packages for what only this package, or package bpe
// below it, should say: the names of tensors, of GGUF's keys and of a folder's files, and Llama 3's split rule.
func TestFactsStandOnce(t *testing.T) {
	whole := map[string]bool{bpe.Llama3Pattern: true, families.DivisorsGGUF: true, "output.weight": true}
	for _, text := range []string{
		ConfigFile, GenerationFile, TokenizerFile, TokenizerConfigFile, TemplateFile, ModulesFile, PoolingFile, TextsFile, PromptsFile, WeightsFile, IndexFile, AdapterConfigFile, AdapterWeightsFile,
		ArchitectureKey, NameKey, FileTypeKey, QuantizationVersionKey, TokenizerModelKey, SplitRuleKey, TokensKey, ScoresKey,
		TokenTypesKey, MergesKey, BOSKey, EOSKey, EndOfTurnKey, EndOfMessageKey, UnknownKey, PaddingKey, AddBOSKey, AddEOSKey, AddSEPKey, AddSpacePrefixKey,
		TypeCountKey, CharsmapKey, SEPKey, CLSKey, MaskKey, MergeSpacesKey, LowerKey, StripAccentsKey, WholeTokenizerKey,
		TemplateKey, AdapterTypeKey, AdapterAlphaKey,
	} {
		whole[text] = true
	}
	for _, key := range []string{"block_count", "context_length", "embedding_length", "feed_forward_length", "attention.head_count", "attention.head_count_kv", "attention.key_length"} {
		whole["llama."+key] = true
	}
	var inside []string // of longer strings too
	for p := range model.NumParts {
		folder, file := families.Names(p)
		if p < model.OutputHead && p != model.PerLayerUp { // what GGUF calls output, cls and proj, and folders linear, others may call other things
			inside = append(inside, file)
		}
		if p != model.PooledDense {
			inside = append(inside, folder)
		}
	}
	files := 0
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		slashed := filepath.ToSlash(path)
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (slashed == "../../internal/checkpoint" || slashed == "../../internal/bpe" || entry.Name() == "testdata"),
			slashed == "../../internal/fixture", // which this package's tests import, so that it cannot import this package
			entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && entry.Name() != "..":
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		files++
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(literal.Value)
			known := err == nil && whole[text]
			for _, name := range inside {
				known = known || strings.Contains(text, name)
			}
			if known {
				t.Errorf("%v: %.60q is known to package checkpoint: take it from there", set.Position(literal.Pos()), text)
			}
			return true
		})
		return nil
	})
	if err != nil || files < 100 {
		t.Fatalf("%d files, %v", files, err)
	}
}
