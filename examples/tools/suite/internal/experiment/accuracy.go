package experiment

import (
	"context"
	"fmt"

	"github.com/antigravity-go/antigravity/eviction"
	"github.com/antigravity-go/antigravity/examples/tools/internal/questions"
	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
)

// ask asks the questions, each in a session of its own. As in evictionlab with -during-prompt, the cache stays within the window all the
// time: a last eviction at the end of the prompt brings the cache to the window itself, and if the question comes late, its last turn is
// read after that. An answer is right if it is exactly the expected one.
func (e *experiment) ask(ctx context.Context) error {
	done, total := 0, 0
	for _, s := range e.asked {
		total += len(s.Questions)
	}
	for _, s := range e.asked {
		a := runs.Accuracy{Skill: s.Name, Asked: len(s.Questions)}
		for i, q := range s.Questions {
			e.progress(Asking, done, total)
			right, err := e.askOne(ctx, &q)
			if err != nil {
				return fmt.Errorf("question %d of %s: %w", i+1, s.Name, err)
			}
			if right {
				a.Right++
			}
			done++
		}
		e.run.Accuracy = append(e.run.Accuracy, a)
	}
	if total > 0 {
		e.progress(Asking, done, total)
	}
	return nil
}

// askOne reports whether a question is answered rightly.
func (e *experiment) askOne(ctx context.Context, q *questions.Question) (bool, error) {
	p, err := q.Render(e.model.Tokenizer())
	if err != nil {
		return false, err
	}
	session, err := e.session(e.model, p.Tokens())
	if err != nil {
		return false, err
	}
	defer session.Close()
	if err := session.Prefill(ctx, p.Before); err != nil {
		return false, err
	}
	if e.policy != eviction.None {
		if _, err := session.Evict(e.config.Window); err != nil {
			return false, err
		}
	}
	return p.Answered(ctx, session)
}
