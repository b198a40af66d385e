package atomicfile

import (
	"path/filepath"
	"regexp"
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
