package monitor

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/antigravity-go/antigravity/eviction"
)

// A kernelFile is a file of /proc or of a control group, kept open. The kernel writes it anew whenever it is read from its
// start.
type kernelFile struct{ *os.File }

func openKernelFile(name string) (kernelFile, error) {
	f, err := os.Open(name)
	return kernelFile{f}, err
}

// read returns the beginning of the file, as much as buf holds.
func (f kernelFile) read(buf []byte) ([]byte, error) {
	n, err := f.ReadAt(buf, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return buf[:n], nil
}

// bytes reads a file that holds one size.
func (f kernelFile) bytes(buf []byte) (int64, error) {
	b, err := f.read(buf)
	if err != nil {
		return 0, err
	}
	n, ok := parseSize(bytes.TrimRight(b, "\n"))
	if !ok {
		return 0, fmt.Errorf("%s holds %.40q, want a number of bytes or max", f.Name(), b)
	}
	return n, nil
}

// parseSize reads a decimal number, or max, which is eviction.Unknown. A number too large for an int64 is the largest one.
func parseSize(b []byte) (int64, bool) {
	if string(b) == "max" {
		return eviction.Unknown, true
	}
	var n int64
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		if n > (math.MaxInt64-int64(c-'0'))/10 {
			n = math.MaxInt64
			continue
		}
		n = n*10 + int64(c-'0')
	}
	return n, len(b) > 0
}

// lineOf returns what follows a word, with the separator that belongs to it, at the beginning of a line: lineOf(b, "MemFree:").
// The last line counts only when it is whole.
func lineOf(b []byte, word string) ([]byte, bool) {
	for {
		end := bytes.IndexByte(b, '\n')
		if end < 0 {
			return nil, false
		}
		if line := b[:end]; len(line) >= len(word) && string(line[:len(word)]) == word {
			return line[len(word):], true
		}
		b = b[end+1:]
	}
}

// sizeIn returns the size that follows a word at the beginning of a line of b.
func sizeIn(b []byte, word string) (int64, error) {
	line, ok := lineOf(b, word)
	if !ok {
		return 0, fmt.Errorf("no line %q", word)
	}
	n, ok := parseSize(bytes.TrimSpace(line))
	if !ok {
		return 0, fmt.Errorf("line %q holds %.40q, want a number", word, line)
	}
	return n, nil
}
