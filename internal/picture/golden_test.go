package picture

import (
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// pillows are the pictures of testdata as Pillow decodes them.
func pillows(t testing.TB, folder string) map[string]*RGB {
	t.Helper()
	f, err := os.Open(filepath.Join(folder, "golden.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unpacked, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var golden map[string]struct {
		Width, Height int
		RGB           string
	}
	if err := json.NewDecoder(unpacked).Decode(&golden); err != nil {
		t.Fatal(err)
	}
	pictures := map[string]*RGB{}
	for name, g := range golden {
		r, err := zlib.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(g.RGB)))
		if err != nil {
			t.Fatal(err)
		}
		pix, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		pictures[name] = &RGB{g.Width, g.Height, pix}
	}
	return pictures
}

// TestPicturesArePillows compares each file of testdata with Pillow's pixels. They are equal, but for JPEG, which may differ in the last bit
// of the cosine transform: a step of each component, which the conversion to RGB adds up.
func TestPicturesArePillows(t *testing.T) {
	pictures := pillows(t, "testdata")
	for _, name := range slices.Sorted(maps.Keys(pictures)) {
		want := pictures[name]
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		header, err := Inspect(data, DefaultLimits())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, err := Decode(data, DefaultLimits())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got.Width != want.Width || got.Height != want.Height || header.Width != want.Width || header.Height != want.Height {
			t.Errorf("%s: %d×%d pixels, the header says %d×%d, Pillow %d×%d", name, got.Width, got.Height, header.Width, header.Height, want.Width, want.Height)
			continue
		}
		worst, differ := 0, 0
		for i, v := range want.Pix {
			if d := max(int(v)-int(got.Pix[i]), int(got.Pix[i])-int(v)); d > 0 {
				worst, differ = max(worst, d), differ+1
			}
		}
		allowed := 0
		if header.Format == "JPEG" {
			allowed = 3
		}
		if worst > allowed {
			t.Errorf("%s: %d of %d values differ, by %d at most", name, differ, len(want.Pix), worst)
		} else if worst > 0 {
			t.Logf("%s: %d of %d values differ, by %d at most", name, differ, len(want.Pix), worst)
		}
	}
}
