package main

import (
	"context"
	"fmt"
	"time"

	"github.com/antigravity-go/antigravity/eviction"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/tensor"
)

// measurement runs windows of text through a model.
type measurement struct {
	*options
	model    *llama.Model
	progress func(done, total int)

	policy    eviction.Policy
	tested    *llama.Session // with the memory that the flags describe
	unlimited *llama.Session // with an F32 cache of everything; nil: nothing is compared

	surprise  sample // −ln p for each token that was predicted, with the tested session's p, in nats
	reference sample // −ln p for the same tokens, with the unlimited session's p, in nats
	distance  sample // the tested session's divergence from the unlimited one's prediction of each token, in nats
	writing   writing
	agree     int // for how many tokens both find the same token the likeliest
}

// run measures all windows.
func (m *measurement) run(ctx context.Context, windows [][]llama.Token) (*result, error) {
	closeSessions, err := m.open()
	if err != nil {
		return nil, err
	}
	defer closeSessions()
	began := time.Now()
	for i, w := range windows {
		m.progress(i, len(windows))
		if err := m.window(ctx, w); err != nil {
			return nil, fmt.Errorf("window %d of %d: %w", i+1, len(windows), err)
		}
	}
	m.progress(len(windows), len(windows))
	r := &result{
		Windows: len(windows), Tokens: len(m.surprise), KV: m.memory.KV.String(), Policy: m.policy.Name(), Budget: m.policy.Budget(),
		PeakCacheBytes: m.tested.CacheUsage().PeakBytes, Seconds: time.Since(began).Seconds(),
	}
	r.Written = m.writing.result()
	r.Perplexity, r.StdErr = m.surprise.perplexity()
	if m.unlimited != nil {
		reference, _ := m.reference.perplexity()
		mean, stderr := m.distance.mean()
		kl99, agreement := m.distance.quantile(0.99), float64(m.agree)/float64(len(m.distance))
		r.Reference, r.KL, r.KLStdErr, r.KL99, r.Agreement = &reference, &mean, &stderr, &kl99, &agreement
	}
	return r, nil
}

// open opens the sessions. The function that it returns closes them.
func (m *measurement) open() (func(), error) {
	options, release, err := m.memory.Options()
	if err != nil {
		return nil, err
	}
	m.policy = options.Eviction
	if m.policy == eviction.None && options.Capacity == 0 {
		options.Capacity = max(m.ctx, m.skip+m.write)
	}
	if m.tested, err = m.model.NewSession(options); err != nil {
		release()
		return nil, err
	}
	closeAll := func() {
		m.tested.Close()
		if m.unlimited != nil {
			m.unlimited.Close()
		}
		release()
	}
	if m.compare && (options.KV != tensor.F32 || m.policy != eviction.None || m.write > 0) {
		if m.unlimited, err = m.model.NewSession(&llama.SessionOptions{KV: tensor.F32, Capacity: max(m.ctx, m.skip+m.write)}); err != nil {
			closeAll()
			return nil, err
		}
	}
	return closeAll, nil
}

// window measures one window, from empty caches.
func (m *measurement) window(ctx context.Context, t []llama.Token) error {
	if err := m.tested.Truncate(0); err != nil {
		return err
	}
	if m.unlimited == nil && m.policy == eviction.None {
		return m.score(ctx, t)
	}
	if m.unlimited != nil {
		if err := m.unlimited.Truncate(0); err != nil {
			return err
		}
	}
	for i, next := range t[1:] {
		if err := m.scoreNext(ctx, t[i], next, i+1 >= m.skip); err != nil {
			return err
		}
	}
	if m.unlimited == nil || m.write == 0 {
		return nil
	}
	return m.writeBoth(ctx, t[:m.skip], m.write)
}

// score measures a window with Score, which computes many tokens at once.
func (m *measurement) score(ctx context.Context, t []llama.Token) error {
	scores, err := m.tested.Score(ctx, t)
	if err != nil {
		return err
	}
	for _, s := range scores[max(m.skip, 1):] { // nothing comes before the first token that could predict it
		m.surprise = append(m.surprise, -float64(s))
	}
	return nil
}

// scoreNext computes a token, and measures how well the sessions then predict the next one, if it is to be judged.
func (m *measurement) scoreNext(ctx context.Context, token, next llama.Token, judged bool) error {
	if err := m.tested.Prefill(ctx, []llama.Token{token}); err != nil {
		return err
	}
	if !judged {
		if m.unlimited == nil {
			return nil
		}
		return m.unlimited.Prefill(ctx, []llama.Token{token})
	}
	logits, err := m.tested.Logits()
	if err != nil {
		return err
	}
	got := newPrediction(logits)
	m.surprise = append(m.surprise, -got.log(next))
	if m.unlimited == nil {
		return nil
	}
	if err := m.unlimited.Prefill(ctx, []llama.Token{token}); err != nil {
		return err
	}
	if logits, err = m.unlimited.Logits(); err != nil {
		return err
	}
	want := newPrediction(logits)
	m.reference = append(m.reference, -want.log(next))
	m.distance = append(m.distance, want.divergence(got))
	if want.favourite == got.favourite {
		m.agree++
	}
	return nil
}
