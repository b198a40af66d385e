package constrain_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/constrain"
	"github.com/antigravity-go/antigravity/llama/pebble"
)

var (
	seeds      = flag.Int("seeds", 1, "answers of each model that TestAnswersFit generates for each of our schemas")
	answersFor = flag.Duration("answers-for", 0, "end TestAnswersFit's answers of a model when this time has passed; 0: never")
)

// otherModel names a model that TestAnswersFit lets answer too: one of random weights and a real shape, say, as examples/tools/mkmodel
// makes.
const otherModel = "ANTIGRAVITY_CONSTRAINED_MODEL"

// TestAnswersFit lets models answer at a temperature at which they write nonsense. Every answer that comes to its end has to fit, and
// those that must end do.
func TestAnswersFit(t *testing.T) {
	effort.Turn(t, 8)
	t.Run("Pebble", func(t *testing.T) {
		model, err := pebble.Load(nil)
		if err != nil {
			t.Fatal(err)
		}
		defer model.Close()
		answersFit(t, model, model.Tokenizer().EncodeSpecial("Answer in JSON: ", true))
	})
	t.Run("other", func(t *testing.T) {
		path := os.Getenv(otherModel)
		if path == "" {
			t.Skip(otherModel + " names no model")
		}
		model, err := llama.Load(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer model.Close()
		answersFit(t, model, model.Tokenizer().EncodeSpecial("", true))
	})
}

// asked is a schema, and the seed of an answer that is to fit it.
type asked struct {
	*ourSchema
	constraint llama.Constraint
	judge      func(text []byte) error
	seed       uint64
}

// answersFit lets a model answer all of our schemas, several together, for as many seeds as the flags ask for: all schemas with one seed,
// then with the next.
func answersFit(t *testing.T, model *llama.Model, prompt []llama.Token) {
	const together = 16
	pool, err := model.NewPool(&llama.PoolOptions{MaxSessions: together})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	var all []asked
	for _, s := range ourSchemas(t) {
		constraint, err := constrain.JSONSchema(model.Tokenizer(), s.Schema)
		var unsupported *constrain.UnsupportedError
		switch {
		case errors.As(err, &unsupported):
		case err != nil:
			t.Errorf("%s: %v", s.Name, err)
		default:
			all = append(all, asked{s, constraint, validator(t, s.Schema), 0})
		}
	}
	var (
		mu                              sync.Mutex
		answers, complete, forced, text int
		answering                       sync.WaitGroup
	)
	begin, questions := time.Now(), make(chan asked)
	for range together {
		answering.Go(func() {
			for q := range questions {
				answer, err := q.answer(t, pool, prompt)
				if err != nil {
					t.Errorf("%s, seed %d: %v\n%s", q.Name, q.seed, err, answer.Text)
				}
				mu.Lock()
				answers++
				if answer.Stop == llama.EndOfTurn {
					complete++
				}
				forced += answer.Stats.ForcedTokens
				text += answer.Stats.GeneratedTokens
				mu.Unlock()
			}
		})
	}
	for seed := range uint64(*seeds) {
		if *answersFor > 0 && time.Since(begin) > *answersFor {
			break
		}
		for _, q := range all {
			q.seed = seed
			questions <- q
		}
	}
	close(questions)
	answering.Wait()
	t.Logf("%d answers to %d schemas, %d complete, of %d tokens, %d forced", answers, len(all), complete, text, forced)
	if complete < answers/4 {
		t.Errorf("%d of %d answers came to their end: too few are judged", complete, answers)
	}
}

// answer lets a model answer, and judges what it says. Only an answer to a schema with long documents may be cut off.
func (q asked) answer(t *testing.T, pool *llama.Pool, prompt []llama.Token) (llama.Piece, error) {
	most := 60
	if q.Bounded {
		most = 1500
	}
	answer, err := llama.Collect(pool.Generate(t.Context(), slices.Clone(prompt), llama.Params{Constraint: q.constraint, Temperature: 1.5, Seed: q.seed, MaxTokens: most}))
	switch {
	case err != nil:
		return answer, err
	case answer.Stop == llama.EndOfTurn:
		return answer, q.judge([]byte(answer.Text))
	case q.Bounded:
		return answer, fmt.Errorf("the answer ends with %v after %d tokens", answer.Stop, most)
	}
	return answer, nil
}
