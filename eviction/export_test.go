package eviction

// MaybeEvict is Watch and then EvictIfDue, as a session calls them between tokens.
func (m *Manager[C]) MaybeEvict(caches []C) (Result, error) {
	if err := m.Watch(); err != nil {
		return Result{}, err
	}
	return m.EvictIfDue(caches)
}
