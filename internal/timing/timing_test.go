package timing

import (
	"testing"
	"time"
)

func always() bool { return true }

func BenchmarkNow(b *testing.B) {
	for b.Loop() {
		Now()
	}
}

func BenchmarkTime(b *testing.B) {
	base := time.Now()
	for b.Loop() {
		_ = time.Since(base)
	}
}

func BenchmarkNumber(b *testing.B) {
	r := NewRecord(always, always)
	for b.Loop() {
		r.Number(Phase{Operation: "MatMulAdd", Rows: 512, Cols: 256})
	}
}

func BenchmarkAdd(b *testing.B) {
	l := NewRecord(always, always).Lane(0)
	for b.Loop() {
		l.Add(0, 1, 2, 3, 4)
	}
}
