package main

import (
	"fmt"
	"io"

	"github.com/antigravity-go/antigravity/backend"
)

// list prints the backends with what they say of themselves, or why they cannot be used.
func list(w io.Writer, o backend.Options) error {
	for _, name := range backend.Names() {
		b, err := backend.Open(name, o)
		if err != nil {
			fmt.Fprintf(w, "%-10s unavailable: %v\n", name, err)
			devices(w, name)
			continue
		}
		fmt.Fprintf(w, "%-10s %s\n", name, describe(b))
		devices(w, name)
		if err := b.Close(); err != nil {
			return fmt.Errorf("close %s: %w", name, err)
		}
	}
	return nil
}

// describe says what a backend is and which of the optional operations are its own.
func describe(b backend.Backend) string {
	text := b.Describe()
	if _, ok := b.(backend.Preparer); ok {
		text += "; own weight layouts"
	}
	if len(b.Fusions()) > 0 {
		text += "; fused operations"
	}
	if backend.BitExact(b) {
		text += "; the reference's bits"
	}
	return text
}
