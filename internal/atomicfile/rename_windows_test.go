package atomicfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestRenameWaitsForReaders replaces a file that somebody reads, who is done after some waits or never.
func TestRenameWaitsForReaders(t *testing.T) {
	for _, until := range []int{0, 3, 1000} {
		from, to := filepath.Join(t.TempDir(), "new"), filepath.Join(t.TempDir(), "old")
		for _, path := range []string{from, to} {
			if err := os.WriteFile(path, []byte(path), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		reader, err := os.Open(to)
		if err != nil {
			t.Fatal(err)
		}
		defer reader.Close()
		waits, waited := 0, time.Duration(0)
		err = rename(from, to, func(d time.Duration) {
			if waits++; waits > until {
				reader.Close()
			}
			waited += d
		})
		if until == 1000 {
			if err == nil || !strings.Contains(err.Error(), "open") || waited > 3*time.Second {
				t.Errorf("somebody reads for ever: %v after %v", err, waited)
			}
			continue
		}
		content, readErr := os.ReadFile(to)
		if err != nil || string(content) != from || waits != until+1 {
			t.Errorf("the file is %q (%v) after %d waits: %v", content, readErr, waits, err)
		}
	}
}
