package main

import (
	"context"
	"io"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/llama"
)

// names finds words with capital letters, as a model might.
func names(_ context.Context, text string) (list []llama.Entity, _ error) {
	for _, at := range regexp.MustCompile(`[A-Z][a-zé]*( [A-Z][a-zé]*)*`).FindAllStringIndex(text, -1) {
		list = append(list, llama.Entity{Label: "PER", Start: at[0], End: at[1], Score: 0.9})
	}
	return list, nil
}

func TestMasks(t *testing.T) {
	text := strings.Repeat("the letter of Ada Lovelace to José and 東京 goes on\n", 100)
	for mask, want := range map[string]string{"": "the letter of [PER] to [PER] and 東京 goes on\n", "x": "the letter of xxxxxxxxxxxx to xxxx and 東京 goes on\n"} {
		for name, in := range map[string]io.Reader{"whole": strings.NewReader(text), "bytes": iotest.OneByteReader(strings.NewReader(text)),
			"data with the end": iotest.DataErrReader(strings.NewReader(text))} {
			var out strings.Builder
			r := &redactor{find: names, out: &out, mask: mask, block: 512, counts: map[string]int{}}
			if err := r.copy(t.Context(), in); err != nil {
				t.Fatal(err)
			}
			if out.String() != strings.Repeat(want, 100) || r.counts["PER"] != 200 {
				t.Errorf("%s, mask %q: %d masks, %q", name, mask, r.counts["PER"], out.String())
			}
		}
	}
}

func TestSelections(t *testing.T) {
	for want, r := range map[string]*redactor{"[PER] here": {}, "Ada here": {labels: []string{"LOC"}}, "Ada  here": {least: 0.95}} {
		var out strings.Builder
		r.find, r.out, r.block, r.counts = names, &out, 512, map[string]int{}
		in := strings.ReplaceAll(want, "[PER]", "Ada")
		if err := r.copy(t.Context(), strings.NewReader(in)); err != nil || out.String() != want {
			t.Errorf("%q, %v; want %q", out.String(), err, want)
		}
	}
}

// Texts without words, and entities longer than blocks, come through whole.
func TestOddTexts(t *testing.T) {
	for _, text := range []string{"", "x", strings.Repeat("東", 1000), strings.Repeat("é\xff", 800), strings.Repeat(" ", 3000)} {
		var out strings.Builder
		r := &redactor{find: names, out: &out, block: 256, counts: map[string]int{}}
		if err := r.copy(t.Context(), strings.NewReader(text)); err != nil || out.String() != text {
			t.Errorf("%.20q of %d bytes: %d bytes come out, %v", text, len(text), out.Len(), err)
		}
	}
	var out strings.Builder
	r := &redactor{find: names, out: &out, block: 256, counts: map[string]int{}}
	if err := r.copy(t.Context(), strings.NewReader("A"+strings.Repeat("a", 2000)+" b")); err != nil || strings.Contains(out.String(), "a") || out.String() != "[PER] b" {
		t.Errorf("%q, %v", out.String(), err)
	}
}

func TestModels(t *testing.T) {
	text := strings.Repeat("How much wood would a woodchuck chuck? 東京. ", 100)
	var first string
	for range 2 {
		var out, notes strings.Builder
		err := run(t.Context(), []string{"-model", fixture.Path(t, "families/tok-bert"), "-block", "1000"}, strings.NewReader(text), &out, &notes)
		if err != nil || out.String() == text || first != "" && out.String() != first || !strings.Contains(notes.String(), " × ") {
			t.Fatalf("%v, %q, %q", err, notes.String(), out.String())
		}
		first = out.String()
	}
	var out strings.Builder
	if err := run(t.Context(), []string{"-model", fixture.Path(t, "families/privacy-filter"), "-mask", "_"}, strings.NewReader(text), &out, io.Discard); err != nil || !strings.Contains(out.String(), "_") || len([]rune(out.String())) != len([]rune(text)) {
		t.Errorf("privacy-filter: %v, %q", err, out.String())
	}
	for _, args := range [][]string{{}, {"-model", fixture.Path(t, "families/cls-bert")}, {"-model", "x", "-block", "1"}} {
		if err := run(t.Context(), args, strings.NewReader(""), io.Discard, io.Discard); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}
