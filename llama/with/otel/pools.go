package otel

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve"
)

// poolFigures are what a pool does now.
type poolFigures struct {
	model string
	llama.PoolStats
}

// WatchPool adds the figures of a pool to the metrics, until stop is called. model is how they name its model.
func (t *Telemetry) WatchPool(model string, p *llama.Pool) (stop func()) {
	return t.watch(func() []poolFigures { return []poolFigures{{model, p.Stats()}} })
}

// WatchServer adds the figures of a server's models that are loaded to the metrics, until stop is called. Answers that wait are those in the
// server's queues.
func (t *Telemetry) WatchServer(s *serve.Server) (stop func()) {
	return t.watch(func() (list []poolFigures) {
		stats := s.Stats()
		for i := range stats.Models {
			m := &stats.Models[i]
			if !m.Loaded {
				continue
			}
			f := poolFigures{m.Name, m.Pool}
			f.InUse, f.Waiting, f.WaitCount, f.WaitDuration = m.Answers, m.Waiting, m.Waited, m.Wait
			list = append(list, f)
		}
		return list
	})
}

// watch adds a source of figures.
func (t *Telemetry) watch(read func() []poolFigures) (stop func()) {
	s := &source{read}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.watched[s] = true
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.watched, s)
	}
}

// sources returns those that are watched.
func (t *Telemetry) sources() (list []*source) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for s := range t.watched {
		list = append(list, s)
	}
	return list
}

// registerPools makes the instruments of pools.
func (t *Telemetry) registerPools(meter metric.Meter) error {
	var errs [8]error
	level := func(name, unit, description string, err *error) (c metric.Int64ObservableUpDownCounter) {
		c, *err = meter.Int64ObservableUpDownCounter("antigravity.pool."+name, metric.WithUnit(unit), metric.WithDescription(description))
		return c
	}
	count := func(name, unit, description string, err *error) (c metric.Int64ObservableCounter) {
		c, *err = meter.Int64ObservableCounter("antigravity.pool."+name, metric.WithUnit(unit), metric.WithDescription(description))
		return c
	}
	answers := level("answers", "{answer}", "Answers that are computed, or wait for their turn.", &errs[0])
	conversations := level("conversations", "{conversation}", "Conversations that are over, and cached.", &errs[1])
	size := level("cache.size", "By", "Memory of the conversations' keys, values and states.", &errs[2])
	limit := level("cache.limit", "By", "Memory that cache.size may reach, before cached conversations are given up.", &errs[3])
	tokens := count("prompt.tokens", "{token}", "Tokens of prompts: computed, or cached already.", &errs[4])
	waited := count("waited", "{answer}", "Answers that had to wait, and no longer do.", &errs[5])
	dropped := count("conversations.dropped", "{conversation}", "Cached conversations that were given up for want of memory.", &errs[6])
	wait, err := meter.Float64ObservableCounter("antigravity.pool.wait.duration", metric.WithUnit("s"), metric.WithDescription("How long answers waited, all together."))
	errs[7] = err
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	_, err = meter.RegisterCallback(func(_ context.Context, to metric.Observer) error {
		for _, s := range t.sources() {
			for _, f := range s.read() {
				with := func(key, value string) metric.ObserveOption {
					list := []attribute.KeyValue{attribute.String("gen_ai.request.model", f.model)}
					if key != "" {
						list = append(list, attribute.String(key, value))
					}
					return metric.WithAttributes(list...)
				}
				to.ObserveInt64(answers, int64(f.InUse), with("antigravity.state", "running"))
				to.ObserveInt64(answers, int64(f.Waiting), with("antigravity.state", "waiting"))
				to.ObserveInt64(conversations, int64(f.Idle), with("", ""))
				to.ObserveInt64(size, f.Bytes, with("", ""))
				to.ObserveInt64(limit, f.MaxBytes, with("", ""))
				to.ObserveInt64(tokens, f.ReusedTokens, with("antigravity.state", "cached"))
				to.ObserveInt64(tokens, f.ComputedTokens, with("antigravity.state", "computed"))
				to.ObserveInt64(waited, f.WaitCount, with("", ""))
				to.ObserveInt64(dropped, f.Evicted, with("", ""))
				to.ObserveFloat64(wait, f.WaitDuration.Seconds(), with("", ""))
			}
		}
		return nil
	}, answers, conversations, size, limit, tokens, waited, dropped, wait)
	return err
}
