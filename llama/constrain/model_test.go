package constrain_test

import (
	"errors"
	"flag"
	"os"
	"testing"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/constrain"
	"github.com/antigravity-go/antigravity/llama/pebble"
)

var seeds = flag.Int("seeds", 1, "answers of each model that TestAnswersFit generates for each of our schemas")

// otherModel names a model that TestAnswersFit lets answer too: one of random weights and a real shape, say, as examples/tools/mkmodel
// makes.
const otherModel = "ANTIGRAVITY_CONSTRAINED_MODEL"

// TestAnswersFit lets models answer at a temperature at which they write nonsense. Every answer that comes to its end has to fit, and
// those that must end do.
func TestAnswersFit(t *testing.T) {
	model, err := pebble.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	answersFit(t, model)
	if path := os.Getenv(otherModel); path != "" {
		other, err := llama.Load(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		answersFit(t, other)
	}
}

func answersFit(t *testing.T, model *llama.Model) {
	session, err := model.NewSession(&llama.SessionOptions{Capacity: 2000})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	prompt := model.Tokenizer().EncodeSpecial("Answer in JSON: ", true)
	answers, complete, forced := 0, 0, 0
	for _, s := range ourSchemas(t) {
		constraint, err := constrain.JSONSchema(model.Tokenizer(), s.Schema)
		var unsupported *constrain.UnsupportedError
		if errors.As(err, &unsupported) {
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", s.Name, err)
			continue
		}
		judge := validator(t, s.Schema)
		most := 100
		if s.Bounded {
			most = 1500
		}
		for seed := range uint64(*seeds) {
			if _, err := session.Sync(t.Context(), prompt); err != nil {
				t.Fatal(err)
			}
			answer, err := llama.Collect(session.Generate(t.Context(), nil, llama.Params{Constraint: constraint, Temperature: 1.5, Seed: seed, MaxTokens: most}))
			answers++
			forced += answer.Stats.ForcedTokens
			switch {
			case err != nil:
			case answer.Stop == llama.EndOfTurn:
				complete++
				err = judge([]byte(answer.Text))
			case s.Bounded:
				err = errors.New(answer.Stop.String())
			}
			if err != nil {
				t.Errorf("%s, seed %d: %v\n%s", s.Name, seed, err, answer.Text)
			}
		}
	}
	t.Logf("%d answers, %d complete, %d forced tokens", answers, complete, forced)
}
