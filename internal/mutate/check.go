package mutate

import (
	"math/rand/v2"
	"runtime"
	"testing"
	"time"
)

// The memory that reading and using a mutant may take: freeBytes in any case, and perByte bytes for each of its bytes.
const (
	freeBytes = 64 << 20
	perByte   = 8
)

// Check makes the mutant of a seed from one of the documents and gives it to use, which reads the mutant, uses what it has read, and
// returns the error of a mutant that cannot be read. Check returns whether the mutant was read. It fails the test if use panics, or takes
// more memory than a file of the mutant's length may.
func Check(t *testing.T, documents []string, seed uint64, use func(seed uint64, file string) error) (read bool) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 0))
	file := JSON(rng, documents[rng.IntN(len(documents))])
	defer func() {
		if r := recover(); r != nil {
			t.Fatalf("seed %d: panic %v\n%s", seed, r, file)
		}
	}()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := use(seed, file)
	runtime.ReadMemStats(&after)
	if got, limit := after.TotalAlloc-before.TotalAlloc, uint64(perByte*len(file)+freeBytes); got > limit {
		t.Errorf("seed %d: %d bytes of file took %d bytes of memory; at most %d would be right\n%s", seed, len(file), got, limit, file)
	}
	return err == nil
}

// leastRead is the part of the mutants, 1 in leastRead, that must be read for a test to mean much.
const leastRead = 100

// CheckAll checks the mutants of the seeds 0 … n-1, and logs how many were read and which took longest.
func CheckAll(t *testing.T, documents []string, n int, use func(seed uint64, file string) error) {
	t.Helper()
	read, longest, slowest := 0, time.Duration(0), uint64(0)
	for seed := range uint64(n) {
		start := time.Now()
		if Check(t, documents, seed, use) {
			read++
		}
		if took := time.Since(start); took > longest {
			longest, slowest = took, seed
		}
	}
	t.Logf("%d of %d mutants are read; the slowest, %d, took %v", read, n, slowest, longest)
	if read < n/leastRead {
		t.Error("too few for the test to mean much")
	}
}
