package llama

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/antigravity-go/antigravity/internal/fixture"
)

// found is an entity of the golden file: label, first byte, the byte after its last one, and score.
type found struct {
	label      string
	start, end int
	score      float64
}

func (f *found) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[]any{&f.label, &f.start, &f.end, &f.score})
}

// TestEntitiesEqualPipeline compares entities with those of transformers' pipeline, for texts of emoji, combining marks, CJK and other characters that
// tokenizers change, split or leave out. Of models with labels that end entities, E- and S-, tokens are compared alone: the pipeline does not know these marks.
func TestEntitiesEqualPipeline(t *testing.T) {
	packed, err := os.ReadFile("testdata/entities.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	data, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Texts    []string
		Places   map[string][][][2]int
		Entities map[string]map[string][][]found
	}
	if err := json.NewDecoder(data).Decode(&golden); err != nil {
		t.Fatal(err)
	}
	ways := map[string]Joining{"none": JoinNothing, "simple": JoinTokens, "first": JoinFirst, "average": JoinMean, "max": JoinMax}
	for name, strategies := range golden.Entities {
		m := mustLoad(t, fixture.Path(t, "families/"+name), nil)
		for i, text := range golden.Texts {
			_, spans, err := m.tokenizer.places(text)
			if err != nil || len(spans) != len(golden.Places[name][i]) {
				t.Fatalf("%s: %q has %d tokens, want %d, %v", name, text, len(spans), len(golden.Places[name][i]), err)
			}
			for j, want := range golden.Places[name][i] {
				if got := [2]int{int(spans[j].Start), int(spans[j].End)}; got != want {
					t.Errorf("%s: %q: token %d is at %v, want %v", name, text, j, got, want)
				}
			}
		}
		for strategy, all := range strategies {
			for i, want := range all {
				got, err := ways[strategy].Entities(t.Context(), m, golden.Texts[i])
				if err != nil {
					t.Fatal(err)
				}
				if len(got) != len(want) {
					t.Errorf("%s: %s of %q: %d entities, want %d\n got %v\nwant %v", name, strategy, golden.Texts[i], len(got), len(want), got, want)
					continue
				}
				for j, e := range got {
					if w := want[j]; e.Label != w.label || e.Start != w.start || e.End != w.end || math.Abs(float64(e.Score)-w.score) > 1e-4 {
						t.Errorf("%s: %s of %q: entity %d is %v, want %v", name, strategy, golden.Texts[i], j, e, w)
					}
				}
			}
		}
	}
}
