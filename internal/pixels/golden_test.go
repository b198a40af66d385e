package pixels

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/parallel"
	"github.com/antigravity-go/antigravity/internal/picture"
	"github.com/antigravity-go/antigravity/internal/safetensors"
)

// families are the fixtures, and the kinds that their files must be read as.
var families = []struct{ folder, kind string }{
	{"vl-qwen3vl", "qwen3vl"},
	{"vl-qwen35", "qwen3vl"},
	{"vl-glmocr", "glm4v"},
	{"vl-gemma4-e", "gemma4v"},
	{"vl-gemma4-dense", "gemma4v"},
	{"vl-gemma4-unified", "gemma4uv"},
	{"vl-gemma3", "gemma3"},
	{"vl-mistral3", "pixtral"},
	{"vl-lfm2", "lfm2"},
	{"vl-smolvlm", "idefics3"},
}

// golden are the results of transformers in a fixture.
type golden struct {
	t    testing.TB
	file *safetensors.File
}

func readGolden(t testing.TB, folder string) golden {
	t.Helper()
	data, err := os.ReadFile(fixture.Path(t, "families/"+folder+"/golden.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	file, err := safetensors.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return golden{t, file}
}

// words returns the 32-bit words of a tensor and its shape, nil if there is no such tensor.
func (g golden) words(name string) (words []uint32, shape []int) {
	stored, ok := g.file.Tensor(name)
	if !ok {
		return nil, nil
	}
	for b := stored.Data; len(b) > 0; b = b[4:] {
		words = append(words, binary.LittleEndian.Uint32(b))
	}
	return words, stored.Shape
}

// floats returns a tensor of numbers.
func (g golden) floats(name string) (values []float32, shape []int) {
	words, shape := g.words(name)
	for _, w := range words {
		values = append(values, math.Float32frombits(w))
	}
	return values, shape
}

// ints returns a tensor of integers.
func (g golden) ints(name string) (values []int) {
	words, _ := g.words(name)
	for _, w := range words {
		values = append(values, int(int32(w)))
	}
	return values
}

func readProcessor(t testing.TB, folder string) *Processor {
	t.Helper()
	read := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join(filepath.Dir(fixture.Path(t, "families/"+folder+"/golden.safetensors")), name))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return data
	}
	p, err := Read(Files{Preprocessor: read("preprocessor_config.json"), Processor: read("processor_config.json"), Config: read("config.json")})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// inOrder returns the values of a view as transformers has them: patches, or planes of colour for towers that begin with a convolution.
func inOrder(p *Processor, v View, values []float32) []float32 {
	if p.cut.last || p.cut.blocks {
		return values
	}
	side := p.cut.patch
	planes := make([]float32, 3*v.Width*v.Height)
	for i, value := range values {
		patch, at := i/p.PatchValues(), i%p.PatchValues()
		colour, y, x := at/(side*side), at/side%side, at%side
		y += patch / v.Columns * side
		x += patch % v.Columns * side
		planes[(colour*v.Height+y)*v.Width+x] = value
	}
	return planes
}

// TestPixelsAreTransformers compares the pictures of each fixture with the tensors that transformers gave the tower.
func TestPixelsAreTransformers(t *testing.T) {
	pool := parallel.New(2)
	defer pool.Close()
	for _, family := range families {
		t.Run(family.folder, func(t *testing.T) {
			p, g := readProcessor(t, family.folder), readGolden(t, family.folder)
			if p.Kind() != family.kind {
				t.Errorf("it is read as %s", p.Kind())
			}
			for i := range 3 {
				data, err := os.ReadFile(fixture.Path(t, fmt.Sprintf("families/%s/image.%d.png", family.folder, i)))
				if err != nil {
					t.Fatal(err)
				}
				rgb, err := picture.Decode(data, picture.DefaultLimits())
				if err != nil {
					t.Fatal(err)
				}
				values, err := p.Process(pool, rgb, 0)
				if err != nil {
					t.Fatal(err)
				}
				want, _ := g.floats(fmt.Sprintf("pixel_values.%d", i))
				compareViews(t, p, values, want, fmt.Sprintf("picture %d", i))

				name := func(s string) string { return fmt.Sprintf("%s.%d", s, i) }
				_, features := g.floats(name("image_features"))
				if n := values.Tokens(); n != features[0] {
					t.Errorf("picture %d: %d soft tokens, want %d", i, n, features[0])
				}
				v := values.Views[len(values.Views)-1]
				if grid := g.ints(name("grid")); grid != nil && fmt.Sprint(grid) != fmt.Sprint([]int{1, v.Rows, v.Columns}) {
					t.Errorf("picture %d: a grid of %d×%d, want %v", i, v.Rows, v.Columns, grid)
				}
				if sizes := g.ints(name("image_sizes")); sizes != nil && fmt.Sprint(sizes) != fmt.Sprint([]int{v.Height, v.Width}) {
					t.Errorf("picture %d: %d×%d pixels, want %v", i, v.Width, v.Height, sizes)
				}
				if tiles := g.ints(name("rows_cols")); tiles != nil && fmt.Sprint(tiles) != fmt.Sprint([]int{max(values.TileRows, tiles[0]&^-2), max(values.TileColumns, tiles[1]&^-2)}) {
					t.Errorf("picture %d: %d×%d tiles, want %v", i, values.TileRows, values.TileColumns, tiles)
				}
				if ids := g.ints(name("image_position_ids")); ids != nil {
					got := p.Positions(v)
					for j, id := range ids {
						if j < len(got) && int(got[j]) != id || j >= len(got) && id != -1 {
							t.Fatalf("picture %d: positions %v …, want %v …", i, got[:8], ids[:8])
						}
					}
				}
				for j, shapes := 0, g.ints(name("spatial_shapes")); j < len(shapes)/2; j++ {
					if v := values.Views[j]; v.Rows != shapes[2*j] || v.Columns != shapes[2*j+1] {
						t.Errorf("picture %d: view %d has %d×%d patches, want %v", i, j, v.Rows, v.Columns, shapes[2*j:2*j+2])
					}
				}
			}
		})
	}
}

// compareViews holds values to transformers', which may be padded with zeros: each value within a step of a byte, and the mean of the
// differences at most 1e-3.
func compareViews(t *testing.T, p *Processor, values *Values, want []float32, what string) {
	t.Helper()
	var step float64
	for _, levels := range p.levels {
		step = max(step, float64(levels[1])-float64(levels[0]))
	}
	from := values.Pixels
	views := len(values.Views)
	if len(want)%views != 0 {
		t.Fatalf("%s: %d values of transformers in %d views", what, len(want), views)
	}
	each := len(want) / views
	worst, sum, n, differ := 0.0, 0.0, 0, 0
	for _, v := range values.Views {
		size := v.Rows * v.Columns * p.PatchValues()
		part := want[:each]
		want = want[each:]
		for i, got := range inOrder(p, v, from[:size]) {
			d := math.Abs(float64(got) - float64(part[i]))
			worst, sum, n = max(worst, d), sum+d, n+1
			if d > 1e-6 {
				differ++
			}
		}
		from = from[size:]
		for _, padding := range part[size:] {
			if padding != 0 {
				t.Fatalf("%s: the view %+v has %d values, and transformers has more: %v", what, v, size, padding)
			}
		}
	}
	t.Logf("%s: the greatest difference is %.3g steps of a byte, the mean difference %.3g; %d of %d values differ", what, worst/step, sum/float64(n), differ, n)
	if worst > step*1.001 || sum/float64(n) > 1e-3 {
		t.Errorf("%s: the greatest difference is %.3g steps of a byte, the mean difference %.3g", what, worst/step, sum/float64(n))
	}
}
