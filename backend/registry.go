package backend

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Options configure a backend that is opened by name.
type Options struct {
	// Threads is how many threads a backend on the host computes with; 0: GOMAXPROCS.
	Threads int
	// Device chooses among several devices, in the backend's own terms; "": the backend's choice.
	Device string
}

// registry holds what init functions register; nothing changes it afterwards.
var registry struct {
	sync.RWMutex
	open map[string]func(Options) (Backend, error)
}

// Register makes a backend available to Open. Packages call it from init; a second registration of a name replaces the first.
func Register(name string, open func(Options) (Backend, error)) {
	registry.Lock()
	defer registry.Unlock()
	if registry.open == nil {
		registry.open = make(map[string]func(Options) (Backend, error))
	}
	registry.open[name] = open
}

// Names lists the registered backends.
func Names() []string {
	registry.RLock()
	defer registry.RUnlock()
	return slices.Sorted(maps.Keys(registry.open))
}

// Open makes the backend registered under a name.
func Open(name string, o Options) (Backend, error) {
	registry.RLock()
	open := registry.open[name]
	registry.RUnlock()
	if open == nil {
		return nil, fmt.Errorf("backend: no backend %q: this program has %s", name, strings.Join(Names(), ", "))
	}
	b, err := open(o)
	if err != nil {
		return nil, fmt.Errorf("backend: open %s: %w", name, err)
	}
	return b, nil
}
