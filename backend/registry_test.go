package backend_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/backend"
	_ "github.com/antigravity-go/antigravity/backend/cpu" // registers "cpu"
)

func TestRegistry(t *testing.T) {
	if !slices.Contains(backend.Names(), "cpu") {
		t.Error("cpu is not registered")
	}
	b, err := backend.Open("cpu", backend.Options{Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if !strings.Contains(b.Describe(), "2 threads") {
		t.Errorf("described as %q", b.Describe())
	}
	if _, err := backend.Open("abacus", backend.Options{}); err == nil || !strings.Contains(err.Error(), "cpu") {
		t.Errorf("an unknown backend: %v", err)
	}
	if _, err := backend.Open("cpu", backend.Options{Threads: -1}); err == nil || !strings.Contains(err.Error(), "Threads is -1") {
		t.Errorf("a negative number of threads: %v", err)
	}
}
