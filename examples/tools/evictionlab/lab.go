package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/antigravity-go/antigravity/eviction"
	"github.com/antigravity-go/antigravity/examples/tools/internal/questions"
	"github.com/antigravity-go/antigravity/kvcache"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/tensor"
)

// A question is asked once for each cell, a policy at a budget. Without -during-prompt the prompt is read only once (evictOnce): a session
// reads it with the records that all policies need, and each cell evicts from a copy of it. For example, for a prompt of 400 tokens:
//
//	read the prompt                            once
//	sliding at 0.5   Fork, Evict(200), answer
//	sliding at 0.1   Fork, Evict(40), answer
//	snapkv at 0.5    Fork, Evict(200), answer
//	snapkv at 0.1    Fork, Evict(40), answer
//
// With -during-prompt, each of the four cells reads the prompt anew, with a policy that evicts meanwhile.

// lab runs experiments with one model.
type lab struct {
	*options
	model    *llama.Model
	progress func(format string, a ...any)
}

// cell is a policy at a budget.
type cell struct {
	policy eviction.Policy // for evictOnce, which passes the number of slots to keep: the policy's own budget is never
	budget float64         // the part of the prompt's tokens that stay, at most 1
}

// choose returns the cells to compare: each policy at each budget. The policy "none" is compared at the budget 1 alone.
func (o *options) choose() (list []cell, err error) {
	for _, name := range o.policies {
		policy, err := o.policy(name, never)
		if err != nil {
			return nil, err
		}
		budgets := o.budgets
		if policy == eviction.None {
			budgets = []float64{1}
		}
		for _, budget := range budgets {
			list = append(list, cell{policy, budget})
		}
	}
	return list, nil
}

// policy makes a policy with a budget of slots.
func (o *options) policy(name string, slots int) (eviction.Policy, error) {
	settings := eviction.Options{Budget: slots}
	if slices.Contains([]string{"snapkv", "pyramidkv", "ada"}, name) {
		settings.Observation = min(o.observation, max(slots/2, 1)) // the window of latest tokens takes half of a small budget at most
	}
	return eviction.ByName(name, settings)
}

// slots returns the budget in slots for a prompt.
func (c cell) slots(promptTokens int) int { return int(math.Ceil(c.budget * float64(promptTokens))) }

// row is the result of a cell for a skill, in the form of -json.
type row struct {
	Skill          string  `json:"skill"`
	Policy         string  `json:"policy"`
	Budget         float64 `json:"budget"`
	KV             string  `json:"kv"`
	Accuracy       float64 `json:"accuracy"`
	Questions      int     `json:"questions"`
	PeakCacheBytes int64   `json:"peak_cache_bytes"` // keys and values, the most that any question took
	Seconds        float64 `json:"seconds"`          // of evicting and answering, and with DuringPrompt of reading the prompts
	DuringPrompt   bool    `json:"during_prompt"`
}

// measure asks the questions of a skill under all conditions.
func (l *lab) measure(ctx context.Context, kv tensor.DType, skill string, asked []questions.Question) ([]row, error) {
	rows := make([]row, len(l.cells))
	right := make([]int, len(l.cells))
	for i, c := range l.cells {
		rows[i] = row{
			Skill: skill, Policy: c.policy.Name(), Budget: c.budget, KV: kv.String(), Questions: len(asked), DuringPrompt: l.duringPrompt,
		}
	}
	note := func(i int, o outcome) {
		if o.right {
			right[i]++
		}
		rows[i].PeakCacheBytes = max(rows[i].PeakCacheBytes, o.peak)
		rows[i].Seconds += o.took.Seconds()
	}
	ask := l.evictOnce
	if l.duringPrompt {
		ask = l.evictDuringPrompt
	}
	for i, q := range asked {
		l.progress("%s, %v cache: question %d of %d", skill, kv, i+1, len(asked))
		p, err := q.Render(l.model.Tokenizer())
		if err != nil {
			return nil, fmt.Errorf("question %d of %s: %w", i+1, skill, err)
		}
		if err := ask(ctx, kv, p, note); err != nil {
			return nil, fmt.Errorf("question %d of %s, %v cache: %w", i+1, skill, kv, err)
		}
	}
	l.progress("")
	for i := range rows {
		rows[i].Accuracy = float64(right[i]) / float64(len(asked))
	}
	return rows, nil
}

// outcome is the result of one question in one cell.
type outcome struct {
	right bool          // the answer was right
	peak  int64         // the most bytes of keys and values
	took  time.Duration // evicting and answering; with evictDuringPrompt, reading the prompt too
}

