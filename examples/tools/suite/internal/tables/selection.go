package tables

import (
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
)

// selection chooses runs: of each of its properties, by name, a run has one of the values.
type selection map[string][]string

// parseSelection reads axis=value,axis=value. An axis that is named twice has either value. A value may hold commas, since what follows
// them is no axis.
func parseSelection(flag, text string) (selection, error) {
	s := selection{}
	last := ""
	for part := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(part, "=")
		switch {
		case ok:
			if _, err := propertyNamed(flag, name); err != nil {
				return nil, err
			}
			last = name
			s[name] = append(s[name], value)
		case last != "":
			values := s[last]
			values[len(values)-1] += "," + part
		case text != "":
			return nil, cli.Usagef("%s %s: it must be axis=value, or several with commas between", flag, text)
		}
	}
	return s, nil
}

// of returns the runs that are chosen.
func (s selection) of(list []*runs.Run) []*runs.Run {
	chosen := slices.Clone(list)
	for _, p := range properties() {
		values, ok := s[p.name]
		if !ok {
			continue
		}
		chosen = slices.DeleteFunc(chosen, func(r *runs.Run) bool {
			return !slices.ContainsFunc(values, func(v string) bool {
				have := p.of(r)
				return have == v || p.name == commitProperty && v != "" && strings.HasPrefix(have, v) // commits are written short
			})
		})
	}
	return chosen
}

// check returns an error if no run of a list is chosen. The error names the values that there are.
func (s selection) check(flag string, list []*runs.Run) error {
	if len(list) == 0 || len(s.of(list)) > 0 {
		return nil
	}
	for _, p := range properties() {
		if values, ok := s[p.name]; ok && len(selection{p.name: values}.of(list)) == 0 {
			return cli.Usagef("%s: no run has %s=%s: there are %s", flag, p.name, strings.Join(values, " or "), strings.Join(quoted(valuesOf(p, list)), ", "))
		}
	}
	return cli.Usagef("%s: no run has all of these values at once", flag)
}
