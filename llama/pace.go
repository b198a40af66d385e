package llama

import "time"

// maxAhead is how much work a device may have been given and not done yet when the host looks at a context: what it has been
// given cannot be taken back.
const maxAhead = 30 * time.Millisecond

// pace keeps the host from running far ahead of a device that computes while the host goes on, in a prompt. It knows from
// experience how long a layer takes, so that a fast device is seldom waited for.
type pace struct {
	layer time.Duration // that a layer takes for a token; 0: not known yet
	since time.Time     // when the device was last known to be done
	ahead int           // tokens of layers that it was given since
}

// wait waits for the device if that may have much left to do, before a layer of some tokens.
func (p *pace) wait(d *device, tokens int) error {
	switch {
	case p.ahead == 0:
		p.since = time.Now()
	case p.layer == 0 || time.Duration(p.ahead)*p.layer >= maxAhead:
		if err := d.Synchronize(); err != nil {
			return err
		}
		now := time.Now()
		p.layer = max(now.Sub(p.since)/time.Duration(p.ahead), 1)
		p.since, p.ahead = now, 0
	}
	p.ahead += tokens
	return nil
}
