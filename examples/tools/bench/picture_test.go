package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestPictures shows pictures to a model that sees, and refuses sizes that are no sizes.
func TestPictures(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-model", "opal", "-p", "0", "-n", "0", "-images", "64x64,100x80", "-r", "1", "-threads", "1"}, nil, &out, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"im64x64", "im100x80"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in %s", want, out.String())
		}
	}
	for _, bad := range []string{"64", "64x", "0x64", "64x9999", "axb"} {
		if err := run(t.Context(), []string{"-model", "opal", "-p", "0", "-n", "0", "-images", bad}, nil, &out, &out); err == nil || !strings.Contains(err.Error(), "640x426") {
			t.Errorf("-images %q: %v", bad, err)
		}
	}
}
