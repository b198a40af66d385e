package matrix

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
)

// shipped are the matrices that come with the program.
var shipped = os.DirFS("../../matrices")

// TestConfigs expands matrices. Each Config is listed by its differences.
func TestConfigs(t *testing.T) {
	for _, c := range []struct {
		name, file string
		want       []string // backend kv policy window protected prompt program
	}{
		{"nothing said", `{}`, []string{"cpu f16 none 0 0 256 "}},
		{"a single value for a list", `{"kv-type": "q8_0"}`, []string{"cpu q8_0 none 0 0 256 "}},
		{"a product", `{"backends": ["cpu", "opencl"], "kv-type": ["f32", "f16"]}`,
			[]string{"cpu f32 none 0 0 256 ", "cpu f16 none 0 0 256 ", "opencl f32 none 0 0 256 ", "opencl f16 none 0 0 256 "}},
		{"none has no window", `{"policies": ["none", "h2o"], "windows": [64, 128]}`,
			[]string{"cpu f16 none 0 0 256 ", "cpu f16 h2o 64 0 256 ", "cpu f16 h2o 128 0 256 "}},
		{"only sliding protects", `{"policies": ["sliding", "h2o"], "windows": 64, "protected": [0, 4]}`,
			[]string{"cpu f16 sliding 64 0 256 ", "cpu f16 sliding 64 4 256 ", "cpu f16 h2o 64 0 256 "}},
		{"skip", `{"backends": ["cpu", "opencl"], "prompts": [8, 16], "skip": ["backend=opencl,prompt=8", "backend=cpu, prompt=16"]}`,
			[]string{"cpu f16 none 0 0 8 ", "opencl f16 none 0 0 16 "}},
		{"skip either", `{"backends": ["cpu", "opencl"], "prompts": [8, 16, 32], "skip": "prompt=8,prompt=32,backend=opencl"}`,
			[]string{"cpu f16 none 0 0 8 ", "cpu f16 none 0 0 16 ", "cpu f16 none 0 0 32 ", "opencl f16 none 0 0 16 "}},
		{"a value twice", `{"prompts": [8, 8]}`, []string{"cpu f16 none 0 0 8 "}},
		{"programs", `{"programs": ["base=/old", "new="]}`, []string{"cpu f16 none 0 0 256 base", "cpu f16 none 0 0 256 new"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := Read(strings.NewReader(c.file))
			if err != nil {
				t.Fatal(err)
			}
			list, err := m.Configs()
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range list {
				got = append(got, fmt.Sprint(r.Backend, " ", r.KV, " ", r.Policy, " ", r.Window, " ", r.Protected, " ", r.Prompt, " ", r.Program))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestMistakes(t *testing.T) {
	for _, c := range []struct{ file, want string }{
		{``, "an object of JSON"},
		{`[]`, "an object of JSON"},
		{`{"model": "pebble"}`, `no key "model": there are models, weights`},
		{`{"models": "pebble", "models": "flint"}`, "occurs twice"},
		{`{"models": []}`, "at least one"},
		{`{"models": null}`, "not a string"},
		{`{"models": [["pebble"]]}`, "not a string"},
		{`{"models": ""}`, "must not be empty"},
		{`{"windows": "64"}`, "not a whole number"},
		{`{"windows": 64.5}`, "not a whole number"},
		{`{"windows": 1e300}`, "not a whole number"},
		{`{"windows": 0}`, "windows: 0 must be 1 to"},
		{`{"prompts": -1}`, "prompts: -1 must be"},
		{`{"generate": 0}`, "generate: 0 must be"},
		{`{"kv-type": "q9"}`, "must be one of [f32 f16 q8_0 q4_0]"},
		{`{"kv-type": ""}`, "must be one of"},
		{`{"weights": "q9"}`, "must be one of"},
		{`{"policies": "lru"}`, "must be one of none, sliding"},
		{`{"policies": "sliding", "windows": 4, "protected": 4}`, `skip "policy=sliding,window=4"`},
		{`{"skip": ["colour=red"]}`, "the axes are target, program, model"},
		{`{"skip": ["kv"]}`, "AXIS=VALUE"},
		{`{"skip": ["kv=f16"]}`, "leave every combination out"},
		{`{"programs": ["base"]}`, "LABEL=PATH"},
		{`{"programs": ["a b=x"]}`, "letters, digits"},
		{`{"programs": ["a=x", "a=y"]}`, "two have the label"},
		{`{"handicaps": -0.1}`, "must be 0 to 100"},
		{`{"handicaps": -0.0}`, "must be 0 to 100"},
		{`{"skills": ["capital"]}`, "questions"},
		{`{"profile": 1}`, "not true or false"},
		{`{"asked": 0, "questions": "x"}`, "asked: 0 must be"},
		{`{} {}`, "something follows"},
		{`{"models": "pebble"`, "EOF"},
		{`{"prompts": [` + strings.Repeat("1,", maxFile) + `1]}`, "no longer than"},
		{`{"prompts": ` + numbers(1000) + `, "generate": ` + numbers(1000) + `}`, "more than 100000 combinations"},
	} {
		if _, err := Read(strings.NewReader(c.file)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60s: error %v, want one with %q", c.file, err, c.want)
		}
	}
}

// numbers is a list of the numbers 1 to n.
func numbers(n int) string {
	list := make([]int, n)
	for i := range list {
		list[i] = i + 1
	}
	text, _ := json.Marshal(list)
	return string(text)
}

// parse makes a matrix of a command line.
func parse(args ...string) (*Matrix, error) {
	f := cli.NewFlags("suite", "")
	made := Flags(f, shipped)
	if err := f.Parse(args, io.Discard); err != nil {
		return nil, err
	}
	return made()
}

func TestFlagsReplaceTheFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "my.json")
	if err := os.WriteFile(file, []byte(`{"prompts": [8, 16], "kv-type": "q8_0", "weights": ["q4_0"], "skip": "prompt=8"}`), 0o666); err != nil {
		t.Fatal(err)
	}
	m, err := parse("-matrix", file, "-prompts", "8, 32,48", "-weights", "stored,q8_0", "-skip", "prompt=48", "-profile")
	if err != nil {
		t.Fatal(err)
	}
	want := standard()
	want.Prompts, want.KV, want.Weights, want.Skip, want.Profile = []int{8, 32, 48}, []string{"q8_0"}, []string{"", "q8_0"}, []string{"prompt=8", "prompt=48"}, true
	if !reflect.DeepEqual(m, want) {
		t.Errorf("%+v, want %+v", m, want)
	}
	for _, args := range [][]string{{"-matrix", "missing"}, {"-prompts", "x"}, {"-prompts", ""}, {"-models", ""}, {"-asked", "x"}, {"-profile=x"}} {
		if _, err := parse(args...); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}

// TestShipped expands the matrices that come with the suite, which must stay as large as the README says.
func TestShipped(t *testing.T) {
	for name, want := range map[string]int{"short": 24, "policies": 25} {
		m, err := parse("-matrix", name)
		if err != nil {
			t.Fatal(err)
		}
		list, err := m.Configs()
		if err != nil || len(list) != want {
			t.Errorf("%s: %d runs, error %v, want %d", name, len(list), err, want)
		}
	}
}

// TestWrittenMatrixIsRead reads what a matrix is written as.
func TestWrittenMatrixIsRead(t *testing.T) {
	m, err := parse("-matrix", "policies", "-programs", "base=/old,new=", "-handicaps", "0,0.1", "-profile", "-skip", "window=64")
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Read(strings.NewReader(string(text)))
	if err != nil || !reflect.DeepEqual(again, m) {
		t.Errorf("%s\nis read as %+v, error %v, want %+v", text, again, err, m)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(`{"models": "pebble", "prompts": [1, 2], "skip": ["prompt=1"]}`)
	f.Add(`{"policies": ["none", "sliding"], "windows": [64], "protected": 4}`)
	f.Fuzz(func(t *testing.T, text string) {
		m, err := Read(strings.NewReader(text))
		if err != nil {
			return
		}
		if list, err := m.Configs(); err != nil || len(list) == 0 || len(list) > maxRuns {
			t.Errorf("%d runs, error %v", len(list), err)
		}
	})
}

func TestManyRulesAreRefused(t *testing.T) {
	text := `{"skip": ["` + strings.Repeat("kv=f32,", maxConditions) + `kv=f16"]}`
	if _, err := Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), "more than 1000 values") {
		t.Errorf("%v", err)
	}
}
