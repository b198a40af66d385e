package main

import (
	"context"
	"strconv"

	"github.com/antigravity-go/antigravity/examples/tools/internal/workload"
	"github.com/antigravity-go/antigravity/internal/precise"
	"github.com/antigravity-go/antigravity/llama"
)

// prompt is the test of reading a prompt.
type prompt struct{ tokens int }

func (p prompt) describe() result { return result{Test: "pp" + strconv.Itoa(p.tokens)} }

func (p prompt) constrained() bool { return false }

func (p prompt) measureOnce(ctx context.Context, b *bench, m meter) (sample, error) {
	session, tokens, err := p.open(ctx, b)
	if err != nil {
		return sample{}, err
	}
	defer session.Close()
	m.begin()
	defer m.end()
	began := precise.Now()
	if err := session.Prefill(ctx, tokens); err != nil {
		return sample{}, err
	}
	took := precise.Since(began)
	b.setting.Memory = b.model.MemoryUsage()
	return sample{rate: float64(p.tokens) / took.Seconds()}, nil
}

// open returns a session that is ready to read the prompt, and the prompt.
func (p prompt) open(ctx context.Context, b *bench) (*llama.Session, []llama.Token, error) {
	tokens := workload.Tokens(b.model, 0, b.depth+p.tokens)
	session, err := b.newSession(len(tokens))
	if err != nil {
		return nil, nil, err
	}
	// One token more than the depth, untimed: the first step of a session touches its memory for the first time.
	if err = session.Prefill(ctx, tokens[:b.depth+1]); err == nil {
		err = session.Truncate(b.depth)
	}
	if err != nil {
		session.Close()
		return nil, nil, err
	}
	return session, tokens[b.depth:], nil
}
