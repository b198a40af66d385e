package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"

	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
	"github.com/antigravity-go/antigravity/examples/tools/suite/internal/matrix"
	"github.com/antigravity-go/antigravity/internal/atomicfile"
)

// results is a suite's folder of runs: their files, the matrix, and a log of the suite's doings. One suite works in it at a time; the
// system gives the lock back when the suite ends, however it ends.
type results struct {
	runs.Folder
	log     *slog.Logger
	logFile *os.File
	lock    *flock.Flock
}

// The other files in the folder of the runs.
const (
	lockName   = "suite.lock"
	logName    = "suite.log"
	matrixName = "matrix.json"
)

// openResults makes a folder if it does not exist, and locks it.
func openResults(path string) (*results, error) {
	if err := os.MkdirAll(path, 0o777); err != nil {
		return nil, fmt.Errorf("-out: %w", err)
	}
	for _, name := range []string{lockName, logName, matrixName} { // writing through a link would change a file elsewhere, and a pipe would wait for a reader
		if info, err := os.Lstat(filepath.Join(path, name)); err == nil && !info.Mode().IsRegular() {
			return nil, fmt.Errorf("-out: %s is to be a file of the suite, and is something else: remove it, or take another folder", filepath.Join(path, name))
		}
	}
	lock := flock.New(filepath.Join(path, lockName))
	switch free, err := lock.TryLock(); {
	case err != nil:
		return nil, fmt.Errorf("lock the folder of results: %w", err)
	case !free:
		return nil, fmt.Errorf("another suite is at work in %s: wait for its end, or take another folder with -out", path)
	}
	r := &results{Folder: runs.Folder(path), lock: lock}
	var err error
	if r.logFile, err = os.OpenFile(filepath.Join(path, logName), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	r.log = slog.New(slog.NewTextHandler(r.logFile, nil))
	return r, r.removeFiles(".run-") // of a suite that was killed while it wrote
}

// Close gives the folder back.
func (r *results) Close() error { return errors.Join(r.logFile.Close(), r.lock.Close()) }

// keepMatrix writes the matrix into the folder.
func (r *results) keepMatrix(m *matrix.Matrix) error {
	text, err := json.MarshalIndent(m, "", "\t")
	if err != nil {
		return err
	}
	return atomicfile.WriteBytes(filepath.Join(string(r.Folder), matrixName), append(text, '\n'))
}

// read returns the run of a Config and a repetition, or nil if there is no usable one. damaged is why a file that is there cannot be used;
// the next run takes its place.
func (r *results) read(c *runs.Config, repetition int) (run *runs.Run, damaged, err error) {
	run, err = r.Read(c, repetition)
	var path *fs.PathError
	switch {
	case errors.As(err, &path):
		return nil, nil, err
	case err != nil:
		return nil, err, nil
	case run != nil && (run.Config != *c || run.Repetition != repetition):
		return nil, fmt.Errorf("%s-%03d.run.json holds a run of another configuration", c.ID(), repetition), nil
	}
	return run, nil, nil
}

// remove removes the runs of a Config.
func (r *results) remove(c *runs.Config) error { return r.removeFiles(c.ID() + "-") }

// removeFiles removes the files of runs with names that begin with beginning.
func (r *results) removeFiles(beginning string) error {
	entries, err := os.ReadDir(string(r.Folder))
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), beginning) && !entry.IsDir() {
			err = errors.Join(err, os.Remove(filepath.Join(string(r.Folder), entry.Name())))
		}
	}
	return err
}
