package flint_test

import (
	"encoding/json"
	"flag"
	"os"
	"sync"
	"testing"

	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/constrain"
)

var (
	endings   = flag.Int("endings", 6, "answers that TestWhatIsBegunEnds draws for each schema")
	endingsTo = flag.String("endings-to", "", "file for the schemas and answers of TestWhatIsBegunEnds, for another judge; empty: no file")
)

// begun are schemas of values that a model could go on with for ever: with digits, most of all.
var begun = []struct{ name, schema string }{
	{"a number from 0 to 1", `{"type":"number","minimum":0,"maximum":1}`},
	{"a number from 0 to 5", `{"type":"number","minimum":0,"maximum":5}`},
	{"a number between -1 and 1", `{"type":"number","exclusiveMinimum":-1,"exclusiveMaximum":1}`},
	{"any number", `{"type":"number"}`},
	{"a whole number", `{"type":"integer"}`},
	{"a price", `{"type":"number","minimum":0,"multipleOf":0.01}`},
	{"a year", `{"type":"integer","minimum":1900,"maximum":2100}`},
	{"a date and time", `{"type":"string","format":"date-time"}`},
	{"a time", `{"type":"string","format":"time"}`},
	{"a duration", `{"type":"string","format":"duration"}`},
	{"a tuple", `{"type":"array","prefixItems":[{"type":"string","enum":["a","b"]},{"type":"number"},{"type":"integer"}],"items":false,"minItems":3}`},
}

// TestWhatIsBegunEnds draws answers at a temperature that people use, for values that a model once went on with until its last token. All
// of them end, and fit.
func TestWhatIsBegunEnds(t *testing.T) {
	effort.Turn(t, 8)
	const together = 16
	pool, err := model(t).NewPool(&llama.PoolOptions{MaxSessions: together})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	type record struct {
		Schema json.RawMessage `json:"schema"`
		Answer string          `json:"answer"`
	}
	var records []record
	for _, b := range begun {
		schema := []byte(`{"type":"object","properties":{"score":` + b.schema + `},"required":["score"],"additionalProperties":false}`)
		constraint, err := constrain.JSONSchema(model(t).Tokenizer(), schema)
		if err != nil {
			t.Fatal(err)
		}
		history := []llama.Message{{Role: llama.RoleUser, Content: "How sure are you that the capital of Japan is Tokyo? Answer with a score."}}
		var mu sync.Mutex
		var answering sync.WaitGroup
		seeds, longest := make(chan uint64), 0
		for range together {
			answering.Go(func() {
				for seed := range seeds {
					answer, err := llama.Collect(pool.Chat(t.Context(), history, llama.Params{Constraint: constraint, Temperature: 0.7, Seed: seed, MaxTokens: 120}))
					if err == nil && answer.Stop == llama.EndOfTurn {
						err = fits(schema, []byte(answer.Text))
					}
					mu.Lock()
					longest = max(longest, answer.Stats.GeneratedTokens)
					records = append(records, record{schema, answer.Text})
					mu.Unlock()
					if err != nil || answer.Stop != llama.EndOfTurn {
						t.Errorf("%s, seed %d: %s ends with %v, %v", b.name, seed, answer.Text, answer.Stop, err)
					}
				}
			})
		}
		for seed := range uint64(*endings) {
			seeds <- seed + 1
		}
		close(seeds)
		answering.Wait()
		t.Logf("%s: %d answers, the longest of %d tokens", b.name, *endings, longest)
	}
	if *endingsTo != "" {
		f, err := os.Create(*endingsTo)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for _, r := range records {
			if err := json.NewEncoder(f).Encode(r); err != nil {
				t.Fatal(err)
			}
		}
	}
}
