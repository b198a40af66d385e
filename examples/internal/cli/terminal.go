package cli

import (
	"os"

	"golang.org/x/term"
)

// IsTerminal tells whether a stream of a Program is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
