package eviction_test

import (
	"errors"
	"fmt"

	"github.com/antigravity-go/antigravity/eviction"
)

// Command lines choose a policy by its name; errors say what there is to choose from.
func ExampleByName() {
	policy, err := eviction.ByName("snapkv", eviction.Options{Budget: 512})
	fmt.Println(policy.Name(), policy.Budget(), err)
	_, err = eviction.ByName("lru", eviction.Options{Budget: 512})
	fmt.Println(err)
	_, err = eviction.ByName("snapkv", eviction.Options{Budget: 16, Observation: 32})
	fmt.Println(errors.Is(err, eviction.ErrOptions))
	// Output:
	// snapkv 512 <nil>
	// eviction: bad options: no policy is named "lru"; the names are none, sliding, snapkv, pyramidkv, ada, h2o, tova, keydiff, expected, kvzip, random
	// true
}
