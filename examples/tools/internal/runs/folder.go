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
	"time"
)

// Folder keeps runs, each in a file of its own named by its Config's ID and its repetition. A file is written whole or not at all, so a
// suite that is killed leaves nothing that has to be repaired. Other files may lie in the folder.
type Folder string

// path returns the path of a run's file.
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
	if _, err := Parse(text.Bytes()); err != nil { // what could not be read again
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

// Read returns the run of a Config and a repetition, or nil if there is no such file.
func (f Folder) Read(c *Config, repetition int) (*Run, error) {
	r, err := readRun(f.path(c, repetition))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return r, err
}

// File is a run's file as the folder lists it, unread. Between two lists it stayed as it was if it is equal in both.
type File struct {
	Path     string // with the folder's own at its beginning
	Size     int64
	Modified time.Time
}

// Files lists the runs' files in the folder and in the folders in it, by path. What cannot be listed is an error that names it; the files
// that can be come with it. A folder that does not exist is an error that is fs.ErrNotExist.
func (f Folder) Files() ([]File, error) {
	var list []File
	var wrong []error
	root := string(f)
	if info, err := os.Lstat(root); err == nil && info.Mode()&fs.ModeSymlink != 0 { // the walk does not follow links, and this one was named
		root += string(filepath.Separator)
	}
	filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			wrong = append(wrong, err)
			return nil
		}
		if entry.IsDir() || !strings.HasSuffix(path, ".run.json") {
			return nil
		}
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist): // removed meanwhile
		case err != nil:
			wrong = append(wrong, err)
		case info.Mode().IsRegular(): // a pipe would be read for ever
			list = append(list, File{path, info.Size(), info.ModTime()})
		}
		return nil
	})
	return list, errors.Join(wrong...)
}

// Read reads the file's run. If the file is no run, the error names it.
func (f *File) Read() (*Run, error) { return readRun(f.Path) }

// All returns the runs of the folder and of the folders in it, the earliest first. A file that is no run is an error that names it.
func (f Folder) All() ([]*Run, error) {
	files, err := f.Files()
	if err != nil {
		return nil, fmt.Errorf("read runs: %w", err)
	}
	list := make([]*Run, len(files))
	for i := range files {
		if list[i], err = files[i].Read(); err != nil {
			return nil, fmt.Errorf("read runs: %w", err)
		}
	}
	slices.SortStableFunc(list, func(a, b *Run) int { return a.Began.Compare(b.Began) })
	return list, nil
}

func readRun(path string) (*Run, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() { // opening a pipe would wait for its writer
		err = fmt.Errorf("%s: a run is in a file, and this is none: remove it", path)
	}
	if err != nil {
		return nil, err
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, MaxFile+1))
	if err != nil {
		return nil, err
	}
	r, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}
