// Package atomicfile writes files that appear whole or not at all. A file is written under a temporary name in the folder of its own name,
// synced, and renamed when it is complete. Whatever happens before, a failure, a kill or a loss of power, the own name keeps its old file
// or stays absent.
//
// The temporary name is new and random: writers of the same file do not meet, nothing that exists is opened, and no link is followed. Only
// files that this package created are removed. Of two writers of one file the later rename counts.
//
// A process that is killed leaves its temporary file. The next writer of the same name removes it, if nobody has written to it for a day. So
// files that wait for a day until they get their names may be lost, but only to another writer of the same names.
//
// For example, Write("m.gguf", …) takes these steps:
//
//	remove m.gguf.*.tmp that are older than a day
//	create m.gguf.5f0c31aa.tmp
//	write, sync and close it
//	rename it to m.gguf
//	sync the folder
//
// A Set of the files a and b removes the old a, renames the temporary files of b and then of a, and syncs the folder.
package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
)

// Write writes a file: write gives its content. If write fails, the file of this name stays as it was.
func Write(path string, write func(io.Writer) error) error {
	var s Set
	defer s.Discard()
	if err := s.Write(path, write); err != nil {
		return err
	}
	return s.Commit()
}

// WriteBytes writes a file that has the content data.
func WriteBytes(path string, data []byte) error {
	return Write(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// Set is files that get their names together, once all are complete. If there are several, the one that was created first appears last,
// and an old file of its name is removed before the others change. So a reader that begins with the first file, as readers of split models
// do, never finds a mixture of old and new files. The zero value is an empty set. A Set is for one goroutine.
type Set struct {
	System System // nil: the operating system
	files  []*File
}

// File is a file of a Set. Its methods are for one goroutine.
type File struct {
	system          System
	path, temporary string
	handle          Handle // nil once it is closed
	info            fs.FileInfo
	size            int64
	named           bool // it has its own name
	err             error
}

// Create begins a file of the set. It fails if something other than a regular file has that name. A link of that name is replaced when the
// file gets its name; the file that it points to stays.
func (s *Set) Create(path string) (*File, error) {
	if s.System == nil {
		s.System = operatingSystem{}
	}
	if info, err := s.System.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("write %s: it exists and is no regular file", path)
	}
	removeLeft(s.System, path)
	f := &File{system: s.System, path: path}
	err := fs.ErrExist
	for try := 0; try < maxTries && errors.Is(err, fs.ErrExist); try++ {
		f.temporary = fmt.Sprintf("%s.%08x.tmp", path, rand.Uint32())
		f.handle, err = s.System.Create(f.temporary)
	}
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", path, err)
	}
	s.files = append(s.files, f)
	return f, nil
}

// maxTries bounds the search for a name that nothing has. One in four billion is taken by each file of that kind that was left behind.
const maxTries = 100

// Write writes a whole file of the set: write gives its content.
func (s *Set) Write(path string, write func(io.Writer) error) error {
	f, err := s.Create(path)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return f.Close()
}

// Size returns how many bytes the files of the set have together, until Commit or Discard.
func (s *Set) Size() (n int64) {
	for _, f := range s.files {
		n += f.size
	}
	return n
}

// Commit completes all files and gives them their names. If it fails, it discards the set: a single file keeps its old contents; of
// several, no part stays that loads as if it were complete.
//
// Once the files have their names, Commit has succeeded. A folder that cannot be synced then is no failure: a loss of power may bring back
// the old files, whole.
func (s *Set) Commit() (err error) {
	defer func() {
		if err != nil {
			s.Discard()
		}
	}()
	for _, f := range s.files {
		if err := f.Close(); err != nil {
			return err
		}
	}
	if len(s.files) > 1 {
		if err := s.System.Remove(s.files[0].path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("replace: %w", err)
		}
	}
	for _, f := range slices.Backward(s.files) {
		if err := s.System.Rename(f.temporary, f.path); err != nil {
			return fmt.Errorf("write %s: %w", f.path, err)
		}
		f.named = true
	}
	s.syncFolders()
	if len(s.files) > 1 {
		for _, f := range s.files {
			if !f.isThere() {
				return fmt.Errorf("write %s: another process wrote it at the same time, and the files would not be of one set: write them again",
					f.path)
			}
		}
	}
	s.files = nil
	return nil
}

// syncFolders makes the names last, if the system can.
func (s *Set) syncFolders() {
	var folders []string
	for _, f := range s.files {
		if folder := filepath.Dir(f.path); !slices.Contains(folders, folder) {
			folders = append(folders, folder)
			s.System.SyncFolder(folder)
		}
	}
}

// Discard removes the files that were written and not committed. After Commit it does nothing, so that it may be deferred.
func (s *Set) Discard() {
	for _, f := range s.files {
		if f.handle != nil {
			f.handle.Close()
			f.handle = nil
		}
		switch {
		case !f.named:
			s.System.Remove(f.temporary)
		case len(s.files) > 1 && f.isThere():
			s.System.Remove(f.path)
		}
	}
	s.files = nil
}

// Write appends to the file. After an error the file cannot be completed.
func (f *File) Write(p []byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	n, err := f.handle.Write(p)
	f.size += int64(n)
	f.err = err
	return n, err
}

// Close completes the file: its bytes are on the disk. Commit gives it its name. It may be called again.
func (f *File) Close() error {
	if f.handle == nil {
		return f.err
	}
	var err error
	if f.err == nil {
		f.info, err = f.handle.Stat()
		err = errors.Join(err, f.handle.Sync())
	}
	f.err = errors.Join(f.err, err, f.handle.Close())
	f.handle = nil
	if f.err != nil {
		f.err = fmt.Errorf("write %s: %w", f.path, f.err)
	}
	return f.err
}

// isThere reports whether the file that has the name is the one that was written.
func (f *File) isThere() bool {
	info, err := f.system.Stat(f.path)
	return err == nil && os.SameFile(info, f.info)
}
