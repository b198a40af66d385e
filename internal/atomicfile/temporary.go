package atomicfile

import (
	"path/filepath"
	"regexp"
	"time"
)

// temporaryName is the name of a temporary file, and of the file that it was to become.
var temporaryName = regexp.MustCompile(`^(.+)\.[0-9a-f]{8}\.tmp$`)

// Unfinished returns the path that a file with this temporary name was to get. A process that is killed while it writes leaves such a file.
// ok is false for the paths of other files.
func Unfinished(temporary string) (path string, ok bool) {
	folder, name := filepath.Split(temporary)
	match := temporaryName.FindStringSubmatch(name)
	if match == nil {
		return "", false
	}
	return folder + match[1], true
}

// oldest is how long after its last write a temporary file is taken for what a killed process left.
const oldest = 24 * time.Hour

// removeLeft removes what killed writers of a path left. A file that cannot be removed stays: it is in nobody's way.
func removeLeft(system System, path string) {
	folder, name := filepath.Split(path)
	if folder == "" {
		folder = "."
	}
	entries, err := system.ReadDir(folder)
	if err != nil {
		return // a folder that may be written to and not read
	}
	for _, entry := range entries {
		if own, ok := Unfinished(entry.Name()); !ok || own != name || !entry.Type().IsRegular() {
			continue
		}
		if info, err := entry.Info(); err == nil && time.Since(info.ModTime()) > oldest {
			system.Remove(filepath.Join(folder, entry.Name()))
		}
	}
}
