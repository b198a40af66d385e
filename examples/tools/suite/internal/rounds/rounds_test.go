package rounds

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
)

// configs returns n cells.
func configs(n int) (list []runs.Config) {
	for i := range n {
		list = append(list, runs.Config{Model: "pebble", Prompt: 100 + i, Generate: 3})
	}
	return list
}

// measured returns a run that generates at a rate.
func measured(c runs.Config, repetition int, rate float64) *runs.Run {
	return &runs.Run{Config: c, Repetition: repetition, Reading: [2]float64{0, 1}, Tokens: []float64{1, 1 + 1/rate, 1 + 2/rate}}
}

// all measures whatever comes, and returns the cells' prompts in the order in which they came, a word a round.
func all(r *Rounds, rate func(c runs.Config, repetition int) float64) (order []string) {
	for {
		c, repetition, ok := r.Next()
		if !ok {
			return order
		}
		for len(order) < repetition {
			order = append(order, "")
		}
		order[repetition-1] += fmt.Sprint(c.Prompt, c.Program, " ")
		r.Note(measured(c, repetition, rate(c, repetition)), 1)
	}
}

func TestCellsAreRepeatedUntilTheirSpreadIsSmall(t *testing.T) {
	const steady, settling, wild = 100, 101, 102
	r := New(Rule{Least: 3, Most: 6, Spread: 0.02}, configs(3))
	order := all(r, func(c runs.Config, repetition int) float64 {
		switch {
		case c.Prompt == steady:
			return 50 + 0.5*float64(repetition%2) // ± 0.5 %
		case c.Prompt == wild:
			return 50 + 5*float64(repetition%2) // ± 5 %
		}
		return 50
	})
	count := map[int]int{}
	for prompt := steady; prompt <= wild; prompt++ {
		count[prompt] = strings.Count(strings.Join(order, " "), fmt.Sprint(prompt))
	}
	if count[steady] != 3 || count[settling] != 3 || count[wild] != 6 {
		t.Errorf("repetitions %v, want 3, 3 and 6", count)
	}
	if s, ok := r.Spread(&configs(3)[2]); !ok || math.Abs(s-2.5/52.5) > 1e-6 {
		t.Errorf("the spread is %v, %v", s, ok)
	}
}

// TestRoundsGoOverTheWholeMatrix also says that the orders of rounds differ, and are the same for the same seed.
func TestRoundsGoOverTheWholeMatrix(t *testing.T) {
	steady := func(runs.Config, int) float64 { return 50 }
	once := all(New(Rule{Least: 3, Most: 3, Seed: 7}, configs(8)), steady)
	for _, round := range once {
		cells := strings.Fields(round)
		slices.Sort(cells)
		if !slices.Equal(cells, strings.Fields("100 101 102 103 104 105 106 107")) {
			t.Errorf("a round measures %v", cells)
		}
	}
	if once[0] == once[1] || once[1] == once[2] {
		t.Errorf("the orders of the rounds are %q", once)
	}
	if again := all(New(Rule{Least: 3, Most: 3, Seed: 7}, configs(8)), steady); !slices.Equal(again, once) {
		t.Errorf("once %q, again %q", once, again)
	}
	if other := all(New(Rule{Least: 3, Most: 3, Seed: 8}, configs(8)), steady); slices.Equal(other, once) {
		t.Errorf("another seed makes the same order %q", other)
	}
}

func TestProgramsComeInARow(t *testing.T) {
	var list []runs.Config
	for _, program := range []string{"base", "new"} {
		for _, c := range configs(6) {
			c.Program = program
			list = append(list, c)
		}
	}
	firsts := map[string]int{}
	for _, round := range all(New(Rule{Least: 10, Most: 10}, list), func(runs.Config, int) float64 { return 50 }) {
		cells := strings.Fields(round)
		for i := 0; i < len(cells); i += 2 {
			if cells[i][:3] != cells[i+1][:3] {
				t.Fatalf("%s and %s come in a row", cells[i], cells[i+1])
			}
			firsts[cells[i][3:]]++
		}
	}
	if firsts["base"] < 10 || firsts["new"] < 10 {
		t.Errorf("first of the two are %v: each should be, in some rounds", firsts)
	}
}

