package serve

import (
	"time"

	"github.com/antigravity-go/antigravity/llama"
)

// Stats describe what a Server is doing.
type Stats struct {
	Running int          // requests that are being served, those that wait for their turn included
	Closing bool         // Shutdown or Close was called: no more requests are let in
	Memory  MemoryStats  // of the requests
	Models  []ModelStats // in the order of Options.Models
}

// MemoryStats describe how much requests hold of the memory that Options.RequestBytes bounds.
type MemoryStats struct {
	Bytes    int64 // held now
	Answers  int64 // of Bytes: answers that wait to be sent, because their clients read slowly or want them whole
	MaxBytes int64 // Options.RequestBytes, with the default filled in
	Peak     int64 // the most that was held at once
	Refused  int64 // times that a request was refused because it would have held more
}

// ModelStats describe what a model of a Server is doing, and has done.
type ModelStats struct {
	Name     string
	Loaded   bool
	Requests int          // that use it, or wait for a place
	Bytes    int64        // of its weights, caches, workspaces and constraints; 0 while it is not loaded
	Memory   llama.Memory // by its use; 0 while it is not loaded

	Answers int           // that are being computed
	Waiting int           // answers that wait for a place
	Waited  int64         // answers that had to wait, and no longer do
	Wait    time.Duration // how long these waited, all together
	Refused int64         // requests that were refused because too many waited

	Pool llama.PoolStats // since the model was loaded
}

// Stats returns the present figures.
func (s *Server) Stats() Stats {
	n, closing := s.running.count()
	memory := s.budget.Stats()
	stats := Stats{Running: n, Closing: closing, Memory: MemoryStats{memory.Held, memory.Answers, memory.Most, memory.Peak, memory.Refused}}
	for _, m := range s.service.Models.List() {
		stats.Models = append(stats.Models, ModelStats{
			Name: m.Name, Loaded: m.Loaded, Requests: m.InUse, Bytes: m.Bytes, Memory: m.Memory,
			Answers: m.Queue.InUse, Waiting: m.Queue.Waiting, Waited: m.Queue.Waited, Wait: m.Queue.Wait, Refused: m.Queue.Refused,
			Pool: m.Pool,
		})
	}
	return stats
}
