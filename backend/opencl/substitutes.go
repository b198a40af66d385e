//go:build opencl && (amd64 || arm64)

package opencl

// substitutes says how products are computed for as long as the kernels of the best ways are not ready: see programs. All ways give the same bits.
//
//	matvec {256, 4}, the first division for q4_k   it is compiled when it is wanted, and does for all shapes
//	matvec {256, 2}, for another shape             {256, 4}, until it is ready
//	several {64, 4, 4}                             tiles, or row by row, until it is ready
type substitutes struct {
	*queue
	tuning   *tuning
	matrices *matrices
	first    map[productVariant]teams // the division that was compiled first; the keys have no division
}

// readyTeams returns a division itself if its kernel is ready, or else the one that was compiled first.
func (s *substitutes) readyTeams(kernel, name string, w *weights, t teams) teams {
	if s.readyProduct(kernel, name, w, t) {
		return t
	}
	key := productVariant{kernel: name, format: w.format.name, lanes: w.lanes}
	if first, ok := s.first[key]; ok {
		return first
	}
	s.first[key] = t
	return t
}

// readyProduct reports whether a product's kernel is ready in a division; while divisions are tried, each is.
func (s *substitutes) readyProduct(kernel, name string, w *weights, t teams) bool {
	return s.tuning.trying || s.ready(s.tuning.program(kernel, w.format.name, w.lanes, t), name)
}

// readyWay returns a way for m rows of activations itself, or another one for as long as the way's kernel, for several rows at once, is not ready.
func (s *substitutes) readyWay(by teams, w *weights, m int) teams {
	switch {
	case by.Columns <= 0 || s.readyProduct("several", "several", w, by):
		return by
	case m > fewRows:
		return tiled
	}
	return rowByRow
}

// foresee lets programs be compiled that products with prepared weights, of n rows or of experts with n rows each, will need, while the weights are
// sent to the device: one for a single row of activations, and one for a prompt's.
func (s *substitutes) foresee(w *weightBuffer, n int, ofExperts bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, name := w.format, "matvec"
	if ofExperts {
		name = "expert_matvec"
	}
	if _, ok := s.first[productVariant{kernel: name, format: f.name, lanes: w.lanes}]; ok || s.closed {
		return
	}
	programs := s.queue.programs
	if w.split() {
		programs.Expect(split, f.split)
	}
	if size, ok := s.tuning.known(productShape{kernel: "matvec", format: f.name, n: n, k: w.k}); ok {
		s.first[productVariant{kernel: name, format: f.name, lanes: w.lanes}] = size
		programs.Expect(s.tuning.program("matvec", f.name, w.lanes, size), name)
	}
	if w.split() && s.matrices.matrix != nil {
		programs.Expect(s.matrices.matrixProgram(f.name, s.matrices.matrixTileFor(usualPrompt, n), w.k, 1, ofExperts), "gemm_matrix")
	}
}
