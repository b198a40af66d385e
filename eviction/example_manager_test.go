package eviction_test

import (
	"fmt"

	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/eviction"
	"github.com/antigravity-go/antigravity/eviction/monitor"
	"github.com/antigravity-go/antigravity/kvcache"
	"github.com/antigravity-go/antigravity/tensor"
)

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
	const tokens = 400
	cache, err := kvcache.NewStore(cpu.New(1), tokens, 2, 2, 64).New(tensor.F16, tokens)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer cache.Free()
	keys, err := tensor.FromFloats(make([]float32, tokens*2*64), tokens, 2, 64)
	if err == nil {
		err = cache.Update(keys, keys) // as a model fills it
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	warnings.Signal(0, 0)
	if err := manager.Watch(); err != nil {
		fmt.Println(err)
		return
	}
	result, err := manager.EvictIfDue([]*kvcache.Cache{cache})
	fmt.Println(result.Reason, result.Slots, cache.Len(), err)
	// Output: memory pressure 200 200 <nil>
}
