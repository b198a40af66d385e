package constrain_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/llama/constrain"
)

// everyKind has fields of the kinds that programs ask for.
type everyKind struct {
	Name     string             `json:"name"`
	Small    int8               `json:"small"`
	Unsigned uint16             `json:"unsigned"`
	Count    int                `json:"count"`
	Large    uint64             `json:"large"`
	Half     float32            `json:"half"`
	Ratio    float64            `json:"ratio"`
	Yes      bool               `json:"yes"`
	Tags     []string           `json:"tags"`
	Pair     [2]int             `json:"pair"`
	Scores   map[string]int32   `json:"scores"`
	Optional *int               `json:"optional,omitempty"`
	When     time.Time          `json:"when"`
	Inner    struct{ A, B int } `json:"inner"`
}

// TestDrawnAnswersDecode draws documents of a Go type and reads them into it: numbers have to be in their fields' ranges, times to be times.
func TestDrawnAnswersDecode(t *testing.T) {
	tokenizer := pebbleTokenizer(t)
	constraint, err := constrain.JSONFor[everyKind](tokenizer)
	if err != nil {
		t.Fatal(err)
	}
	complete := 0
	for name, draw := range drawings {
		for seed := range uint64(4 * *documents) {
			text, ended, err := newWriter(tokenizer, seed).write(constraint, draw)
			if ended {
				complete++
				err = json.Unmarshal(text, new(everyKind))
			}
			if err != nil {
				t.Errorf("%s, seed %d: %v\n%s", name, seed, err, text)
			}
		}
	}
	if complete == 0 {
		t.Error("no document came to its end")
	}
}
