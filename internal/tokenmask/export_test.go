package tokenmask

// Outgrow lets the language take its memory for full, so that a new generation of it begins with the next question.
func (l *Language) Outgrow() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.limit = 0
}