// TestGoingOn ends at each possible moment and goes on with the runs that are there then: the runs that come are the same as without
// an end between, each once.
func TestGoingOn(t *testing.T) {
	rule := Rule{Least: 2, Most: 5, Spread: 0.02, Seed: 3}
	rate := func(c runs.Config, repetition int) float64 {
		return 50 + rand.New(rand.NewPCG(uint64(c.Prompt), uint64(repetition))).Float64()*float64(c.Prompt-100)*4
	}
	want := all(New(rule, configs(5)), rate)
	total := len(strings.Fields(strings.Join(want, "")))
	if total <= 10 || total >= 25 {
		t.Fatalf("the test takes %d runs, and neither all nor none of what the spread may ask for", total)
	}
	for end := range total {
		var there []*runs.Run
		first := New(rule, configs(5))
		for range end {
			c, repetition, _ := first.Next()
			there = append(there, measured(c, repetition, rate(c, repetition)))
			first.Note(there[len(there)-1], 1)
		}
		second := New(rule, configs(5))
		for _, run := range there {
			second.Note(run, 1)
		}
		for {
			c, repetition, ok := second.Next()
			if !ok {
				break
			}
			there = append(there, measured(c, repetition, rate(c, repetition)))
			second.Note(there[len(there)-1], 1)
		}
		got := make([]string, len(want))
		for _, run := range there {
			got[run.Repetition-1] += fmt.Sprint(run.Config.Prompt, " ")
		}
		if !slices.Equal(got, want) {
			t.Errorf("ended after %d runs: %q, want %q", end, got, want)
		}
	}
}

func TestFailures(t *testing.T) {
	failing := func(c runs.Config, repetition int) *runs.Run {
		return &runs.Run{Config: c, Repetition: repetition, Error: "it broke"}
	}
	r := New(Rule{Least: 3, Most: 3}, configs(3))
	attempts, left := map[int]int{}, map[int]int{100: 1} // the first cell fails once, the second always
	for {
		c, repetition, ok := r.Next()
		if !ok {
			break
		}
		attempts[c.Prompt]++
		if c.Prompt == 101 || left[c.Prompt] > 0 {
			left[c.Prompt]--
			r.Note(failing(c, repetition), 1)
		} else {
			r.Note(measured(c, repetition, 50), 1)
		}
	}
	if attempts[100] != 4 || attempts[101] != 2 || attempts[102] != 3 {
		t.Errorf("attempts %v, want 4 for the cell that fails once, 2 for the one that always does, 3 for the other", attempts)
	}
	if o := r.Outlook(); o.Done != 6 || o.Least != 0 || o.Most != 0 || o.CellsGivenUp != 1 {
		t.Errorf("at the end: %+v", o)
	}
}

// TestOutlook measures cells of 1, 2, 3 … seconds. From the second round on the estimate is right; in the first it is right on the
// whole, and the truth lies between the two bounds.
func TestOutlook(t *testing.T) {
	rule := Rule{Least: 3, Most: 6, Spread: 0.02, Seed: 1}
	seconds := func(c runs.Config) float64 { return float64(c.Prompt - 99) }
	r := New(rule, configs(12))
	if o := r.Outlook(); o.Known || o.Least != 36 || o.Most != 72 {
		t.Errorf("before any run: %+v", o)
	}
	var before []Outlook
	var took []float64
	for {
		o := r.Outlook()
		c, repetition, ok := r.Next()
		if !ok {
			break
		}
		before = append(before, o)
		rate := 50.0
		if c.Prompt%3 == 0 { // 4 cells of 12 never settle
			rate += 5 * float64(repetition%2)
		}
		r.Note(measured(c, repetition, rate), seconds(c))
		took = append(took, seconds(c))
	}
	left := 0.0
	for i := len(took) - 1; i >= 0; i-- {
		left += took[i]
		slack := 1e-9
		if i < 12 {
			slack = 0.5 // the cells of the first round that are still to come may be the long ones
		}
		if o := before[i]; i > 0 && (o.Soonest > left*(1+slack) || o.Latest < left*(1-slack)) {
			t.Errorf("before run %d: %.0f to %.0f s, really %.0f", i+1, o.Soonest, o.Latest, left)
		}
		if o := before[i]; o.Done != i || o.Least > len(took)-i || o.Most < len(took)-i {
			t.Errorf("before run %d of %d: %+v", i+1, len(took), o)
		}
	}
	if o := r.Outlook(); o.Done != len(took) || o.Least != 0 || o.Most != 0 || o.Latest != 0 {
		t.Errorf("at the end: %+v", o)
	}
}
