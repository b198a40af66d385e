package cli

import (
	"os"

	"golang.org/x/term"
)

// IsTerminal reports whether a stream of a Program is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Columns returns how many characters fit on a line of a stream of a Program, 0 if it is no terminal.
func Columns(stream any) int {
	f, ok := stream.(*os.File)
	if !ok {
		return 0
	}
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return columns
}
