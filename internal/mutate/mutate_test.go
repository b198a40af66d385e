package mutate

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
)

func TestJSON(t *testing.T) {
	const document = `{"a": [1, 2.5, {"b": "text"}], "c": true, "d": null}`
	valid, same := 0, 0
	for seed := range uint64(2000) {
		mutant := JSON(rand.New(rand.NewPCG(seed, 0)), document)
		if again := JSON(rand.New(rand.NewPCG(seed, 0)), document); again != mutant {
			t.Fatalf("seed %d makes %s and %s", seed, mutant, again)
		}
		if json.Valid([]byte(mutant)) {
			valid++
		}
		if mutant == `{"a":[1,2.5,{"b":"text"}],"c":true,"d":null}` {
			same++
		}
	}
	if valid < 1600 || same > 200 {
		t.Errorf("of 2000 mutants %d are JSON, and %d are no mutants", valid, same)
	}
}
