package monitor

import (
	"errors"
	"fmt"
	"io/fs"
)

// openProc opens what the kernel says about memory in the file system under root: the control groups from the process's own
// group upwards, then the machine. A source that cannot be read is left out; the error says which sources were left out, and why.
func openProc(root string) ([]source, error) {
	sources, err := openGroups(root)
	machine, merr := openMeminfo(root)
	if merr == nil {
		sources, merr = appendReadable(sources, machine)
	}
	return sources, errors.Join(err, merr)
}

// openGroups opens the control groups that account the process's memory.
func openGroups(root string) ([]source, error) {
	groups, err := memoryGroups(root)
	if err != nil {
		return nil, fmt.Errorf("finding the process's control groups: %w", err)
	}
	var sources []source
	var errs []error
	for _, at := range groups {
		g, err := openGroup(root, at)
		if err == nil {
			sources, err = appendReadable(sources, g)
		}
		if !errors.Is(err, fs.ErrNotExist) { // a group without the memory controller lacks these files: no error
			errs = append(errs, err)
		}
	}
	return sources, errors.Join(errs...)
}

// appendReadable appends a source that answers, and closes one that does not.
func appendReadable(sources []source, s source) ([]source, error) {
	if _, err := s.available(make([]byte, bufferSize)); err != nil {
		s.Close()
		return sources, fmt.Errorf("%s: %w", s.name(), err)
	}
	return append(sources, s), nil
}
