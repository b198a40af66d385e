package llama

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/antigravity-go/antigravity/internal/fixture"
)

// TestPlacesOfTokens compares the places of tokens with what Hugging Face's tokenizers say.
func TestPlacesOfTokens(t *testing.T) {
	data, err := os.ReadFile("testdata/places.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Texts  []string
		Places map[string][][][2]int32
	}
	if err := json.Unmarshal(data, &golden); err != nil {
		t.Fatal(err)
	}
	for name, want := range golden.Places {
		tokenizer, err := LoadTokenizer(fixture.Path(t, "families/"+name))
		if err != nil {
			t.Fatal(err)
		}
		for i, text := range golden.Texts {
			tokens, spans, err := tokenizer.places(text)
			if err != nil || !slices.Equal(tokens, tokenizer.Encode(text)) {
				t.Errorf("%s: %q: other tokens, %v", name, text, err)
			}
			got := make([][2]int32, len(spans))
			for j, s := range spans {
				got[j] = [2]int32{s.Start, s.End}
			}
			if !slices.Equal(got, want[i]) {
				t.Errorf("%s: %q\n got %v\nwant %v", name, text, got, want[i])
			}
		}
	}
}

// TestTagsAndEntities compares tags with the scores of transformers' logits, and entities with groups of these.
func TestTagsAndEntities(t *testing.T) {
	for _, name := range taggers {
		dir := fixture.Path(t, "families/"+name)
		m, g := mustLoad(t, dir, nil), readLabels(t, dir)
		before := len(m.tokenizer.EncodeSpecial("", true))
		for i, text := range g.texts {
			tags, err := m.Tags(t.Context(), text)
			if err != nil {
				t.Fatal(err)
			}
			tokens, spans, err := m.tokenizer.places(text)
			if err != nil || len(tags) != len(tokens) {
				t.Fatalf("%s: text %d has %d tags, %v", name, i, len(tags), err)
			}
			var want []Entity
			previous, count := "", 0.0
			for j, tag := range tags {
				numbers := g.logits[i][(before+j)*len(g.names):][:len(g.names)]
				labels := g.wantLabels(numbers)
				best := 0
				for k, l := range labels {
					if math.Abs(float64(l.Score-tag.Scores[k])) > 1e-4 {
						t.Errorf("%s: text %d, token %d: %s has %g, want %g", name, i, j, l.Name, tag.Scores[k], l.Score)
					}
					if l.Score > labels[best].Score {
						best = k
					}
				}
				if tag.Start != int(spans[j].Start) || tag.End != int(spans[j].End) {
					t.Errorf("%s: text %d, token %d is at %d to %d", name, i, j, tag.Start, tag.End)
				}
				kind := strings.TrimPrefix(strings.TrimPrefix(g.names[best], "B-"), "I-")
				if n := len(want); n > 0 && kind == previous && !strings.HasPrefix(g.names[best], "B-") {
					want[n-1].End, want[n-1].Score = tag.End, want[n-1].Score+labels[best].Score
					count++
				} else {
					if n > 0 {
						want[n-1].Score /= float32(count)
					}
					want, count = append(want, Entity{kind, tag.Start, tag.End, labels[best].Score}), 1
				}
				previous = kind
			}
			if m.config.Head.Path != nil { // other entities: TestPaths
				continue
			}
			want[len(want)-1].Score /= float32(count)
			want = slices.DeleteFunc(want, func(e Entity) bool { return e.Label == "O" })
			got, err := m.Entities(t.Context(), text)
			if err != nil || !slices.EqualFunc(got, want, func(a, b Entity) bool {
				return a.Label == b.Label && a.Start == b.Start && a.End == b.End && math.Abs(float64(a.Score-b.Score)) < 1e-4
			}) {
				t.Errorf("%s: text %d: %v, %v\nwant %v", name, i, got, err, want)
			}
		}
	}
}