// evictOnce reads the prompt once. For each cell it then evicts from a copy of that conversation, and lets the copy answer.
// It calls note with each cell's index and outcome.
func (l *lab) evictOnce(ctx context.Context, kv tensor.DType, p questions.Prompt, note func(int, outcome)) error {
	turn := &switchablePolicy{}
	for _, c := range l.cells {
		turn.add(c.policy)
	}
	all, err := l.model.NewSession(&llama.SessionOptions{
		KV: kv, Eviction: turn, EvictAfterPrompt: true,
		Capacity: min(p.Tokens()+rereadRoom, l.model.Config().ContextLength),
	})
	if err != nil {
		return err
	}
	defer all.Close()
	if err := all.Prefill(ctx, p.Before); err != nil {
		return err
	}
	for i, c := range l.cells {
		turn.Policy = c.policy
		one, err := all.Fork()
		if err != nil {
			return err
		}
		began := time.Now()
		err = shrink(ctx, one, turn, c.slots(len(p.Before)))
		o := outcome{}
		if err == nil {
			o.right, err = p.Answered(ctx, one)
		}
		o.took, o.peak = time.Since(began), one.CacheUsage().PeakBytes
		one.Close()
		if err != nil {
			return fmt.Errorf("%s at %v: %w", c.policy.Name(), c.budget, err)
		}
		note(i, o)
	}
	return nil
}

// rereadRoom is the room in tokens for policies that read the prompt again.
const rereadRoom = 300

// shrink evicts down to slots, after a second reading if the policy reads again.
func shrink(ctx context.Context, s *llama.Session, p eviction.Policy, slots int) (err error) {
	if r, ok := p.(eviction.Rereader); ok && r.Window() > 0 {
		_, err = s.Compress(ctx, slots, nil)
	} else {
		_, err = s.Evict(slots)
	}
	return err
}

// evictDuringPrompt reads the prompt anew for each cell, with a policy that keeps the cache within the budget all the time.
// It calls note with each cell's index and outcome.
func (l *lab) evictDuringPrompt(ctx context.Context, kv tensor.DType, p questions.Prompt, note func(int, outcome)) error {
	for i, c := range l.cells {
		o, err := l.askInCell(ctx, kv, p, c)
		if err != nil {
			return fmt.Errorf("%s at %v: %w", c.policy.Name(), c.budget, err)
		}
		note(i, o)
	}
	return nil
}

// leastBudget is the least number of slots that every policy can work with.
const leastBudget = 8

// askInCell asks one question in one cell for evictDuringPrompt.
func (l *lab) askInCell(ctx context.Context, kv tensor.DType, p questions.Prompt, c cell) (o outcome, err error) {
	slots := max(c.slots(len(p.Before)), leastBudget)
	policy, err := l.policy(c.policy.Name(), slots)
	if err != nil {
		return o, err
	}
	s, err := l.model.NewSession(&llama.SessionOptions{KV: kv, Eviction: policy})
	if err != nil {
		return o, err
	}
	defer s.Close()
	began := time.Now()
	if err := s.Prefill(ctx, p.Before); err != nil {
		return o, err
	}
	// The policy lets the cache grow by a few slots between two evictions. There is no room for a second reading.
	if _, err := s.Evict(slots); err != nil {
		return o, err
	}
	o.right, err = p.Answered(ctx, s)
	o.took, o.peak = time.Since(began), s.CacheUsage().PeakBytes
	return o, err
}

// never is a budget that no prompt reaches.
const never = 1 << 20

// switchablePolicy stands for several policies: it evicts only on request, by the policy in turn. The cache keeps the records that any of
// them needs, so that a prompt is read once for all of them.
type switchablePolicy struct {
	eviction.Policy // the one in turn
	tracking        kvcache.Tracking
}

// add adds a policy, makes it the one in turn, and makes the cache keep the records that it needs.
func (t *switchablePolicy) add(p eviction.Policy) {
	t.Policy = p
	if tracker, ok := p.(eviction.Tracker); ok {
		wants := tracker.Tracking()
		t.tracking.Queries = max(t.tracking.Queries, wants.Queries)
		t.tracking.Attention = t.tracking.Attention || wants.Attention
		t.tracking.Anchors = max(t.tracking.Anchors, wants.Anchors)
	}
}

// Budget returns never.
func (*switchablePolicy) Budget() int { return never }

// ShouldEvict says no.
func (*switchablePolicy) ShouldEvict(eviction.View, int64) bool { return false }

// Tracking implements eviction.Tracker.
func (t *switchablePolicy) Tracking() kvcache.Tracking { return t.tracking }

// LayerTarget implements eviction.Layered: most policies give all layers the same share.
func (t *switchablePolicy) LayerTarget(layer, layers, targetLen int) int {
	if layered, ok := t.Policy.(eviction.Layered); ok {
		return layered.LayerTarget(layer, layers, targetLen)
	}
	return targetLen
}

// Window implements eviction.Rereader: most policies do not read again.
func (t *switchablePolicy) Window() int {
	if r, ok := t.Policy.(eviction.Rereader); ok {
		return r.Window()
	}
	return 0
}
