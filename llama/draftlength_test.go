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

// replay is an answer that is computed as Session computes it: by its drafting, with costs of its own. Tokens that are right are 1.
type replay struct {
	drafting
	cost      func(rows int) time.Duration
	offered   []scripted // by each drafter in the next step
	answering int        // conversations that are computed together; 0: one
	guessing  float64    // of them draft; 0: one
	took      time.Duration
	tokens    int
	drafts    []int // of each step
}

// scripted is what a drafter proposes: tokens, the first ones right. Each takes it a while.
type scripted struct {
	proposed, right int
	token           time.Duration
}

func (r *replay) passCost(rows int) time.Duration { return r.cost(rows) }

func (r *replay) company() (int, float64) { return max(r.answering, 1), max(r.guessing, 1) }

func (r *replay) ask(s *draftSource, most int) time.Duration {
	o := r.offered[s.drafter.(numbered)]
	s.proposed = min(o.proposed, most)
	for i := range s.proposed {
		s.proposal = append(s.proposal, 0)
		if i < o.right {
			s.proposal[i] = 1
		}
	}
	took := time.Duration(max(s.proposed, 1)) * o.token
	r.took += took
	return took
}

// numbered is a Drafter of a replay.
type numbered int

func (numbered) Draft(dst, _ []Token) []Token { return dst }

// step computes one step, given how many tokens the only drafter proposes and how many of them are right, and returns how many tokens it
// brought.
func (r *replay) step(proposed, right int) int { return r.steps(scripted{proposed, right, 0}) }

// steps is step for several drafters.
func (r *replay) steps(offered ...scripted) int {
	if r.world == nil {
		var list []Drafter
		for i := range offered {
			list = append(list, numbered(i))
		}
		r.start(MultiDrafter(list...))
		r.world = r
	}
	r.offered = offered
	n := r.decide(maxDraft, 0)
	brought := 1
	if n > 0 {
		accepted := min(n, offered[r.sources[r.chosen].drafter.(numbered)].right)
		for range accepted {
			r.accept()
		}
		brought += accepted
	}
	r.took += r.cost(max(r.answering, 1) + n)
	r.learn(1)
	r.tokens += brought
	r.drafts = append(r.drafts, n)
	return brought
}

// speed returns how many times as fast the answer was as without drafts.
func (r *replay) speed() float64 {
	return float64(r.tokens) * float64(r.cost(max(r.answering, 1))) / float64(r.took)
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

// TestDraftLengthTriesAgain proposes now and then, so that experience fades: drafts are tried, seldom, and again when they are right.
func TestDraftLengthTriesAgain(t *testing.T) {
	r := &replay{cost: stepCosts["rows cost"]}
	for range 1000 {
		r.step(4, 0)
		for range 20 {
			r.step(0, 0)
		}
	}
	tries := 0
	for _, n := range r.drafts {
		tries += min(n, 1)
	}
	if tries < 20 || tries > 600 {
		t.Errorf("%d drafts in 21000 steps that were never right, want 20 to 600", tries)
	}
	for range 100 {
		r.step(4, 4)
		if r.drafts[len(r.drafts)-1] == 4 {
			return
		}
	}
	t.Error("proposals are right again, and 4 tokens are not drafted within 100 steps")
}

// checkLoss fails if the tokens of a replay took longer than is promised: the allowance, the credit of the start, and one call of each
// drafter before it is known how long it takes, and one with which it is found out.
func (r *replay) checkLoss(t *testing.T, name string, longest time.Duration) {
	t.Helper()
	plain, unit := float64(r.took)/float64(r.cost(max(r.answering, 1))), float64(2*longest*time.Duration(r.active))/float64(r.cost(max(r.answering, 1)))
	if limit := float64(r.tokens)*(1+draftAllowance) + draftCredit + unit; plain > limit*(1+1e-9) {
		t.Fatalf("%s: %d tokens took as long as %.2f plain steps, want at most %.2f; lengths %v", name, r.tokens, plain, limit, r.drafts)
	}
}

// TestDraftLengthBoundsTheLoss tries proposals of whatever length that are right in whatever way.
func TestDraftLengthBoundsTheLoss(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for name, cost := range stepCosts {
		for range 100 {
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
				answer.checkLoss(t, name, 0)
			}
		}
	}
}

// TestDraftsNeverCost lets drafters propose that are each right with a probability of 0 to 1, for each token on its own, and take their time,
// no time at all or a good part of a step; some propose nothing for that time. Whatever the costs are, an answer of 256 tokens takes no longer than
// without them, but for 2 %. If one of the drafters is right and costs little, it is quicker.
func TestDraftsNeverCost(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	bernoulli := func(n int, p float64) (right int) {
		for right < n && r.Float64() < p {
			right++
		}
		return right
	}
	for name, cost := range stepCosts {
		for i, accepted := range []float64{0, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1} {
			for _, share := range []time.Duration{0, 200, 20, 3} { // of a plain step for a token
				token := time.Duration(0)
				if share > 0 {
					token = cost(1) / share
				}
				single, several := &replay{cost: cost}, &replay{cost: cost}
				for single.tokens < 256 {
					single.steps(scripted{maxDraft, bernoulli(maxDraft, accepted), token})
					single.checkLoss(t, name, token)
				}
				for several.tokens < 256 {
					several.steps(scripted{r.IntN(5), 0, 0}, scripted{0, 0, token}, scripted{8, bernoulli(8, accepted), token})
					several.checkLoss(t, name, token)
				}
				for kind, answer := range map[string]*replay{"alone": single, "among others": several} {
					if got := answer.speed(); got < 0.98 {
						t.Errorf("%s, %s, right with %.1f, %v of %v a token: %.3f times as fast", name, kind, accepted, token, cost(1), got)
					}
				}
				if share == 0 && i == 8 && name == "rows cost" && (single.speed() < 2.5 || several.speed() < 2.2) {
					t.Errorf("%.2f and %.2f times as fast where all is right", single.speed(), several.speed())
				}
			}
		}
	}
}

