package source

import (
	"slices"
	"testing"
)

// TestThePresentFolderIsListed looks for the neighbours of a file that is named without its folder.
func TestThePresentFolderIsListed(t *testing.T) {
	location, err := Locate("files.go")
	if err != nil {
		t.Fatal(err)
	}
	if names := location.files.list(); !slices.Contains(names, "tower.go") {
		t.Errorf("next to files.go lie %q, and not tower.go", names)
	}
}
