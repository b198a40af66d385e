package infer

import (
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
)

// Labels and entities are those of the model, long texts and ways to join included. A wrong element is a failure.
func TestClassify(t *testing.T) {
	labels, tags := Model{Path: fixture.Path(t, "families/cls-bert")}, Model{Path: fixture.Path(t, "families/tok-bert")}
	long := strings.Repeat("The quick brown fox 😀. ", 60)
	seen, _ := runPipeline(t, func(s beam.Scope) {
		classified, failures := Classify(s, labels, beam.CreateList(s, []LongText{{ID: "one", Text: "A fox."}, {ID: "pair", Text: "A fox.", Pair: "A dog."},
			{ID: "mean", Text: long, Long: "mean"}, {ID: "long", Text: long}, {ID: "way", Text: long, Long: "cut"}, {ID: "both", Text: "a", Pair: "b", Long: "best"}}))
		beam.ParDo0(s, takeLabels, classified)
		beam.ParDo0(s, takeFailure, failures)
		found, none := FindEntities(s, tags, beam.CreateList(s, []Passage{{ID: "usual", Text: long}, {ID: "max", Text: long, Join: "max"}, {ID: "join", Text: "a", Join: "last"}}))
		beam.ParDo0(s, takeEntities, found)
		beam.ParDo0(s, takeFailure, none)
	})
	open := func(spec Model) *llama.Model {
		l, release, _, err := loadedModels.use(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(release)
		return l.model
	}
	model, tagger := open(labels), open(tags)
	one, err1 := model.Classify(t.Context(), "A fox.")
	pair, err2 := model.ClassifyPairs(t.Context(), [2]string{"A fox.", "A dog."})
	mean, err3 := llama.MeanScores.Classify(t.Context(), model, long)
	for id, want := range map[string][][]llama.Label{"one": one, "pair": pair, "mean": mean} {
		got, ok := seen[id][0].(Labels)
		if !ok || err1 != nil || err2 != nil || err3 != nil || len(got.Labels) != len(want[0]) {
			t.Fatalf("%s: %v, %v, %v, %v", id, seen[id], err1, err2, err3)
		}
		for i, l := range want[0] {
			if got.Labels[i] != (Label{l.Name, l.Score}) || l.Score > got.Labels[got.Best].Score {
				t.Errorf("%s: %v, want %v", id, got, want)
			}
		}
	}
	for id, way := range map[string]llama.Joining{"usual": llama.JoinUsual, "max": llama.JoinMax} {
		want, err := way.Entities(t.Context(), tagger, long)
		got, ok := seen[id][0].(Entities)
		if !ok || err != nil || len(got.Entities) != len(want) {
			t.Fatalf("%s: %v, %v", id, seen[id], err)
		}
		for i, e := range want {
			if got.Entities[i] != (Entity{e.Label, e.Start, e.End, long[e.Start:e.End], e.Score}) {
				t.Errorf("%s: entity %d is %v, want %v", id, i, got.Entities[i], e)
			}
		}
	}
	for _, id := range []string{"long", "way", "both", "join"} {
		if f, ok := seen[id][0].(Failure); !ok || f.Error == "" {
			t.Errorf("%s: %v", id, seen[id])
		}
	}
}
