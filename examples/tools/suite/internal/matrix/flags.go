package matrix

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
)

// Flags defines -matrix, -skip, and a flag for each key of a matrix. The function that it returns makes the matrix when the flags are
// parsed: a flag replaces the file's key, and -skip adds to its rules. shipped holds the matrices that -matrix knows by name: short is
// short.json.
func Flags(f *cli.Flags, shipped fs.FS) func() (*Matrix, error) {
	m := standard()
	var file string
	var skip []string
	given := map[string]*pending{}
	f.StringVar(&file, "matrix", "", "`file` of JSON with these keys, or the name of a shipped one: "+strings.Join(names(shipped), ", ")+
		"; flags replace what it says")
	for _, k := range m.keys() {
		_, switches := k.value.(*boolean)
		given[k.name] = &pending{value: k.value.String(), boolean: switches}
		usage := k.usage
		if k.kind != "" {
			usage = "`" + k.kind + "` " + usage
		}
		f.Var(given[k.name], k.name, usage)
	}
	f.Strings(&skip, "skip", "leave out combinations with `AXIS=VALUE,…`, such as backend=opencl,kv=f32; of an axis that is named twice, either value; may be repeated")
	return func() (*Matrix, error) {
		if file != "" {
			err := m.open(file, shipped)
			if errors.Is(err, fs.ErrNotExist) {
				return nil, cli.Usagef("-matrix %s: there is no such file, and the shipped matrices are %s", file, strings.Join(names(shipped), ", "))
			}
			if err != nil {
				return nil, fmt.Errorf("-matrix %s: %w", file, err)
			}
		}
		for _, k := range m.keys() {
			if !f.Given(k.name) {
				continue
			}
			if err := k.value.set(given[k.name].value); err != nil {
				return nil, cli.Usagef("-%s %q: %v", k.name, given[k.name].value, err)
			}
		}
		m.Skip = append(m.Skip, skip...)
		if err := m.check(); err != nil {
			return nil, cli.Usagef("%v", err)
		}
		return m, nil
	}
}

// open reads a file, or a shipped matrix if there is no file of that name.
func (m *Matrix) open(name string, shipped fs.FS) error {
	r, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(name, `/\`) {
		if s, e := shipped.Open(name + ".json"); e == nil {
			defer s.Close()
			return m.merge(s)
		}
	}
	if err != nil {
		return err
	}
	defer r.Close()
	return m.merge(r)
}

// names lists the shipped matrices.
func names(shipped fs.FS) (list []string) {
	files, _ := fs.Glob(shipped, "*.json")
	for _, f := range files {
		list = append(list, strings.TrimSuffix(f, ".json"))
	}
	return list
}

// pending is a flag's text, which is read after the file that it replaces a part of.
type pending struct {
	value   string
	boolean bool
}

func (p *pending) String() string     { return p.value }
func (p *pending) Set(s string) error { p.value = s; return nil }
func (p *pending) IsBoolFlag() bool   { return p.boolean }