// TestDraftsOfAnAdversary lets a drafter be right if that brings little, and wrong as soon as much is drafted.
func TestDraftsOfAnAdversary(t *testing.T) {
	for name, cost := range stepCosts {
		for _, patience := range []float64{0.1, 0.6, 2, 5} {
			r := &replay{cost: cost}
			for r.tokens < 2000 {
				// What will be drafted of the longest proposal is computed with a copy.
				ahead := *r
				ahead.sources, ahead.offers, ahead.world, ahead.costs = slices.Clone(r.sources), slices.Clone(r.offers), &ahead, draftCosts{}
				ahead.costs.longer = ahead.longer
				right, n := 64, 0
				if r.world != nil {
					ahead.offered = []scripted{{64, 0, 0}}
					n = ahead.decide(maxDraft, 0)
				}
				if n > 1 || r.length.credit > patience {
					right = 0
				}
				r.step(64, right)
				r.checkLoss(t, name, 0)
			}
		}
	}
}

// TestMultiDrafterTakesTheBest lets one drafter be right in even phases and another one, which takes a tenth of a step for a token, in 7 of
// 10 tokens, all the time. Together they are at least as quick as each alone, and the second one is not asked while the first one copies.
func TestMultiDrafterTakesTheBest(t *testing.T) {
	cost := stepCosts["rows are cheap"]
	speeds := map[string]float64{}
	for _, name := range []string{"lookup", "head", "both"} {
		random := rand.New(rand.NewPCG(5, 6))
		r := &replay{cost: cost}
		for r.tokens < 4000 {
			lookup, head := scripted{16, 0, 0}, scripted{maxDraft, 0, cost(1) / 10}
			if r.tokens/200%2 == 0 {
				lookup.right = 16
			}
			for head.right < 16 && random.Float64() < 0.7 {
				head.right++
			}
			switch name {
			case "lookup":
				r.steps(lookup)
			case "head":
				r.steps(head)
			default:
				r.steps(head, lookup)
			}
		}
		speeds[name] = r.speed()
	}
	t.Logf("%v", speeds)
	if best := max(speeds["lookup"], speeds["head"]); speeds["both"] < 1.1*best {
		t.Errorf("%v: both together are to be quicker than each alone", speeds)
	}
}

// TestDraftsOfCompany drafts in passes that conversations share. A row costs each of them time: if one among 8 drafts, a draft must
// be right more often to pay for that.
func TestDraftsOfCompany(t *testing.T) {
	cost := func(rows int) time.Duration { return time.Duration(20+rows) * time.Millisecond }
	for _, c := range []struct {
		answering int
		guessing  float64
		accepted  float64
		want      bool
	}{
		{1, 1, 0.4, true}, // a row makes a step longer by 1/21
		{8, 1, 0.9, true}, // by 1/28, for each of 8
		{8, 1, 0.1, false},
		{8, 8, 0.4, true},
		{40, 1, 0.4, false}, // by 1/60, for each of 40
		{40, 40, 0.4, false},
		{40, 40, 0.9, true},
	} {
		random := rand.New(rand.NewPCG(7, 8))
		r := &replay{cost: cost, answering: c.answering, guessing: c.guessing}
		for len(r.drafts) < 4000 {
			right := 0
			if random.Float64() < c.accepted {
				right = 1
			}
			r.step(1, right)
		}
		drafts := 0
		for _, n := range r.drafts[1000:] {
			drafts += n
		}
		if share := float64(drafts) / 3000; c.want != (share > 0.5) || !c.want && share > 0.1 {
			t.Errorf("%+v: drafts in %.2f of the steps", c, share)
		}
	}
}

func TestDraftLengthWithoutKnowledge(t *testing.T) {
	r := &replay{cost: func(int) time.Duration { return 0 }}
	for _, proposed := range []int{0, 10} {
		if r.step(proposed, proposed); r.drafts[len(r.drafts)-1] != 0 {
			t.Errorf("drafts %v where no cost is known", r.drafts)
		}
	}
	r.cost = stepCosts["rows are free"]
	r.step(3, 3) // how long the drafter takes is not known yet
	if r.step(3, 3); r.drafts[3] != 3 {
		t.Errorf("drafts %v of 3 tokens that cost nothing", r.drafts)
	}
}

func TestDraftLengthDoesNotAllocate(t *testing.T) {
	r := &replay{cost: stepCosts["rows cost"], drafts: make([]int, 0, 200)}
	offered := []scripted{{64, 1, 0}, {3, 2, time.Millisecond}}
	r.steps(offered...)
	if n := testing.AllocsPerRun(100, func() { r.steps(offered...) }); n != 0 {
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
