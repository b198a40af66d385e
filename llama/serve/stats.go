package serve

// Stats tell what a Server is doing.
type Stats struct {
	Running int // requests that are being served, those that wait for their turn included
}

// Stats returns the present figures.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Stats{Running: len(s.running)}
}
