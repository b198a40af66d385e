package serve

import (
	"context"
	"fmt"
)

// Preload loads models that are loaded on demand otherwise, one after the other, so that a wrong path is noticed at once and the first
// request need not wait. Without names it loads all; within Options.ModelBytes, the later ones may drive the earlier ones out.
func (s *Server) Preload(ctx context.Context, names ...string) error {
	if len(names) == 0 {
		for _, m := range s.options.Models {
			names = append(names, m.Name)
		}
	}
	for _, name := range names {
		lease, err := s.service.Models.Lease(ctx, name)
		if err != nil {
			return fmt.Errorf("serve: %w", err)
		}
		lease.Close()
	}
	return nil
}
