package experiment

import (
	"context"
	"fmt"

	"github.com/antigravity-go/antigravity/eviction"
	"github.com/antigravity-go/antigravity/examples/tools/internal/questions"
	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
)

// ask asks the questions, each in a session of its own whose cache stays within the window all the time, as evictionlab does with
// -during-prompt: a last eviction at the end of the prompt brings the cache to the window itself, and of a late question the last turn is
// read after that. An answer is right when it is exactly the expected one.
func (e *experiment) ask(ctx context.Context) (list []runs.Accuracy, err error) {
	c := e.config
	skills, err := questions.Read(c.Questions, e.skills, c.Asked)
	if err != nil {
		return nil, err
	}
	done, total := 0, 0
	for _, s := range skills {
		total += len(s.Questions)
	}
	e.progress(Asking, 0, total)
	for _, s := range skills {
		a := runs.Accuracy{Skill: s.Name, Asked: len(s.Questions)}
		for i, q := range s.Questions {
			right, err := e.askOne(ctx, &q)
			if err != nil {
				return nil, fmt.Errorf("question %d of %s: %w", i+1, s.Name, err)
			}
			if right {
				a.Right++
			}
			done++
			e.progress(Asking, done, total)
		}
		list = append(list, a)
	}
	return list, nil
}

// askOne tells whether a question is answered rightly.
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
