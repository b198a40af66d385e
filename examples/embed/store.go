package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/antigravity-go/antigravity/internal/atomicfile"
)

// indexName is what the index of a folder is called.
const indexName = ".embed.index"

// magic begins the file of an index. After it come the index as a line of JSON, the vectors of all passages in the order of the files, as
// float32 with the lowest byte first, and the SHA-256 of everything before it.
const magic = "antigravity embed index 1\n"

// index is the index of a folder, as it is stored.
type index struct {
	Folder      string  // an absolute path; "": the index lies in the folder
	Model       string  // as -model names it
	Fingerprint string  // of the model
	Tokens      int     // that a passage may have
	Dimensions  int     // of a vector
	Files       []*file // in the order of their paths
}

// file is a file of the folder.
type file struct {
	Path     string // below the folder, with slashes
	Size     int64
	Modified time.Time
	Sum      [sha256.Size]byte // of the content
	Passages []passage

	vectors [][]float32 // of the passages
}

// vectors returns the vectors of all passages.
func (x *index) vectors() (all [][]float32) {
	for _, f := range x.Files {
		all = append(all, f.vectors...)
	}
	return all
}

// at returns the n-th passage of all, and its file.
func (x *index) at(n int) (*file, passage) {
	for _, f := range x.Files {
		if n < len(f.Passages) {
			return f, f.Passages[n]
		}
		n -= len(f.Passages)
	}
	panic("embed: there is no such passage") // a mistake of this program
}

// write writes the index. The file appears whole or not at all.
func (x *index) write(path string) error {
	return atomicfile.Write(path, func(w io.Writer) error {
		sum := sha256.New()
		out := bufio.NewWriter(io.MultiWriter(w, sum))
		head, err := json.Marshal(x)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s%s\n", magic, head)
		for _, v := range x.vectors() {
			if err := binary.Write(out, binary.LittleEndian, v); err != nil {
				return err
			}
		}
		if err := out.Flush(); err != nil {
			return err
		}
		_, err = w.Write(sum.Sum(nil))
		return err
	})
}

// errIndex is of a file that is no index, or a damaged one.
var errIndex = errors.New("the file is no index, or damaged; delete it and make another one")

// readIndex reads an index.
func readIndex(path string) (*index, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	x, err := parseIndex(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return x, nil
}

// parseIndex reads what write wrote.
func parseIndex(data []byte) (*index, error) {
	end := len(data) - sha256.Size
	if end < len(magic) || string(data[:len(magic)]) != magic {
		return nil, errIndex
	}
	if sum := sha256.Sum256(data[:end]); !bytes.Equal(sum[:], data[end:]) {
		return nil, errIndex
	}
	head, rest, ok := bytes.Cut(data[len(magic):end], []byte("\n"))
	x := &index{}
	if !ok || json.Unmarshal(head, x) != nil || x.Dimensions < 1 || x.Dimensions > math.MaxInt32 {
		return nil, errIndex
	}
	for _, f := range x.Files {
		if f == nil || !filepath.IsLocal(filepath.FromSlash(f.Path)) {
			return nil, errIndex
		}
		for _, p := range f.Passages {
			if len(rest) < 4*x.Dimensions || p.First < 1 || p.Last < p.First {
				return nil, errIndex
			}
			v := make([]float32, x.Dimensions)
			for i := range v {
				v[i] = math.Float32frombits(binary.LittleEndian.Uint32(rest[4*i:]))
			}
			f.vectors, rest = append(f.vectors, v), rest[4*x.Dimensions:]
		}
	}
	if len(rest) > 0 {
		return nil, errIndex
	}
	return x, nil
}
