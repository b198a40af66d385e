package results

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
	"github.com/antigravity-go/antigravity/examples/tools/internal/statistics"
)

// The overview sorts runs into cells: all runs of one Config, on one machine, of one commit. Each cell gets an interval for every metric.
// Changes are then looked for between the cells of one Config. Lists refer to each other by index:
//
//	run   Config   machine     commit    cell
//	0     0 q8_0   0 bench-1   0 1f0c    0
//	1     1 f16    0 bench-1   0 1f0c    1
//	2     0 q8_0   0 bench-1   0 1f0c    0   a repetition of run 0: cell 0 has the runs [0 2]
//	3     0 q8_0   0 bench-1   1 7be4    2   compared with cell 0

// Overview is what the page knows of all runs. Its lists refer to each other by index.
type Overview struct {
	Folders  []string  `json:"folders"` // what they are called
	Axes     []Axis    `json:"axes"`
	Metrics  []Metric  `json:"metrics"`
	Configs  []Config  `json:"configs"`
	Machines []Machine `json:"machines"`
	Commits  []Commit  `json:"commits"` // in the order of their time
	Runs     []Run     `json:"runs"`    // in the order of their beginning
	Cells    []Cell    `json:"cells"`
	Gaps     []number  `json:"gaps"` // which parts of the gaps Cell.Gaps bounds
	Changes  []Change  `json:"changes"`
	Compared Compared  `json:"compared"`
	Notices  []Notice  `json:"notices"`
}

// Axis is one of runs.Axes.
type Axis struct {
	Name  string `json:"name"`
	Title string `json:"title"`
}

// Metric is one of runs.Metrics.
type Metric struct {
	Name   string `json:"name"`
	Title  string `json:"title"`
	Unit   string `json:"unit"`
	Better int    `json:"better"`
}

// Config is a runs.Config by its values on the axes.
type Config struct {
	ID   string   `json:"id"`
	Axes []string `json:"axes"`
}

// Machine is a machine of runs.
type Machine struct {
	Title string `json:"title"`
	OS    string `json:"os"`
}

// Commit is a program's commit.
type Commit struct {
	Title   string     `json:"title"`             // abbreviated
	Time    *time.Time `json:"time,omitempty"`    // nil if it is not known
	Unknown bool       `json:"unknown,omitempty"` // nobody knows the commit of these runs
}

// Run is what came of a run.
type Run struct {
	Key        string    `json:"key"`
	Config     int       `json:"config"`
	Machine    int       `json:"machine"`
	Commit     int       `json:"commit"`
	Repetition int       `json:"repetition"`
	Began      time.Time `json:"began"`
	Error      string    `json:"error,omitempty"`
	Values     []number  `json:"values"` // of the metrics
}

// Cell is all runs of one Config on one machine with one commit's program: repetitions of each other.
type Cell struct {
	Config  int         `json:"config"`
	Machine int         `json:"machine"`
	Commit  int         `json:"commit"`
	Runs    []int       `json:"runs"`
	Failed  int         `json:"failed"` // of Runs
	Asked   int         `json:"asked"`  // questions in each run, if accuracy was measured
	Metrics []*Interval `json:"metrics"`
	Gaps    []number    `json:"gaps"` // of all repetitions together: as long as Overview.Gaps, or empty
}

// Interval is a statistics.Interval as an array: how many values, their median, and between what it lies.
type Interval [4]number

// Notice is something that could not be read.
type Notice struct {
	File string `json:"file"`
	Text string `json:"text"`
}

// gapParts are the quantiles of the gaps between tokens that the page draws.
var gapParts = []number{0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1}

