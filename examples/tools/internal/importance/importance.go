// Package importance reads and writes importance matrices: how large the activations are that each column of a model's matrices is
// multiplied with, on the average over a text. A quantiser spends its precision by them. The files are those of llama.cpp's imatrix: GGUF
// files, and the older binary ones, which usually end in .dat.
package importance

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
)

// DefaultChunk is how many tokens are computed together by default, and in files that do not say.
const DefaultChunk = 512

// Matrix holds the sums of a model's activations.
type Matrix struct {
	Datasets []string         // the texts' names
	Chunk    int              // tokens that were computed together
	Tensors  map[string]*Sums // by the name that GGUF has for a tensor
}

// Sums are of the inputs of one tensor.
type Sums struct {
	Squares []float64 // [matrices, columns]: Σx² of each column; there are several matrices in a tensor of experts
	Counts  []float64 // of each matrix: how many rows were summed
}

// New returns a matrix without any sums.
func New(chunk int) *Matrix { return &Matrix{Chunk: chunk, Tensors: map[string]*Sums{}} }

// Names lists the tensors in order.
func (m *Matrix) Names() []string { return slices.Sorted(maps.Keys(m.Tensors)) }

// Chunks returns how many chunks of tokens the sums are of.
func (m *Matrix) Chunks() int {
	most := 0.0
	for _, s := range m.Tensors {
		most = max(most, slices.Max(s.Counts))
	}
	return int(math.Ceil(most / float64(m.Chunk)))
}

// Of returns the sums of a tensor, with columns columns in each of its matrices, and adds them if they are missing.
func (m *Matrix) Of(name string, matrices, columns int) (*Sums, error) {
	s := m.Tensors[name]
	if s == nil {
		s = &Sums{make([]float64, matrices*columns), make([]float64, matrices)}
		m.Tensors[name] = s
	}
	if len(s.Squares) != matrices*columns || len(s.Counts) != matrices {
		return nil, fmt.Errorf("%s has sums of %d columns in %d matrices, not of %d in %d",
			name, len(s.Squares)/len(s.Counts), len(s.Counts), columns, matrices)
	}
	return s, nil
}

// Row adds one row of activations of one of the matrices.
func (s *Sums) Row(matrix int, x []float32) {
	for i, v := range x {
		s.Squares[matrix*len(x)+i] += float64(v) * float64(v)
	}
	s.Counts[matrix]++
}

// Means returns the mean square of each column, for the matrices one after the other: 1 for those that nothing was summed of.
func (s *Sums) Means() []float32 {
	means, columns := make([]float32, len(s.Squares)), len(s.Squares)/len(s.Counts)
	for i, v := range s.Squares {
		means[i] = 1
		if n := s.Counts[i/columns]; n > 0 {
			means[i] = float32(v / n)
		}
	}
	return means
}

// Add adds the sums of another matrix, of the same model.
func (m *Matrix) Add(other *Matrix) error {
	for _, name := range other.Names() {
		s := other.Tensors[name]
		sum, err := m.Of(name, len(s.Counts), len(s.Squares)/len(s.Counts))
		if err != nil {
			return err
		}
		for i, v := range s.Squares {
			sum.Squares[i] += v
		}
		for i, n := range s.Counts {
			sum.Counts[i] += n
		}
	}
	m.Datasets = append(m.Datasets, other.Datasets...)
	return nil
}

// errNegative is of sums that no squares have.
var errNegative = errors.New("there are numbers that are negative, infinite or no numbers")

// check refuses what no sums of squares can be.
func (m *Matrix) check() error {
	if len(m.Tensors) == 0 {
		return errors.New("it has no tensors")
	}
	good := func(list []float64) bool {
		return !slices.ContainsFunc(list, func(v float64) bool { return !(v >= 0 && v <= math.MaxFloat32) })
	}
	for _, name := range m.Names() {
		s := m.Tensors[name]
		switch {
		case len(s.Counts) == 0 || len(s.Squares) == 0 || len(s.Squares)%len(s.Counts) != 0:
			return fmt.Errorf("%s: %d sums for %d matrices", name, len(s.Squares), len(s.Counts))
		case !good(s.Counts) || !good(s.Squares):
			return fmt.Errorf("%s: %w", name, errNegative)
		}
	}
	m.Chunk = cmp.Or(m.Chunk, DefaultChunk)
	return nil
}
