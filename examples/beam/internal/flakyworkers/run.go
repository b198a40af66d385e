package flakyworkers

import (
	"context"
	"flag"
	"fmt"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
)

// Run runs a pipeline on a prism of its own, in this process, and a pool of flaky workers. Beam's flags are others while it runs, so two must not run
// at the same time.
func Run(ctx context.Context, p *beam.Pipeline, options Options) (beam.PipelineResult, Counts, error) {
	pool, err := New(options)
	if err != nil {
		return nil, Counts{}, err
	}
	defer pool.Close()
	// Prism sets the endpoint when it starts, and must find it empty: with an endpoint set, it does not choose an environment for the next
	// pipeline, which would then have no environment.
	for _, f := range append(pool.Flags(), "--endpoint=") {
		name, value, _ := strings.Cut(strings.TrimPrefix(f, "--"), "=")
		if known := flag.Lookup(name); known != nil {
			before := known.Value.String()
			defer known.Value.Set(before)
		}
		if err := flag.Set(name, value); err != nil {
			return nil, Counts{}, fmt.Errorf("setting Beam's flag %s: %w", name, err)
		}
	}
	result, err := prism.Execute(ctx, p)
	pool.Close() // counts change no more
	return result, pool.Counts(), err
}
