package runs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseRefuses(t *testing.T) {
	const good = `{"config":{"model":"m"},"repetition":1,%s}`
	for name, c := range map[string]struct{ text, want string }{
		"many objects":       {fmt.Sprintf(good, `"evictions":[{}`+strings.Repeat(",{}", maxObjects)+"]"), "objects"},
		"much text":          {fmt.Sprintf(good, `"error":"`+strings.Repeat("x", MaxFile)+`"`), "longer"},
		"a long name":        {fmt.Sprintf(good, `"machine":{"name":"`+strings.Repeat("x", maxLabels)+`"}`), "config or its machine"},
		"a time too large":   {fmt.Sprintf(good, `"seconds":1e308`), "time"},
		"an infinite time":   {fmt.Sprintf(good, `"seconds":1e999`), "1e999"},
		"tokens backwards":   {fmt.Sprintf(good, `"tokens":[1,0.5]`), "backwards"},
		"tokens too late":    {fmt.Sprintf(good, `"tokens":[1e10]`), "token 1"},
		"more right answers": {fmt.Sprintf(good, `"accuracy":[{"asked":1,"right":2}]`), "right answers"},
		"no repetition":      {`{"config":{"model":"m"},"repetition":0}`, "repetition"},
		"deep":               {strings.Repeat("[", 1<<20), "depth"},
	} {
		if _, err := Parse([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %.200v", name, err)
		}
	}
	if _, err := Parse(fmt.Appendf(nil, good, `"tokens":[0,5e-324]`)); err != nil {
		t.Error(err)
	}
	r := example()
	r.Tokens = []float64{0, 5e-324}
	if rate, ok := Metrics[0].Of(r); ok {
		t.Errorf("a rate of %v", rate)
	}
	r.Tokens = []float64{1, 0}
	if err := Folder(t.TempDir()).Write(r); err == nil {
		t.Error("a run is kept that cannot be read again")
	}
}

// In the place of a run's file there may be anything, and a results folder may be reached by a link.
func TestOtherThingsInPlaceOfFiles(t *testing.T) {
	root := t.TempDir()
	f := Folder(filepath.Join(root, "results"))
	r := example()
	if err := f.Write(r); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(root, "link")
	if err := os.Symlink(string(f), link); err != nil {
		t.Skip(err)
	}
	if list, err := Folder(link).All(); err != nil || len(list) != 1 {
		t.Errorf("through a link: %d runs, %v", len(list), err)
	}
	path := f.path(&r.Config, 1)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := makePipe(path); err != nil {
		t.Skip(err)
	}
	if got, err := f.Read(&r.Config, 1); err == nil || !strings.Contains(err.Error(), "remove it") {
		t.Errorf("of a pipe: %v, %v", got, err)
	}
	if list, err := f.All(); err != nil || len(list) != 0 {
		t.Errorf("beside a pipe: %v, %v", list, err)
	}
}
