package main

import (
	"context"
	"fmt"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/universal/extworker"
)

// servePool serves workers in this process until the context ends: as many as runners ask for, all with the same models. A machine of a
// cluster starts it next to the runner's own process, and the pipeline runs with -environment_type=EXTERNAL
// -environment_config=localhost:port.
func servePool(ctx context.Context, port int) error {
	pool, err := extworker.StartLoopback(ctx, port)
	if err != nil {
		return fmt.Errorf("serve workers at port %d: %w", port, err)
	}
	fmt.Printf("serving workers at %s\n", pool.EnvironmentConfig(ctx))
	<-ctx.Done()
	return pool.Stop(context.WithoutCancel(ctx))
}
