package keys

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/gguf"
)

// sizes is a configuration that walk goes over.
type sizes struct {
	layers, heads int
	feed          []int
	widest        int
	theta         float64
	tied          bool
	windowed      []bool
}

func (s *sizes) walk(k *Walk) {
	k.Int("num_hidden_layers", "block_count", &s.layers, 2)
	k.Int(k.First("num_heads", "n_head"), "head_count", &s.heads, 0)
	k.Sizes("intermediate_size", "feed_forward_length", &s.widest, &s.feed, 0)
	k.Float("rope_theta", "freq_base", &s.theta, 10000)
	k.Bool("tied", "tied", &s.tied, true)
	k.Bools("windowed", &s.windowed)
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	want := sizes{layers: 3, heads: 4, feed: []int{8, 16, 8}, widest: 16, theta: 500000, tied: false, windowed: []bool{true, false, true}}
	k := WriteFile("x.")
	want.walk(k)
	var got sizes
	got.walk(ReadFile(fileOf(t, k.Written()), "x."))
	if got.layers != 3 || got.heads != 4 || !slices.Equal(got.feed, want.feed) || got.widest != 16 || got.theta != 500000 || got.tied || !slices.Equal(got.windowed, want.windowed) {
		t.Errorf("%+v, want %+v", got, want)
	}
	k = WriteFolder()
	want.walk(k)
	data, err := k.JSON()
	if err != nil {
		t.Fatal(err)
	}
	if k, err = ReadFolder(data); err != nil {
		t.Fatal(err)
	}
	got = sizes{}
	if got.walk(k); k.Err() != nil || got.layers != 3 || got.heads != 4 || got.widest != 16 || got.theta != 500000 || got.tied {
		t.Errorf("%s: %+v, %v", data, got, k.Err())
	}
}

func TestFoldersAreReadStrictly(t *testing.T) {
	for text, wrong := range map[string]string{
		`{}`: "", `{"num_hidden_layers": null}`: "", `{"num_hidden_layers": 2.0, "n_head": 3}`: "", `{"unknown": "x"}`: "",
		`{"num_hidden_layers": "2"}`: "num_hidden_layers", `{"num_hidden_layers": 2.5}`: "num_hidden_layers", `{"rope_theta": []}`: "rope_theta", `{"tied": 1}`: "tied",
		`{"n_head": {}}`: "n_head", `{"intermediate_size": true}`: "intermediate_size",
	} {
		k, err := ReadFolder([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var s sizes
		s.walk(k)
		switch {
		case wrong == "" && (k.Err() != nil || s.layers != 2 || s.theta != 10000 || !s.tied):
			t.Errorf("%s: %+v, %v", text, s, k.Err())
		case wrong != "" && (k.Err() == nil || !strings.Contains(k.Err().Error(), wrong)):
			t.Errorf("%s: %v, want an error that names %s", text, k.Err(), wrong)
		}
	}
}

func TestUnreadKeysAreListed(t *testing.T) {
	f := fileOf(t, []gguf.KeyValue{{Key: "x.block_count", Value: gguf.ValueOf(uint32(1))}, {Key: "x.other", Value: gguf.ValueOf("y")}, {Key: "z.other", Value: gguf.ValueOf("y")}})
	k, s := ReadFile(f, "x."), sizes{}
	s.walk(k)
	for key := range k.UnreadKeys {
		if key != "other" {
			t.Errorf("%s is unread", key)
		}
	}
	k, err := ReadFolder([]byte(`{"num_hidden_layers": 1, "other": 7}`))
	if err != nil {
		t.Fatal(err)
	}
	if s.walk(k); k.Unread("num_hidden_layers") != nil || string(k.Unread("other")) != "7" || k.Unread("none") != nil {
		t.Error("other is not the only unread key")
	}
}

// fileOf is a GGUF file of metadata alone.
func fileOf(t *testing.T, list []gguf.KeyValue) *gguf.File {
	t.Helper()
	var file bytes.Buffer
	w, err := gguf.NewWriter(&file, list, nil)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	f, err := gguf.Parse(file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return f
}
