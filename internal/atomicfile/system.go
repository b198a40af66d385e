package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime"
	"syscall"
)

// System is what a Set asks of the operating system. Tests have systems that fail.
type System interface {
	// Create creates a file that does not exist, for writing.
	Create(path string) (Handle, error)
	Stat(path string) (fs.FileInfo, error)
	ReadDir(folder string) ([]fs.DirEntry, error)
	Rename(from, to string) error
	Remove(path string) error
	// SyncFolder brings the names in a folder to the disk.
	SyncFolder(path string) error
}

// Handle is an open file.
type Handle interface {
	io.WriteCloser
	Sync() error
	Stat() (fs.FileInfo, error)
}

// operatingSystem is the System of programs.
type operatingSystem struct{}

// Create leaves the permissions to the umask, unlike os.CreateTemp, which gives files to their user alone.
func (operatingSystem) Create(path string) (Handle, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, err // and no Handle of a nil file
	}
	return f, nil
}

func (operatingSystem) Stat(path string) (fs.FileInfo, error)        { return os.Stat(path) }
func (operatingSystem) ReadDir(folder string) ([]fs.DirEntry, error) { return os.ReadDir(folder) }
func (operatingSystem) Rename(from, to string) error                 { return Rename(from, to) }
func (operatingSystem) Remove(path string) error                     { return os.Remove(path) }

// SyncFolder does nothing if folders cannot be opened or synced, as on Windows and on some network file systems.
func (operatingSystem) SyncFolder(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil // a folder that may be written to and not read
	}
	defer f.Close()
	if err := f.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}
