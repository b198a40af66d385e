package constrain_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"math/big"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/llama"
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
	Until    *time.Time         `json:"until"`
	Level    slog.Level         `json:"level"`
	Big      big.Int            `json:"big"`
	Part     big.Rat            `json:"part"`
	Real     big.Float          `json:"real"`
	Number   json.Number        `json:"number"`
	Raw      json.RawMessage    `json:"raw"`
	Any      any                `json:"any"`
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

// TestTypesThatDecodeThemselves wants errors for types that decode themselves in an unknown way.
func TestTypesThatDecodeThemselves(t *testing.T) {
	tokenizer := pebbleTokenizer(t)
	for name, c := range map[string]struct {
		make func(*llama.Tokenizer) (llama.Constraint, error)
		want string
	}{
		"a type with UnmarshalText": {constrain.JSONFor[struct{ Host []netip.Addr }], "netip.Addr decodes itself"},
		"keys with UnmarshalText":   {constrain.JSONFor[map[netip.Addr]int], "keys of map[netip.Addr]int"},
		"an interface with methods": {constrain.JSONFor[struct{ Name fmt.Stringer }], "interface with methods"},
		"the option string": {constrain.JSONFor[struct {
			N int `json:",string"`
		}], "option string"},
		"what cannot be JSON": {constrain.JSONFor[struct{ C chan int }], "chan"},
	} {
		if _, err := c.make(tokenizer); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: the error is %v, want one with %q", name, err, c.want)
		}
	}
	if _, err := constrain.JSONFor[struct {
		Skipped netip.Addr `json:"-"`
	}](tokenizer); err != nil {
		t.Error(err)
	}
}
