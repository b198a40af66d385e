package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/llama"
)

// small are schemas with known verdicts: those named right pass, and the tests of those named wrong expect the opposite of the truth.
const small = `
{"id":"right","schema":{"enum":["one","two",{"a":1}]},"tests":[{"valid":true,"data":"one"},{"valid":false,"data":"on"},{"valid":false,"data":"ones"},{"valid":true,"data":"two"}]}
{"id":"wrong, accepts","schema":{"enum":["one","two"]},"tests":[{"valid":true,"data":"one"},{"valid":false,"data":"two"},{"valid":true,"data":3}]}

{"id":"wrong, refuses","schema":{"const":"one"},"tests":[{"valid":true,"data":"ones"}]}
{"id":"no schema","schema":5,"tests":[{"valid":true,"data":5}]}`

func smallFile(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "small.jsonl")
	if err := os.WriteFile(path, []byte(small), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func maskbench(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out, stderr bytes.Buffer
	err := run(t.Context(), append(args, "-tokenizer", fixture.Path(t, "pebble/hf/tokenizer.json")), nil, &out, &stderr)
	if stderr.Len() > 0 {
		t.Log(stderr.String())
	}
	return out.String(), err
}

func TestVerdicts(t *testing.T) {
	out, err := maskbench(t, smallFile(t), "-json", "-forced", "-check", "20")
	if err == nil || !strings.Contains(err.Error(), "1 schemas accept") || !strings.Contains(err.Error(), "1 fail") {
		t.Errorf("error %v", err)
	}
	var got []string
	for d := json.NewDecoder(strings.NewReader(out)); d.More(); {
		var r result
		if err := d.Decode(&r); err != nil {
			t.Fatal(err)
		}
		got = append(got, r.ID+": "+r.Verdict)
		if r.ID == "right" && (r.Tokens == 0 || r.CompileUS <= 0 || len(r.MaskUS) < r.Tokens+2) {
			t.Errorf("%+v", r)
		}
	}
	want := []string{"right: pass", "wrong, accepts: accepts", "wrong, refuses: refuses", "no schema: error"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q\n%s", got, want, out)
	}
}

func TestTable(t *testing.T) {
	file := smallFile(t)
	other, _ := maskbench(t, file, "-json")
	path := filepath.Join(t.TempDir(), "other.jsonl")
	if err := os.WriteFile(path, []byte(other), 0o666); err != nil {
		t.Fatal(err)
	}
	out, err := maskbench(t, file, "-memory", "-forced", "-check", "2", "-compare", "other="+path)
	if err == nil {
		t.Error("a wrong verdict is no error")
	}
	fields := strings.Join(strings.Fields(out), " ")
	for _, want := range []string{
		"ours other schemas 4 4 pass 1 1 ", "accept what they must refuse 1 1", "refuse what they must accept 2 2", "fail otherwise 1 1",
		`wrong, accepts: test 1: accepts "two"`, "wrong, refuses: test 0, ",
	} {
		if !strings.Contains(fields, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
}

func TestPartOfAFile(t *testing.T) {
	for n, want := range map[int]int{0: 4, 1: 1, 2: 2, 3: 3, 4: 4, 9: 4} {
		got := 0
		for _, err := range schemas(smallFile(t), n) {
			if err != nil {
				t.Fatal(err)
			}
			got++
		}
		if got != want {
			t.Errorf("of 4 schemas at most %d: %d", n, got)
		}
	}
	out, err := maskbench(t, smallFile(t), "-id", "right", "-json")
	if err != nil || strings.Count(out, "\n") != 1 {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestMistakes(t *testing.T) {
	for _, args := range [][]string{{}, {"-n", "-1", "-file", "x"}, {"x", "-compare", "y"}, {"x", "y"}} {
		var usage *cli.UsageError
		if _, err := maskbench(t, args...); !errors.As(err, &usage) {
			t.Errorf("%q: %v", args, err)
		}
	}
	if _, err := maskbench(t, filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// liar is a matcher of the tokens 1, 2, 3 in this order with one false answer.
type liar struct {
	at  int
	lie string
}

func (l *liar) Allowed(s *llama.TokenSet) error {
	s.Clear()
	s.SetEnd(l.at == 3 || l.lie == "ends" && l.at == 1)
	if l.at < 3 && !(l.lie == "stuck" && l.at == 2) {
		s.Add(llama.Token(l.at + 1))
	}
	if l.lie == "allows" {
		s.Add(7)
	}
	return nil
}

func (l *liar) Accept(t llama.Token) error {
	if int(t) == l.at+1 && t <= 3 && l.lie != "refuses" || l.lie == "accepts" && t == 9 {
		l.at++
		return nil
	}
	return errors.New("not allowed")
}

func (l *liar) Forced(dst []llama.Token) []llama.Token {
	if l.lie == "foretells" {
		return append(dst, 2)
	}
	for t := l.at + 1; t <= 3 && l.lie != "stuck"; t++ {
		dst = append(dst, llama.Token(t))
	}
	return dst
}

func (l *liar) Clone() llama.Matcher {
	if l.lie == "shares" {
		return l
	}
	c := *l
	return &c
}

func TestCheckerFindsLies(t *testing.T) {
	tokenizer, err := llama.LoadTokenizer(fixture.Path(t, "pebble/hf/tokenizer.json"))
	if err != nil {
		t.Fatal(err)
	}
	for lie, want := range map[string]string{
		"": "", "allows": "is in the set", "refuses": "is in the set", "accepts": "not in the set, and accepted", "stuck": "stuck",
		"foretells": "not allowed", "shares": "is in the set", "ends": "may end",
	} {
		// Of so small a set all tokens are drawn.
		c := checker{tokenizer, llama.NewTokenSet(12), llama.NewTokenSet(12), rand.New(rand.NewPCG(1, 2)), 400}
		_, err := c.follow(&liar{lie: lie}, []llama.Token{1, 2, 3})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", lie, err, want)
		}
	}
}

// TestUsualVocabularyIsFound looks for the usual vocabulary from this folder, from one within it, and from outside the repository.
func TestUsualVocabularyIsFound(t *testing.T) {
	want := fixture.Path(t, "tokenizer/llama3-tokenizer.json.gz")
	if path, err := usual(); err != nil || path != want {
		t.Errorf("%s, %v; want %s", path, err, want)
	}
	t.Chdir(t.TempDir())
	if _, err := usual(); err == nil || !strings.Contains(err.Error(), "-tokenizer") {
		t.Errorf("outside the repository: %v", err)
	}
}
