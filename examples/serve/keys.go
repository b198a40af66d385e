package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/antigravity-go/antigravity/llama/serve"
)

// keys reads the file of keys, if there is one, and warns where others than its owner can read it.
func (c *command) keys(stderr io.Writer) ([]serve.Key, error) {
	if c.keyFile == "" {
		return nil, nil
	}
	f, err := os.Open(c.keyFile)
	if err != nil {
		return nil, fmt.Errorf("-key-file: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
		fmt.Fprintf(stderr, "warning: others than its owner can use %s: chmod 600 keeps the keys secret\n", c.keyFile)
	}
	keys, err := readKeys(f)
	if err != nil {
		return nil, fmt.Errorf("-key-file %s: %w", c.keyFile, err)
	}
	return keys, nil
}

// readKeys reads keys: each line is a secret, or a name and a secret. Empty lines count for nothing, nor does what follows # at the
// beginning of a line or after a space. A key without a name has its line's number for one: secrets are not logged.
func readKeys(r io.Reader) (keys []serve.Key, err error) {
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		if n == 1 {
			line = strings.TrimPrefix(line, "\ufeff") // which some editors begin a file with
		}
		if !utf8.ValidString(line) || strings.ContainsRune(line, 0) {
			return nil, fmt.Errorf("line %d is not text: the file must be UTF-8", n)
		}
		fields := strings.Fields(line)
		for i, field := range fields {
			if field[0] == '#' {
				fields = fields[:i]
				break
			}
		}
		switch len(fields) {
		case 0:
		case 1:
			keys = append(keys, serve.Key{Name: fmt.Sprintf("key %d", n), Secret: fields[0]})
		case 2:
			keys = append(keys, serve.Key{Name: fields[0], Secret: fields[1]})
		default:
			return nil, fmt.Errorf("line %d has %d words: it must be a secret, or a name and a secret", n, len(fields))
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(keys) == 0 {
		return nil, errors.New("there is no key in it, and without one nobody could be let in")
	}
	return keys, nil
}
