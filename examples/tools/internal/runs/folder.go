package runs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Folder is where runs are kept, each in a file of its own named by its Config's ID and its repetition. A file is written whole or
// not at all, so a suite that is killed leaves nothing that has to be repaired. Other files may lie beside them.
type Folder string

// maxFile bounds a run's file, in bytes.
const maxFile = 64 << 20

// path returns where a run is kept.
func (f Folder) path(c *Config, repetition int) string {
	return filepath.Join(string(f), fmt.Sprintf("%s-%03d.run.json", c.ID(), repetition))
}

// Write keeps a run, in place of an earlier one of the same Config and repetition.
func (f Folder) Write(r *Run) error {
	if err := os.MkdirAll(string(f), 0o777); err != nil {
		return fmt.Errorf("keep a run: %w", err)
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(r); err != nil {
		return fmt.Errorf("keep a run: %w", err)
	}
	part, err := os.CreateTemp(string(f), ".run-*")
	if err != nil {
		return fmt.Errorf("keep a run: %w", err)
	}
	_, err = part.Write(text.Bytes())
	if err = errors.Join(err, part.Chmod(0o666&^0o022), part.Close()); err == nil {
		err = os.Rename(part.Name(), f.path(&r.Config, r.Repetition))
	}
	if err != nil {
		os.Remove(part.Name())
		return fmt.Errorf("keep a run: %w", err)
	}
	return nil
}

// Read returns the run of a Config and a repetition; nil if there is none.
func (f Folder) Read(c *Config, repetition int) (*Run, error) {
	r, err := readRun(f.path(c, repetition))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return r, err
}

// All returns the runs of the folder and of the folders in it, the earliest first. A file that is no run is an error that names it.
func (f Folder) All() ([]*Run, error) {
	var list []*Run
	err := filepath.WalkDir(string(f), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".run.json") {
			return err
		}
		r, err := readRun(path)
		if err == nil {
			list = append(list, r)
		}
		return err
	})
	slices.SortStableFunc(list, func(a, b *Run) int { return a.Began.Compare(b.Began) })
	if err != nil {
		return nil, fmt.Errorf("read runs: %w", err)
	}
	return list, nil
}

func readRun(path string) (*Run, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxFile {
		return nil, fmt.Errorf("%s: a run's file is no longer than %d bytes", path, maxFile)
	}
	r := new(Run)
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if r.Config.Model == "" || r.Repetition < 1 {
		return nil, fmt.Errorf("%s: a run has a config with a model, and a repetition: the suite did not write this", path)
	}
	return r, nil
}
