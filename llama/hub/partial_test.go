package hub

import (
	"bytes"
	"math/rand/v2"
	"path/filepath"
	"testing"
)

// cached is a file with its bytes in the system's memory until Sync. Closing it loses them, as a loss of power does.
type cached struct {
	disk
	memory []byte
	dirty  spans
}

// lossy puts a partial's file into the system's memory.
func lossy(t *testing.T, p *partial) {
	c := &cached{disk: p.file, memory: make([]byte, p.size)}
	if _, err := c.disk.ReadAt(c.memory, 0); err != nil {
		t.Fatal(err)
	}
	p.file = c
}

func (c *cached) WriteAt(b []byte, at int64) (int, error) {
	c.dirty = c.dirty.add(span{at, at + int64(len(b))})
	return copy(c.memory[at:], b), nil
}

func (c *cached) ReadAt(b []byte, at int64) (int, error) { return copy(b, c.memory[at:]), nil }

func (c *cached) Sync() error {
	for _, s := range c.dirty {
		if _, err := c.disk.WriteAt(c.memory[s.from:s.to], s.from); err != nil {
			return err
		}
	}
	c.dirty = nil
	return nil
}

// TestLossOfPower ends fetching by a loss of power, again and again, at random moments around the journal's writing: what the journal
// names is in the file.
func TestLossOfPower(t *testing.T) {
	const size = 10_000
	data := noise(size, 1)
	path := filepath.Join(t.TempDir(), "file")
	random := rand.New(rand.NewPCG(1, 1))
	resumed := 0
	for range 60 {
		p, err := openPartial(path, "1", size)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, size)
		if _, err := p.file.ReadAt(got, 0); err != nil {
			t.Fatal(err)
		}
		for _, s := range p.have {
			resumed++
			if !bytes.Equal(got[s.from:s.to], data[s.from:s.to]) {
				t.Fatalf("the journal names the bytes from %d to %d, which are not the file's", s.from, s.to)
			}
		}
		lossy(t, p)
		for range random.IntN(6) {
			s, ok := p.take(1 + random.Int64N(size/50))
			if !ok {
				break
			}
			if _, err := p.write(data[s.from:s.to], s.from); err != nil {
				t.Fatal(err)
			}
			if random.IntN(3) == 0 {
				p.saving.Lock()
				if err := p.save(); err != nil {
					t.Fatal(err)
				}
				p.saving.Unlock()
			}
		}
		p.file.Close()
	}
	if resumed < 10 {
		t.Errorf("%d stretches were there after a loss of power", resumed)
	}
}
