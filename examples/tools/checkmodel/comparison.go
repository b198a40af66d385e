package main

import (
	"context"
	"fmt"
	"io"
	"math"

	"github.com/antigravity-go/antigravity/llama"
)

// comparison compares a model's logits with golden ones. The difference of two rows of logits is the greatest of an element;
// the relative difference is that divided by the greatest magnitude of a golden element.
type comparison struct {
	model   *llama.Model
	options *llama.SessionOptions

	rows                 int     // rows of logits compared
	worst, worstRelative float64 // the greatest difference, and relative difference, of a row
	where                string  // the row of worstRelative
	agreed, disagreed    int     // greedy tokens that the model would choose too, and those that it would not
	firstDisagreement    int     // the index of the first token that it would not choose, if there is one
	hasGreedy            bool    // greedy tokens were compared
}

// run compares everything that a golden file has. Logits are computed twice: token by token, as answers are, and all at once,
// as prompts are.
func (c *comparison) run(ctx context.Context, g *golden, prompt int) error {
	for i, one := range g.cases {
		name := fmt.Sprintf("text %d", i)
		if err := c.oneByOne(ctx, one, name); err != nil {
			return fmt.Errorf("compute %s: %w", name, err)
		}
		if err := c.atOnce(ctx, one, name); err != nil {
			return fmt.Errorf("compute %s at once: %w", name, err)
		}
	}
	if g.greedy == nil {
		return nil
	}
	if prompt >= len(g.greedy) {
		return fmt.Errorf("-prompt-tokens is %d, but greedy_ids has %d", prompt, len(g.greedy))
	}
	return c.greedy(ctx, g.greedy, prompt)
}

// session runs do with a new session.
func (c *comparison) session(do func(s *llama.Session) error) error {
	s, err := c.model.NewSession(c.options)
	if err != nil {
		return err
	}
	defer s.Close()
	return do(s)
}

func (c *comparison) oneByOne(ctx context.Context, g goldenCase, name string) error {
	return c.session(func(s *llama.Session) error {
		for i := range g.ids {
			if err := s.Prefill(ctx, g.ids[i:i+1]); err != nil {
				return err
			}
			if want, ok := g.logits[i]; ok {
				if err := c.compare(s, want, fmt.Sprintf("%s, token %d", name, i)); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func (c *comparison) atOnce(ctx context.Context, g goldenCase, name string) error {
	return c.session(func(s *llama.Session) error {
		if err := s.Prefill(ctx, g.ids); err != nil {
			return err
		}
		return c.compare(s, g.logits[len(g.ids)-1], name+", at once")
	})
}

// compare notes how much a session's logits differ from golden ones; where names their place.
func (c *comparison) compare(s *llama.Session, want []float32, where string) error {
	got, err := s.Logits()
	if err != nil {
		return err
	}
	if len(got) != len(want) {
		return fmt.Errorf("the golden logits are for a vocabulary of %d, the model's has %d", len(want), len(got))
	}
	difference, scale := 0.0, 0.0
	for i := range want {
		d := math.Abs(float64(got[i]) - float64(want[i]))
		if math.IsNaN(d) {
			d = math.Inf(1)
		}
		difference, scale = max(difference, d), max(scale, math.Abs(float64(want[i])))
	}
	relative := difference / max(scale, math.SmallestNonzeroFloat32)
	c.rows++
	c.worst = max(c.worst, difference)
	if relative > c.worstRelative || c.rows == 1 {
		c.worstRelative, c.where = relative, where
	}
	return nil
}

// greedy counts the tokens after the prompt that the model would choose too. Before each choice the model gets the
// reference's tokens, not its own, so that one difference does not make others.
func (c *comparison) greedy(ctx context.Context, ids []llama.Token, prompt int) error {
	c.hasGreedy = true
	return c.session(func(s *llama.Session) error {
		if err := s.Prefill(ctx, ids[:prompt]); err != nil {
			return fmt.Errorf("compute the greedy tokens' prompt: %w", err)
		}
		for i := prompt; i < len(ids); i++ {
			logits, err := s.Logits()
			if err != nil {
				return err
			}
			if likeliest(logits) == ids[i] {
				c.agreed++
			} else if c.disagreed++; c.disagreed == 1 {
				c.firstDisagreement = i
			}
			if err := s.Prefill(ctx, ids[i:i+1]); err != nil {
				return fmt.Errorf("compute greedy token %d: %w", i, err)
			}
		}
		return nil
	})
}

func likeliest(logits []float32) llama.Token {
	best := 0
	for i, x := range logits {
		if x > logits[best] {
			best = i
		}
	}
	return llama.Token(best)
}

// judge prints the outcome, and returns an error when it is out of tolerance.
func (c *comparison) judge(w io.Writer, tolerance float64) error {
	fmt.Fprintf(w, "logits: %d rows, worst difference %.3g absolute, %.3g relative (%s)\n", c.rows, c.worst, c.worstRelative, c.where)
	if c.hasGreedy {
		fmt.Fprintf(w, "greedy: %d of %d tokens agree\n", c.agreed, c.agreed+c.disagreed)
	}
	if !(c.worstRelative <= tolerance) {
		return fmt.Errorf("the logits differ by %.3g, more than the tolerance of %g", c.worstRelative, tolerance)
	}
	if c.disagreed > 0 {
		return fmt.Errorf("%d greedy tokens differ, the first is number %d", c.disagreed, c.firstDisagreement)
	}
	return nil
}
