package builtins

import (
	"context"

	"github.com/antigravity-go/antigravity/internal/jinja/texts"
	"github.com/antigravity-go/antigravity/internal/jinja/values"
)

// NewEnvironment returns an environment for one rendering, which ends with ctx.
func NewEnvironment(ctx context.Context) *Environment {
	runtime := values.Runtime{Meter: texts.NewMeter(ctx, 1), Matched: map[texts.Origin]bool{}}
	return &Environment{runtime, Filters, Tests, MethodsOf}
}
