package llama

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/fixture"
)

// TestLongTextsInWindows classifies a text of several windows: the scores are those of its windows, merged by the definitions. Texts that the model takes as a
// whole have the scores that Classify gives them.
func TestLongTextsInWindows(t *testing.T) {
	m := mustLoad(t, fixture.Path(t, "families/cls-bert"), nil)
	long, short := strings.Repeat("The quick brown fox, naïve café 😀 東京. ", 40), "a fox"
	tokens := m.tokenizer.Encode(long)
	room := m.LongestText() - 2
	windows := windowsOf(len(tokens), room)
	if len(windows) < 3 {
		t.Fatalf("%d windows", len(windows))
	}
	l := labelling{model: m}
	for _, w := range windows {
		whole := append([]Token(nil), m.tokenizer.EncodeWhole("")...)
		l.texts = append(l.texts, append(append(whole[:1:1], tokens[w.start:w.end]...), whole[1:]...))
	}
	each, err := l.labels(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	alone, err := m.Classify(t.Context(), short)
	if err != nil {
		t.Fatal(err)
	}
	for _, way := range []Windows{MeanScores, BestScores} {
		got, err := way.Classify(t.Context(), m, long, short)
		if err != nil {
			t.Fatal(err)
		}
		again, err := way.Classify(t.Context(), m, short, long)
		if err != nil || !reflect.DeepEqual(again[1], got[0]) || !reflect.DeepEqual(got[1], alone[0]) {
			t.Errorf("way %d: %v, then %v, %v", way, got, again, err)
		}
		for i, label := range got[0] {
			want, end := 0.0, 0
			for n, w := range windows {
				if score := float64(each[n][i].Score); way == BestScores {
					want = max(want, score)
				} else {
					want += score * float64(w.end-end) / float64(len(tokens))
				}
				end = w.end
			}
			if label.Name != each[0][i].Name || math.Abs(float64(label.Score)-want) > 1e-6 {
				t.Errorf("way %d: %+v, want %g", way, label, want)
			}
		}
	}
	var full *ContextFullError
	if _, err := NoWindows.Classify(t.Context(), m, long); !errors.As(err, &full) {
		t.Errorf("without windows: %v", err)
	}
	var param *ParamError
	if _, err := (BestScores + 1).Classify(t.Context(), m, long); !errors.As(err, &param) {
		t.Errorf("another way: %v", err)
	}
	if _, err := MeanScores.Classify(t.Context(), m, ""); err == nil && len(m.tokenizer.EncodeWhole("")) == 0 {
		t.Error("no tokens")
	}
	if _, err := MeanScores.Classify(t.Context(), mustLoad(t, fixture.Path(t, "families/tok-bert"), nil), long); !errors.Is(err, ErrUnsupported) {
		t.Errorf("a tagger: %v", err)
	}
}
