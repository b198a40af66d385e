package llama

// logitsOf returns a session's logits, or nil or the session is closed.
func logitsOf(s *Session) []float32 {
	l, err := s.Logits()
	if err != nil {
		return nil
	}
	return l
}
