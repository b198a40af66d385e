package timeline

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// File is a Timeline for a program's -trace: it ends in a file. A nil File does nothing.
type File struct {
	*Timeline
	file *os.File
}

// Create makes a File of about limit events; 0 means DefaultLimit. It creates the file on disk at once, so that a path that does not work
// is reported before there is anything to lose.
func Create(path string, limit int) (*File, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("a trace: %w", err)
	}
	return &File{New(limit), file}, nil
}

// Begin is Timeline.Begin.
func (f *File) Begin(name string) {
	if f != nil {
		f.Timeline.Begin(name)
	}
}

// End is Timeline.End.
func (f *File) End() {
	if f != nil {
		f.Timeline.End()
	}
}

// Close writes the file, and says on stderr how to look at it and whether anything is missing in it. The notes are as Timeline.Write's.
func (f *File) Close(notes any, stderr io.Writer) error {
	if f == nil {
		return nil
	}
	f.End()
	events, err := f.Write(f.file, notes)
	if err = errors.Join(err, f.file.Close()); err != nil {
		return fmt.Errorf("a trace in %s: %w", f.file.Name(), err)
	}
	fmt.Fprintf(stderr, "%d events in %s: open it in https://ui.perfetto.dev or chrome://tracing\n", events, f.file.Name())
	if after, full := f.Full(); full {
		fmt.Fprintf(stderr, "what came more than %v after the first measurement began is missing: a trace is bounded\n", after.Round(time.Millisecond))
	}
	return nil
}
