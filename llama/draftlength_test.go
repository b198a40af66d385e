package llama

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// stepCosts are what steps of a number of rows cost on some machines.
var stepCosts = map[string]func(rows int) time.Duration{
	// A model of 1B on two AVX2 cores: 33, 46, 58, 74, 81, 97, 107 and 108 tokens/s in chunks of 1, 2, 3, 4, 6, 8, 12 and 16 rows.
	"rows cost":         between([]int{1, 2, 3, 4, 6, 8, 12, 16}, []float64{30.3, 43.5, 51.7, 54, 74, 82, 112, 148}),
	"rows are cheap":    between([]int{1, 101}, []float64{8, 18}),
	"rows are free":     func(int) time.Duration { return time.Millisecond },
	"two are cheaper":   between([]int{1, 2, 4, 8, 16}, []float64{1.16, 1.13, 1.23, 1.85, 3.8}),
	"rows save nothing": func(rows int) time.Duration { return time.Duration(rows) * time.Millisecond },
}

// between returns a function through points, in milliseconds, that goes on in proportion after the last.
func between(rows []int, ms []float64) func(int) time.Duration {
	return func(n int) time.Duration {
		last := len(rows) - 1
		v := ms[last] * float64(n) / float64(rows[last])
		for i := last; i > 0 && n < rows[i]; i-- {
			v = ms[i-1] + (ms[i]-ms[i-1])*float64(n-rows[i-1])/float64(rows[i]-rows[i-1])
		}
		return time.Duration(v * float64(time.Millisecond))
	}
}

// replay is an answer that is computed as Session computes it.
type replay struct {
	length draftLength
	cost   func(rows int) time.Duration
	took   time.Duration
	tokens int
	drafts []int // of each step
}

// step computes one step, given how many tokens are proposed and how many of them are right, and returns how many tokens it brought.
func (r *replay) step(proposed, right int) int {
	n := r.length.next(proposed, r.cost)
	accepted := min(n, right)
	if n == 0 {
		r.length.observe(0, min(1, right))
	} else {
		r.length.observe(n, accepted)
	}
	r.took += r.cost(1 + n)
	r.tokens += 1 + accepted
	r.drafts = append(r.drafts, n)
	return 1 + accepted
}

// speed returns how many times as fast the answer was as without drafts.
func (r *replay) speed() float64 {
	return float64(r.tokens) * float64(r.cost(1)) / float64(r.took)
}

// bestSpeed returns the speed of the best constant length where everything is right.
func bestSpeed(cost func(rows int) time.Duration) (best float64) {
	for n := range maxDraft + 1 {
		best = max(best, float64(1+n)*float64(cost(1))/float64(cost(1+n)))
	}
	return best
}

func TestDraftLengthRisesWhenAllIsRight(t *testing.T) {
	for name, cost := range stepCosts {
		r := &replay{cost: cost}
		for r.tokens < 1000 {
			r.step(64, 64)
		}
		if got, want := r.speed(), 0.9*bestSpeed(cost); got < want {
			t.Errorf("%s: %.2f times as fast, want %.2f; lengths %v", name, got, want, r.drafts)
		}
		switch name {
		case "rows save nothing":
			if slices.Max(r.drafts) > 0 {
				t.Errorf("%s: lengths %v, want 0", name, r.drafts)
			}
		case "rows are cheap", "rows are free":
			if r.drafts[6] != maxDraft {
				t.Errorf("%s: lengths %v, want %d from the seventh step on", name, r.drafts[:7], maxDraft)
			}
		}
	}
}

func TestDraftLengthFallsWhenNothingIsRight(t *testing.T) {
	for name, cost := range stepCosts {
		r := &replay{cost: cost}
		for r.tokens < 64 {
			r.step(4, 0)
		}
		if got := r.speed(); got < 0.98 {
			t.Errorf("%s: %.3f times as fast, want 0.98; lengths %v", name, got, r.drafts)
		}
		for r.tokens < 10000 {
			r.step(4+r.tokens%40, 0)
		}
		if got := r.speed(); got < 0.985 {
			t.Errorf("%s: %.3f times as fast in the long run, want 0.985", name, got)
		}
		if name == "rows cost" && r.drafts[len(r.drafts)-1] != 0 {
			t.Errorf("%s: lengths %v at the end, want 0", name, r.drafts[len(r.drafts)-10:])
		}
	}
}

// TestDraftLengthFollowsPhases lets answers copy for some time and then not.
func TestDraftLengthFollowsPhases(t *testing.T) {
	cost := stepCosts["rows cost"]
	r := &replay{cost: cost}
	best := 0. // what would be the time of who knows
	for phase := range 10 {
		copies := phase%2 == 0
		began := len(r.drafts)
		for tokens := 0; tokens < 200; {
			right := 0
			if copies {
				right = 64
			}
			tokens += r.step(16, right)
		}
		if copies {
			best += 200 / bestSpeed(cost)
		} else {
			best += 200
		}
		drafts := r.drafts[began:]
		if after := slices.Max(drafts[8:]); copies && after < 8 || !copies && after > 1 {
			t.Errorf("phase %d, copying %v: lengths %v; want at least 8 while copying, and almost none otherwise, after 8 steps", phase, copies, drafts)
		}
	}
	if got, want := r.speed(), 0.9*float64(r.tokens)/best; got < want {
		t.Errorf("%.2f times as fast, want %.2f", got, want)
	}
}

