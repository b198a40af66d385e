//go:build !opencl || !(amd64 || arm64)

package opencl_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/backend"
	_ "github.com/antigravity-go/antigravity/backend/opencl"
)

func TestNameIsKnown(t *testing.T) {
	_, err := backend.Open("opencl", backend.Options{})
	if !errors.Is(err, backend.ErrUnsupported) || !strings.Contains(err.Error(), "-tags opencl") {
		t.Errorf("opening without the tag: %v", err)
	}
}
