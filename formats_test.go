package antigravity

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// mostPlaces bounds the files that a block format is named in.
const mostPlaces = 18

// sharedPlaces are the files that name every block format.
var sharedPlaces = []string{
	"README.md",
	"asm/README.md",
	"asm/internal/panels/arm64/unpack_arm64.s",
	"asm/internal/panels/arm64/unpacked_arm64.go",
	"asm/internal/panels/layout.go",
	"backend/opencl/kernels/formats.cl",
	"backend/opencl/kernels/split.cl",
	"backend/opencl/kernels/widen.cl",
	"backend/opencl/weights.go",
	"examples/tools/mkmodel/random.go",
	"examples/tools/quantize/README.md",
	"examples/tools/quantize/recipe.go",
	"quant/format.go",
	"quant/quant_test.go",
	"tensor/dtype.go",
}

// ownPlaces are, for a format with blocks of 32 and for one with blocks of 256, the name in any spelling and the files that name it besides
// the shared ones. Other formats are named in comments, examples and tests as well, these two nowhere else.
var ownPlaces = []struct {
	name  *regexp.Regexp
	files []string
}{
	{regexp.MustCompile(`(?i)q5_?1`), []string{"asm/asmgen/panels_32_formats.go", "quant/blocks32.go"}},
	{regexp.MustCompile(`(?i)iq4_?xs`), []string{"asm/asmgen/panels_groups.go", "asm/asmgen/panels_groups_scales.go", "quant/nonlinear.go"}},
}

// TestFormatsStandInFewPlaces finds the files that name a block format. What a file says of all formats it takes from the table in package
// quant, so that a new format does not touch it; the guide in asm/README.md has the others.
func TestFormatsStandInFewPlaces(t *testing.T) {
	guide, err := os.ReadFile("asm/README.md")
	if err != nil {
		t.Fatal(err)
	}
	found := make([][]string, len(ownPlaces))
	err = filepath.WalkDir(".", func(file string, entry fs.DirEntry, err error) error {
		file = filepath.ToSlash(file)
		switch {
		case err != nil:
			return err
		case entry.IsDir() && file != "." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata" || file == "internal/fixture/data"):
			return filepath.SkipDir
		case !entry.Type().IsRegular() || file == "formats_test.go" || file == "BENCHMARKS.md" || entry.Name() == "go.sum": // figures are of what there was when they were measured
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if bytes.IndexByte(text, 0) >= 0 || bytes.Contains(text[:min(len(text), 200)], []byte("Code generated")) {
			return nil
		}
		for i, format := range ownPlaces {
			if format.name.Match(text) {
				found[i] = append(found[i], file)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, format := range ownPlaces {
		places := slices.Concat(sharedPlaces, format.files)
		if len(places) > mostPlaces {
			t.Errorf("%v may be named in %d files: the most are %d", format.name, len(places), mostPlaces)
		}
		for _, file := range found[i] {
			if !slices.Contains(places, file) {
				t.Errorf("%s names %v: let it go through quant.Formats or tensor.WeightTypes, or take another format as an example; "+
					"if a new format cannot do without a line there, add the file here and to the guide in asm/README.md", file, format.name)
			}
		}
		for _, file := range places {
			if !slices.Contains(found[i], file) {
				t.Errorf("%s does not name %v any more: take it off the list", file, format.name)
			}
			if !bytes.Contains(guide, []byte(file)) {
				t.Errorf("the guide in asm/README.md leaves out %s", file)
			}
		}
	}
}
