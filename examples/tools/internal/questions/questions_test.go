package questions

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/llama"
	embedded "github.com/antigravity-go/antigravity/llama/pebble"
)

const example = `{"skill":"a","messages":[["user","1"]],"answer":"x"}

{"skill":"b_late","messages":[["user","2"],["assistant","ok"],["user","3"]],"answer":"y"}
{"skill":"a","messages":[["user","4"]],"answer":"z"}
`

func TestRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "q.jsonl.gz")
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(example))
	z.Close()
	if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		skills []string
		n      int
		want   string // skills with the answers of their questions
	}{
		{"the first of each", []string{"b_late", "a"}, 1, "b_late y, a x"},
		{"one skill", []string{"a"}, 5, "a x z"},
		{"a skill named twice", []string{"a", "a"}, 2, "a x z"},
		{"all skills", nil, 2, "a x z, b_late y"},
	} {
		found, err := Read(path, c.skills, c.n)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var got []string
		for _, s := range found {
			text := s.Name
			for _, q := range s.Questions {
				text += " " + q.Answer
				if q.Late() != (s.Name == "b_late") {
					t.Errorf("%s: late is %v", s.Name, q.Late())
				}
			}
			got = append(got, text)
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestReadMistakes(t *testing.T) {
	skills := new(strings.Builder)
	for i := range maxSkills + 1 {
		skills.WriteString(`{"skill":"` + strings.Repeat("x", i) + `","messages":[["user","1"]],"answer":"x"}` + "\n")
	}
	for _, c := range []struct {
		name, lines string
		skills      []string
		n           int
		want        string
	}{
		{"no JSON", "{", []string{"a"}, 1, "line 1"},
		{"no answer", `{"skill":"a","messages":[["user","1"]]}`, []string{"a"}, 1, "answer"},
		{"another skill", `{"skill":"c","messages":[["user","1"]],"answer":"x"}`, []string{"a"}, 1, "others are c"},
		{"an endless line", strings.Repeat("x", maxLine+1), []string{"a"}, 1, "too long"},
		{"nothing", "\n", nil, 1, "no question"},
		{"none asked for", example, nil, 0, "at least 1"},
		{"too many skills", skills.String(), nil, 1, "name those"},
	} {
		if _, err := scan(strings.NewReader(c.lines), c.skills, c.n); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one that has %q", c.name, err, c.want)
		}
	}
	if _, err := Read("no/such.jsonl", nil, 1); err == nil || !strings.Contains(err.Error(), "no/such.jsonl") {
		t.Errorf("no such file: error %v", err)
	}
}

// TestAnswered asks Pebble its own questions with the right answer, and with one that is longer.
func TestAnswered(t *testing.T) {
	model, err := embedded.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	skills, err := Read(Pebble, []string{"capital", "needle_late50"}, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range skills {
		for _, more := range []string{"", "."} {
			q := s.Questions[0]
			q.Answer += more
			p, err := q.Render(model.Tokenizer())
			if err != nil {
				t.Fatal(err)
			}
			session, err := model.NewSession(&llama.SessionOptions{Capacity: p.Tokens()})
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			if err := session.Prefill(t.Context(), p.Before); err != nil {
				t.Fatal(err)
			}
			if right, err := p.Answered(t.Context(), session); err != nil || right != (more == "") {
				t.Errorf("%s, %q: right is %v, error %v", s.Name, q.Answer, right, err)
			}
			if late := len(p.After) > 0; late != q.Late() {
				t.Errorf("%s: %d tokens after the eviction", s.Name, len(p.After))
			}
		}
	}
}

func FuzzScanQuestions(f *testing.F) {
	f.Add([]byte(`{"skill":"a","messages":[["user","1"]],"answer":"x"}`))
	f.Add([]byte("\n\n{}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, skills := range [][]string{{"a"}, nil} {
			found, err := scan(bytes.NewReader(data), skills, 2)
			if err == nil && (len(found) == 0 || skills != nil && len(found) != 1) {
				t.Errorf("%d skills", len(found))
			}
			for _, s := range found {
				if len(s.Questions) < 1 || len(s.Questions) > 2 {
					t.Errorf("%s: %d questions, want 1 or 2", s.Name, len(s.Questions))
				}
			}
		}
	})
}