// TestDraftLengthLearnsFromWhatIsNotDrafted makes proposals right again while they are not computed.
func TestDraftLengthLearnsFromWhatIsNotDrafted(t *testing.T) {
	r := &replay{cost: stepCosts["rows cost"]}
	for range 100 {
		r.step(4, 0)
	}
	for step := range 4 {
		if r.step(4, 4) > 1 {
			return
		}
		if step == 3 {
			t.Errorf("nothing is drafted after %d proposals in a row that were right", step+1)
		}
	}
}

// TestDraftLengthTriesAgain does not report whether proposals that are not computed are right: only trying can show it.
func TestDraftLengthTriesAgain(t *testing.T) {
	var l draftLength
	cost := stepCosts["rows cost"]
	tries := 0
	for range 1000 {
		if n := l.next(4, cost); n > 0 {
			tries++
			l.observe(n, 0)
		}
		l.next(0, cost) // a step without a proposal
	}
	if tries < 5 || tries > 50 {
		t.Errorf("%d drafts in 2000 steps that were never right, want 5 to 50", tries)
	}
	for step := range 500 {
		n := l.next(4, cost)
		if n > 0 {
			l.observe(n, n)
		}
		if n == 4 {
			return
		}
		if step == 499 {
			t.Error("proposals are right again, and 4 tokens are not drafted within 500 steps")
		}
	}
}

// TestDraftLengthBoundsTheLoss tries proposals of whatever length that are right in whatever way.
func TestDraftLengthBoundsTheLoss(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for name, cost := range stepCosts {
		for range 200 {
			answer := &replay{cost: cost}
			right := []float64{r.Float64(), r.Float64()} // the probability of a right proposal in even and odd phases
			phase, length := 1+r.IntN(100), 1+r.IntN(60)
			for answer.tokens < 1000 {
				proposed, agreed := r.IntN(length), 0
				if r.Float64() < right[len(answer.drafts)/phase%2] {
					agreed = r.IntN(proposed + 1)
				}
				before := len(answer.drafts)
				answer.step(proposed, agreed)
				if n := answer.drafts[before]; n < 0 || n > proposed || n > maxDraft {
					t.Fatalf("%s: %d of %d tokens are drafted", name, n, proposed)
				}
				plain := float64(answer.took) / float64(cost(1))
				if limit := float64(answer.tokens)*(1+draftAllowance) + draftCredit; plain > limit*(1+1e-9) {
					t.Fatalf("%s: %d tokens took as long as %.2f plain steps, want at most %.2f; lengths %v", name, answer.tokens, plain, limit, answer.drafts)
				}
			}
		}
	}
}

func TestDraftLengthWithoutKnowledge(t *testing.T) {
	var l draftLength
	for _, proposed := range []int{-1, 0, 10} {
		if n := l.next(proposed, func(int) time.Duration { return 0 }); n != 0 {
			t.Errorf("%d of %d tokens are drafted where no cost is known", n, proposed)
		}
		l.observe(0, 0)
	}
	if n := l.next(3, stepCosts["rows are free"]); n != 3 {
		t.Errorf("%d tokens are drafted of 3 that cost nothing", n)
	}
}

func TestDraftLengthDoesNotAllocate(t *testing.T) {
	r := &replay{cost: stepCosts["rows cost"]}
	if n := testing.AllocsPerRun(100, func() {
		r.length.observe(r.length.next(64, r.cost), 1)
	}); n != 0 {
		t.Errorf("%g allocations a step, want none", n)
	}
}

// TestDraftLengthOnFlint drafts by prompt lookup, and takes the reference answers of held-out conversations for the model's, at the
// costs of two AVX2 cores. Edits must be twice as fast, and nothing noticeably slower.
func TestDraftLengthOnFlint(t *testing.T) {
	for skill, want := range map[string]float64{
		"edit": 2.7, "needle300": 1.5, "calendar": 1.15, // 2.77, 1.62 and 1.22 were measured
		"tool": 0.98, "extract": 0.98, "json_out": 0.98, "capital": 0.98, "arithmetic": 0.98, "spell": 0.98,
	} {
		prompts, answers := conversations(t, skill)
		drafter, r := PromptLookup(LookupOptions{}), &replay{cost: stepCosts["rows cost"]}
		for i, answer := range answers {
			context := slices.Concat(prompts[i], answer)
			for at := len(prompts[i]) + 1; at < len(context); { // context[at-1] was chosen
				draft := drafter.Draft(nil, context[:at])
				at += r.step(len(draft), commonPrefix(draft, context[at:]))
			}
		}
		if got := r.speed(); got < want {
			t.Errorf("%s: %.3f times as fast, want %.2f", skill, got, want)
		} else {
			t.Logf("%s: %.3f times as fast", skill, got)
		}
	}
}
