package eviction_test

import (
	"errors"
	"fmt"

	"github.com/antigravity-go/antigravity/eviction"
	"github.com/antigravity-go/antigravity/eviction/monitor"
	"github.com/antigravity-go/antigravity/kvcache"
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

// A host program hears from its system that memory is short, and says so; the manager, which sessions ask between tokens,
// then gives up a part of the caches.
func ExampleManager() {
	policy, _ := eviction.NewSlidingWindow(4092, 4)
	warnings := monitor.NewPushed(nil)
	manager, err := eviction.NewManager[*kvcache.Cache](policy, eviction.ManagerOptions{Monitor: warnings, Threshold: 64 << 20, TargetRatio: 0.5, Floor: 16})
	if err != nil {
		fmt.Println(err)
		return
	}
	cache := filled(400)
	defer cache.Free()
	warnings.Signal(0, 0)
	if err := manager.Watch(); err != nil {
		fmt.Println(err)
		return
	}
	result, err := manager.EvictIfDue([]*kvcache.Cache{cache})
	fmt.Println(result.Reason, result.Slots, cache.Len(), err)
	// Output: memory pressure 200 200 <nil>
}