// TestJoining joins tags of several ways to mark them.
func TestJoining(t *testing.T) {
	for _, c := range []struct{ labels, tags, want string }{
		{"O B-A I-A B-B I-B", "B-A I-A I-A O I-A B-A B-A I-B I-B", "A0-3 A4-5 A5-6 A6-7 B7-9"},
		{"O A B", "A A O B A", "A0-2 B3-4 A4-5"},
		{"O B-A I-A E-A S-A B-B I-B E-B S-B", "B-A E-A I-A S-A S-A B-A I-A E-B O E-A", "A0-2 A2-3 A3-4 A4-5 A5-7 B7-8 A9-10"},
		{"O B-A I-A L-A U-A", "B-A L-A L-A U-A I-A", "A0-2 A2-3 A3-4 A4-5"},
		{"O E-mail E-book", "E-mail E-mail E-book O", "E-mail0-2 E-book2-3"},
		{"O", "O O", ""},
	} {
		labels := strings.Fields(c.labels)
		j := newJoiner(labels)
		for i, tag := range strings.Fields(c.tags) {
			scores := make([]float32, len(labels))
			scores[slices.Index(labels, tag)] = 1
			j.add(&Tag{i, i + 1, scores})
		}
		var got []string
		for _, e := range j.entities() {
			if e.Score != 1 {
				t.Errorf("%s: the score is %g", c.tags, e.Score)
			}
			got = append(got, e.Label+string(rune('0'+e.Start))+"-"+map[bool]string{true: "10", false: string(rune('0' + e.End%10))}[e.End == 10])
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s is %s, want %s", c.tags, strings.Join(got, " "), c.want)
		}
	}
}

// TestWindows cuts texts of all lengths: every token has its scores from one window, in which it is not at an end that the text goes on after.
func TestWindows(t *testing.T) {
	for room := 1; room < 20; room++ {
		for n := 1; n < 70; n++ {
			next := 0
			for i, w := range windowsOf(n, room) {
				if w.first != next || w.first < w.start || w.last > w.end || w.end-w.start > room || w.last <= w.first {
					t.Fatalf("%d tokens, %d at a time: window %d is %+v", n, room, i, w)
				}
				if near := room / 4 / 2; i > 0 && w.first-w.start < near || w.end < n && w.end-w.last < near {
					t.Fatalf("%d tokens, %d at a time: window %d is %+v, too near to its end", n, room, i, w)
				}
				next = w.last
			}
			if next != n {
				t.Fatalf("%d tokens, %d at a time: %d have scores", n, room, next)
			}
		}
	}
}

// TestTagsOfLongTexts tags a text of several windows, alone and together with others.
func TestTagsOfLongTexts(t *testing.T) {
	m := mustLoad(t, fixture.Path(t, "families/tok-bert"), nil)
	text := strings.Repeat("The quick brown fox, naïve café 😀 東京. ", 40)
	all, err := m.Tags(t.Context(), text)
	if err != nil {
		t.Fatal(err)
	}
	tokens, _, err := m.tokenizer.places(text)
	room := m.LongestText() - 2
	if err != nil || len(all) != len(tokens) || len(tokens) < 2*room {
		t.Fatalf("%d tags of %d tokens, %v", len(all), len(tokens), err)
	}
	cut := all[len(m.tokenizer.Encode("x"))+room/2].Start
	short, err := m.Tags(t.Context(), text[:cut])
	if err != nil {
		t.Fatal(err)
	}
	if reflect.DeepEqual(short[0].Scores, all[0].Scores) {
		t.Error("the first token does not see what follows")
	}
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() {
			if again, err := m.Tags(t.Context(), text); err != nil || !reflect.DeepEqual(again, all) {
				t.Errorf("other tags, %v", err)
			}
		})
	}
	group.Wait()
	if tags, err := m.Tags(t.Context(), ""); len(tags) != 0 || err != nil {
		t.Errorf("no text: %v, %v", tags, err)
	}
	if _, err := mustLoad(t, fixture.Path(t, "families/cls-bert"), nil).Entities(t.Context(), "a"); !errors.Is(err, ErrUnsupported) {
		t.Errorf("a classifier: %v", err)
	}
}
