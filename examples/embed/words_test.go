package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"Copy copies from src": "copy copies from src", "io.ReadAll(r)": "io readall read all r", "HTTP/2, UTF8 x2": "http 2 utf8 x2", "Überall größer": "überall größer", "": "",
		"ServeHTTP": "servehttp serve http",
	} {
		if got := strings.Join(words(text), " "); got != want {
			t.Errorf("%q has the words %q, want %q", text, got, want)
		}
	}
}

// TestRankWords checks that rare words count more than usual ones, and a word of a short text more than one of a long text.
func TestRankWords(t *testing.T) {
	texts := []string{"the cat and the dog", "the dog", "the bird", "the zebra and the cat and the dog and the bird", "fish"}
	for question, want := range map[string]string{"zebra": "[3]", "the dog": "[1 0 3 2]", "bird": "[2 3]", "whale": "[]", "fish of the sea": "[4 3 0 1 2]"} {
		got := []int{}
		for _, h := range rankWords(texts, question, 9) {
			got = append(got, h.at)
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%q finds %v, want %s", question, got, want)
		}
	}
	if got := rankWords(nil, "a", 3); len(got) != 0 {
		t.Errorf("among no texts: %v", got)
	}
}

func TestJoin(t *testing.T) {
	got := join(3, []hit{{at: 5}, {at: 1}, {at: 2}}, []hit{{at: 2}, {at: 7}, {at: 1}})
	if !slices.EqualFunc(got, []int{2, 1, 5}, func(h hit, at int) bool { return h.at == at }) { // 1/63+1/61, 1/62+1/63, 1/61
		t.Errorf("joined: %v", got)
	}
}

// TestSearchByWords searches without a model, and with both.
func TestSearchByWords(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, "a.txt", "Bananas are yellow.\n")
	write(t, folder, "b.txt", "What sound does a cow make?\n")
	write(t, folder, "c.txt", "Sort these numbers: 7, 3, 9.\n")
	must(t, "index", folder)
	out, notes, err := embed(t, "search", "yellow fruit", "-in", folder, "-by", "words")
	if err != nil || notes != "" || !strings.HasPrefix(out, "1. ") || !strings.Contains(out, "a.txt:1-1") || strings.Contains(out, "2. ") {
		t.Errorf("by words: %v\n%s%s", err, notes, out)
	}
	if out := must(t, "search", "What noise do yellow animals make?", "-in", folder, "-by", "both"); !strings.Contains(out, "3. ") || strings.Contains(out[:strings.Index(out, "3. ")], "c.txt") {
		t.Errorf("by both:\n%s", out)
	}
	if _, _, err := embed(t, "search", "x", "-in", folder, "-by", "smell"); err == nil || !strings.Contains(err.Error(), "vectors") {
		t.Errorf("by smell: %v", err)
	}
	if _, notes, err := embed(t, "search", "whale", "-in", folder, "-by", "words"); err != nil || !strings.Contains(notes, "no passage fits") {
		t.Errorf("nothing found: %v, %s", err, notes)
	}
}
