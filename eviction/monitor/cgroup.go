package monitor

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/antigravity-go/antigravity/eviction"
)

// noLimit is a size that no machine has. Version 1 writes "unlimited" as the largest number of pages, in bytes: more than this.
const noLimit = 1 << 60

// A group is one control group that holds the process.
type group struct {
	location
	limits []kernelFile
	usage  kernelFile
	stat   kernelFile
}

// openGroup opens the files of a group. If the group's memory is not accounted, the files do not exist: the error is fs.ErrNotExist.
func openGroup(root string, at location) (*group, error) {
	g := &group{location: at, limits: make([]kernelFile, len(at.limits))}
	open := func(f *kernelFile, name string) (err error) {
		*f, err = openKernelFile(filepath.Join(root, at.dir, name))
		return err
	}
	err := errors.Join(open(&g.usage, at.usage), open(&g.stat, "memory.stat"))
	for i, name := range at.limits {
		err = errors.Join(err, open(&g.limits[i], name))
	}
	if err != nil {
		g.Close()
		return nil, err
	}
	return g, nil
}

func (g *group) name() string { return g.version + " " + g.dir }

// available returns limit − working set, or eviction.Unknown if the group has no limit.
func (g *group) available(buf []byte) (int64, error) {
	limit := eviction.Unknown
	for _, f := range g.limits {
		n, err := f.bytes(buf)
		if err != nil {
			return 0, err
		}
		limit = min(limit, n)
	}
	if limit >= noLimit && g.inherited == "" {
		return eviction.Unknown, nil
	}
	limit, inactive, err := g.readStat(limit, buf)
	if err != nil || limit >= noLimit {
		return eviction.Unknown, err
	}
	usage, err := g.usage.bytes(buf)
	if err != nil {
		return 0, err
	}
	workingSet := max(usage-inactive, 0)
	return max(limit-workingSet, 0), nil
}

// readStat returns the limit, lowered to an inherited one, and the inactive page cache.
func (g *group) readStat(limit int64, buf []byte) (lowered, inactive int64, err error) {
	stat, err := g.stat.read(buf)
	if err != nil {
		return 0, 0, err
	}
	if g.inherited != "" {
		inherited, err := sizeIn(stat, g.inherited)
		if err != nil {
			return 0, 0, fmt.Errorf("%s: %w", g.stat.Name(), err)
		}
		limit = min(limit, inherited)
	}
	inactive, err = sizeIn(stat, g.inactive)
	if err != nil {
		return 0, 0, fmt.Errorf("%s: %w", g.stat.Name(), err)
	}
	return limit, inactive, nil
}

// Close implements io.Closer.
func (g *group) Close() error {
	var errs []error
	for _, f := range append(g.limits, g.usage, g.stat) {
		if f.File != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}
