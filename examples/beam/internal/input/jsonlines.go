package input

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"iter"
	"strings"
)

// maxLine bounds a record, in bytes: that of a picture of 1.5 MB, which is longer than the text of any context.
const maxLine = 2 << 20

// tooLong returns the error for a record that is longer.
func tooLong() error {
	return fmt.Errorf("the next record is too long: it must have no more than %d bytes", maxLine)
}

// jsonLines returns the lines that are not blank.
func jsonLines(r io.Reader, name string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if strings.HasSuffix(name, ".gz") {
			z, err := gzip.NewReader(r)
			if err != nil {
				yield("", err)
				return
			}
			defer z.Close()
			r = z
		}
		s := bufio.NewScanner(r)
		s.Buffer(make([]byte, 64<<10), maxLine)
		for s.Scan() {
			if line := strings.TrimSpace(s.Text()); line != "" && !yield(line, nil) {
				return
			}
		}
		if err := s.Err(); err == bufio.ErrTooLong {
			yield("", tooLong())
		} else if err != nil {
			yield("", err)
		}
	}
}
