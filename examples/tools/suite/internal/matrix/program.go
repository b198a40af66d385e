package matrix

import (
	"fmt"
	"strings"
)

// Program is a program that computes, if several are compared.
type Program struct {
	Label string // what Config.Program calls it; not empty
	Path  string // ""; the suite itself
}

// programs returns the programs; an empty list if the suite itself computes alone.
func (m *Matrix) programs() (list []Program, err error) {
	seen := map[string]bool{}
	for _, text := range m.Programs {
		label, path, found := strings.Cut(text, "=")
		if !found || label == "" || strings.Trim(label, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-") != "" {
			return nil, fmt.Errorf("programs: %q must be LABEL=PATH, such as base=./suite_old, or LABEL= for this program; "+
				"labels are made of letters, digits and . _ + -", text)
		}
		if seen[label] {
			return nil, fmt.Errorf("programs: two have the label %q", label)
		}
		seen[label] = true
		list = append(list, Program{label, path})
	}
	return list, nil
}

// ProgramPaths returns the programs' paths by their labels. The path of the suite itself is "", which also has the label "".
func (m *Matrix) ProgramPaths() map[string]string {
	paths := map[string]string{"": ""}
	list, _ := m.programs() // the matrix is valid
	for _, p := range list {
		paths[p.Label] = p.Path
	}
	return paths
}
