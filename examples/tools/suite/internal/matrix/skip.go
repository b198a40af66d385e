package matrix

import (
	"fmt"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
)

// rule leaves out what has all of its values; of an axis that it names several times, one of them.
type rule []condition

type condition struct {
	axis  runs.Axis
	value string
}

func (r rule) matches(c *runs.Config) bool {
	for _, d := range r {
		one := func(e condition) bool { return e.axis.Name == d.axis.Name && e.axis.Of(c) == e.value }
		if !slices.ContainsFunc(r, one) {
			return false
		}
	}
	return true
}

func (m *Matrix) rules() (list []rule, err error) {
	for _, text := range m.Skip {
		var r rule
		for field := range strings.SplitSeq(text, ",") {
			name, value, found := strings.Cut(strings.TrimSpace(field), "=")
			i := slices.IndexFunc(runs.Axes, func(a runs.Axis) bool { return a.Name == name })
			if !found || i < 0 {
				var known []string
				for _, a := range runs.Axes {
					known = append(known, a.Name)
				}
				return nil, fmt.Errorf("skip: %q must be AXIS=VALUE, with commas between several that must hold together; the axes are %s",
					text, strings.Join(known, ", "))
			}
			r = append(r, condition{runs.Axes[i], value})
		}
		list = append(list, r)
	}
	return list, nil
}