// summarize makes the overview of all runs. The caller holds the lock.
func (s *Store) summarize() *Overview {
	list, keys := s.ordered()
	o := &Overview{
		Folders: []string{}, Configs: []Config{}, Machines: []Machine{}, Commits: []Commit{}, Runs: []Run{}, Cells: []Cell{}, Gaps: gapParts,
		Changes: []Change{}, Notices: s.bad(),
	}
	for _, f := range s.folders {
		o.Folders = append(o.Folders, f.label)
	}
	for _, a := range runs.Axes {
		o.Axes = append(o.Axes, Axis{a.Name, a.Title})
	}
	for _, m := range runs.Metrics {
		o.Metrics = append(o.Metrics, Metric{m.Name, m.Title, m.Unit, m.Better})
	}
	commits := commitsOf(list)
	for _, c := range commits {
		o.Commits = append(o.Commits, c.Commit)
	}
	configs, machines := map[string]int{}, map[Machine]int{}
	cells := map[[3]int]int{}
	var members [][]*summary // of the cells
	for i, r := range list {
		config, ok := configs[r.id]
		if !ok {
			config = len(o.Configs)
			configs[r.id] = config
			o.Configs = append(o.Configs, configOf(r))
		}
		m := machineOf(&r.machine)
		machine, ok := machines[m]
		if !ok {
			machine = len(o.Machines)
			machines[m] = machine
			o.Machines = append(o.Machines, m)
		}
		commit := slices.IndexFunc(commits, func(c commit) bool { return c.name == r.machine.Commit })
		values := make([]number, len(r.values))
		for j, v := range r.values {
			values[j] = number(v)
		}
		o.Runs = append(o.Runs, Run{keys[i], config, machine, commit, r.repetition, r.began, r.err, values})
		place := [3]int{config, machine, commit}
		cell, ok := cells[place]
		if !ok {
			cell = len(o.Cells)
			cells[place] = cell
			o.Cells = append(o.Cells, Cell{Config: config, Machine: machine, Commit: commit})
			members = append(members, nil)
		}
		o.Cells[cell].Runs = append(o.Cells[cell].Runs, i)
		members[cell] = append(members[cell], r)
	}
	for i := range o.Cells {
		o.Cells[i].fill(members[i])
	}
	o.Changes, o.Compared, s.compared = changes(o, members, s.compared)
	return o
}

func configOf(r *summary) Config {
	c := Config{ID: r.id, Axes: make([]string, len(runs.Axes))}
	for i, a := range runs.Axes {
		c.Axes[i] = clip(a.Of(&r.config), 200)
	}
	return c
}

// machineOf names a machine by what distinguishes it: a host's name alone does not, since containers may all have the same. The device is
// left out, since it follows from the backend.
func machineOf(m *runs.Machine) Machine {
	parts := slices.DeleteFunc([]string{m.Name, m.Processor}, func(s string) bool { return s == "" })
	title := strings.Join(parts, ", ")
	if title == "" {
		title = cmp.Or(m.OS, "unknown machine")
	}
	return Machine{clip(title, 200), clip(m.OS, 50)}
}

// commit is a Commit with its name in full and when the first run of it began.
type commit struct {
	Commit
	name  string
	began time.Time
}

// commitsOf lists the commits of runs by their time; one without a time by when it first ran.
func commitsOf(list []*summary) []commit {
	var found []commit
	index := map[string]int{}
	for _, r := range list {
		if _, ok := index[r.machine.Commit]; ok {
			continue
		}
		index[r.machine.Commit] = len(found)
		c := commit{name: r.machine.Commit, began: r.began}
		c.Title, c.Unknown = clip(cmp.Or(runs.ShortCommit(c.name), "unknown"), 60), c.name == ""
		if t := r.machine.Committed; !t.IsZero() {
			c.Time, c.began = &t, t
		}
		found = append(found, c)
	}
	slices.SortStableFunc(found, func(a, b commit) int { return a.began.Compare(b.began) })
	return found
}

// fill computes the figures of a cell's runs together.
func (c *Cell) fill(members []*summary) {
	c.Metrics = make([]*Interval, len(runs.Metrics))
	for i := range runs.Metrics {
		if values := valuesOf(members, i); len(values) > 0 {
			s := statistics.IntervalOf(values)
			c.Metrics[i] = &Interval{number(s.N), number(s.Median), number(s.Low), number(s.High)}
		}
	}
	var gaps []float64
	for _, r := range members {
		if r.err != "" {
			c.Failed++
		}
		c.Asked = max(c.Asked, r.asked)
		gaps = append(gaps, r.gaps...)
	}
	c.Gaps = []number{}
	if len(gaps) > 0 {
		slices.Sort(gaps)
		for _, part := range gapParts {
			c.Gaps = append(c.Gaps, number(statistics.Quantile(gaps, float64(part))))
		}
	}
}

// valuesOf lists a metric of those runs that have it.
func valuesOf(members []*summary, metric int) []float64 {
	var values []float64
	for _, r := range members {
		if v := r.values[metric]; finite(v) {
			values = append(values, v)
		}
	}
	return values
}
