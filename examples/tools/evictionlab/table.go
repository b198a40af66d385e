package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
)

// group has the rows of one table or drawing: those of one type of cache, and of skills with the same name but for a number at its end.
type group struct {
	name, kv string
	rows     []row
}

// groups divides rows into groups, in the order in which their first rows come.
func groups(rows []row) (list []group) {
	for _, r := range rows {
		name := strings.TrimRight(r.Skill, "0123456789")
		i := slices.IndexFunc(list, func(g group) bool { return g.name == name && g.kv == r.KV })
		if i < 0 {
			list = append(list, group{name: name, kv: r.KV})
			i = len(list) - 1
		}
		list[i].rows = append(list[i].rows, r)
	}
	return list
}

// title names the skills and the type of cache.
func (g *group) title() string {
	var skills []string
	for _, r := range g.rows {
		if !slices.Contains(skills, r.Skill) {
			skills = append(skills, r.Skill)
		}
	}
	return strings.Join(skills, " ") + ", " + g.kv + " cache"
}

// policies lists the policies in order.
func (g *group) policies() (list []string) {
	for _, r := range g.rows {
		if !slices.Contains(list, r.Policy) {
			list = append(list, r.Policy)
		}
	}
	return list
}

// budgets lists the budgets, the largest first.
func (g *group) budgets() []float64 {
	set := map[float64]bool{}
	for _, r := range g.rows {
		set[r.Budget] = true
	}
	list := slices.Sorted(maps.Keys(set))
	slices.Reverse(list)
	return list
}

// score adds up the rows of a policy at a budget, of all skills of the group: each question counts the same.
func (g *group) score(policy string, budget float64) (s row, ok bool) {
	right := 0.0
	for _, r := range g.rows {
		if r.Policy == policy && r.Budget == budget {
			right += r.Accuracy * float64(r.Questions)
			s.Questions += r.Questions
			s.PeakCacheBytes = max(s.PeakCacheBytes, r.PeakCacheBytes)
			s.Seconds += r.Seconds
		}
	}
	if s.Questions == 0 {
		return s, false
	}
	s.Accuracy = right / float64(s.Questions)
	return s, true
}

// table lays a group out: a policy a row, its accuracy at each budget, its peak of memory at each, and the time it took.
func (g *group) table() *cli.Table {
	budgets := g.budgets()
	t := &cli.Table{Left: 1}
	t.Row(g.title() + ": accuracy and peak MiB by budget")
	head := []string{"policy"}
	for range 2 {
		for _, b := range budgets {
			head = append(head, strconv.FormatFloat(b, 'g', -1, 64))
		}
	}
	t.Row(append(head, "s")...)
	for _, policy := range g.policies() {
		accuracy, peak, seconds := []string{policy}, []string{}, 0.0
		for _, b := range budgets {
			s, ok := g.score(policy, b)
			if !ok {
				accuracy, peak = append(accuracy, ""), append(peak, "")
				continue
			}
			accuracy = append(accuracy, fmt.Sprintf("%.2f", s.Accuracy))
			peak = append(peak, fmt.Sprintf("%.2f", float64(s.PeakCacheBytes)/(1<<20)))
			seconds += s.Seconds
		}
		t.Row(append(append(accuracy, peak...), fmt.Sprintf("%.1f", seconds))...)
	}
	return t
}

// printTables prints a table for each group.
func printTables(w io.Writer, rows []row) error {
	for i, g := range groups(rows) {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if _, err := g.table().WriteTo(w); err != nil {
			return fmt.Errorf("write results: %w", err)
		}
	}
	return nil
}
