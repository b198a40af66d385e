package main

import (
	"strings"
	"testing"
)

func TestOtherWordsFindTheSentence(t *testing.T) {
	for query, want := range map[string]string{
		"What noise does a dog make?":        "What sound does a cow make?",
		"Thanks a lot!":                      "Thank you for your help.",
		"Order 5, 2, 8 from small to large.": "Sort these numbers: 7, 3, 9.",
	} {
		var found strings.Builder
		if err := search(t.Context(), query, &found); err != nil {
			t.Fatal(err)
		}
		if first, _, _ := strings.Cut(found.String(), "\n"); !strings.HasSuffix(first, want) {
			t.Errorf("%q finds\n%s, want %q first", query, found.String(), want)
		}
	}
}
