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
	axis   runs.Axis
	values []string
}

// maxConditions bounds the values of all rules: each combination is held against every one.
const maxConditions = 1000

func (r rule) matches(c *runs.Config) bool {
	return !slices.ContainsFunc(r, func(d condition) bool { return !slices.Contains(d.values, d.axis.Of(c)) })
}

func (m *Matrix) rules() (list []rule, err error) {
	conditions := 0
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
			if conditions++; conditions > maxConditions {
				return nil, fmt.Errorf("skip: the rules have more than %d values", maxConditions)
			}
			if at := slices.IndexFunc(r, func(d condition) bool { return d.axis.Name == name }); at >= 0 {
				r[at].values = append(r[at].values, value)
			} else {
				r = append(r, condition{runs.Axes[i], []string{value}})
			}
		}
		list = append(list, r)
	}
	return list, nil
}
