package engine

import (
	"time"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/precise"
)

// maxAhead is how long a device may still have to compute, at most, when the host looks at a context in a prompt: work that a
// device has been given cannot be cancelled.
const maxAhead = 30 * time.Millisecond

// pace keeps the host from running far ahead of a device that computes while the host goes on, in a prompt. It measures how long
// the device takes for a layer, and lets the host wait only when the layers given to the device may take longer than maxAhead.
type pace struct {
	layer time.Duration // how long the device takes for one token's pass through one layer; 0: not measured yet
	since time.Time     // when the device was last known to have nothing to do
	ahead int           // how many tokens' passes through a layer the device was given since then
}

// wait is called before the device is given a layer of some tokens: it waits for the device if that may have much left to do.
func (p *pace) wait(d backend.Backend, tokens int) error {
	switch {
	case p.ahead == 0:
		p.since = precise.Now()
	case p.layer == 0 || time.Duration(p.ahead)*p.layer >= maxAhead:
		if err := d.Synchronize(); err != nil {
			return err
		}
		now := precise.Now()
		p.layer = max(now.Sub(p.since)/time.Duration(p.ahead), 1)
		p.since, p.ahead = now, 0
	}
	p.ahead += tokens
	return nil
}
