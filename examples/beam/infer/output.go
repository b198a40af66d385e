package infer

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/internal/atomicfile"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
)

// writeOutput writes an output's failures, if there are any, and then its results: if the file of results exists, nothing is missing. The
// failures of an earlier attempt are removed if this one has no failures. If system is not nil, it writes files of this machine.
func writeOutput(ctx context.Context, system atomicfile.System, output string, results, failures []byte) error {
	if len(failures) > 0 {
		if err := writeFile(ctx, system, FailuresOf(output), failures); err != nil {
			return err
		}
	} else if err := removeFailures(ctx, output); err != nil {
		return err
	}
	return writeFile(ctx, system, output, results)
}

// removeFailures removes the file of an output's failures, if it is there.
func removeFailures(ctx context.Context, output string) error {
	name := FailuresOf(output)
	files, err := filesystem.New(ctx, name)
	if err != nil {
		return err
	}
	defer files.Close()
	there, err := files.List(ctx, name)
	if err != nil {
		return fmt.Errorf("list %s: %w", name, err)
	}
	remover, ok := files.(filesystem.Remover)
	if !ok || !slices.Contains(there, name) {
		return nil
	}
	if err := remover.Remove(ctx, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the old failures %s: %w", name, err)
	}
	return nil
}

// WriteFile writes a file that is there as a whole or not at all: under another name first, since an attempt may be killed, and two
// attempts may write at the same time. On this machine it is on the disk before it has its name.
func WriteFile(ctx context.Context, name string, data []byte) error {
	return writeFile(ctx, nil, name, data)
}

// writeFile is WriteFile with a system that writes files of this machine.
func writeFile(ctx context.Context, system atomicfile.System, name string, data []byte) error {
	if !strings.Contains(name, "://") {
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
		set := atomicfile.Set{System: system}
		defer set.Discard()
		if err := set.Write(name, func(w io.Writer) error { _, err := w.Write(data); return err }); err != nil {
			return err
		}
		return set.Commit()
	}
	files, err := filesystem.New(ctx, name)
	if err != nil {
		return err
	}
	defer files.Close()
	part := fmt.Sprintf("%s.%08x.tmp", name, rand.Uint32()) // as atomicfile has it
	if err := filesystem.Write(ctx, files, part, data); err != nil {
		return fmt.Errorf("write %s: %w", part, err)
	}
	if err := filesystem.Rename(ctx, files, part, name); err != nil {
		return fmt.Errorf("rename %s to %s: %w", part, name, err)
	}
	return nil
}

// InFolder is the path or address of a name, or a pattern, in a folder, which is a path or an address.
func InFolder(folder, name string) string { return strings.TrimSuffix(folder, "/") + "/" + name }

// Written returns the files of results in a folder, those of failures aside.
func Written(ctx context.Context, fs filesystem.Interface, folder string) ([]string, error) {
	return fs.List(ctx, InFolder(folder, "*.jsonl"))
}

// Complete reports whether the output of a number of lines has, in its files of results and failures together, a whole line for each of
// them. A file that something cut short, or that was only begun, is not complete.
func Complete(ctx context.Context, output string, lines int) (bool, error) {
	files, err := filesystem.New(ctx, output)
	if err != nil {
		return false, err
	}
	defer files.Close()
	for _, name := range []string{output, FailuresOf(output)} {
		there, err := files.List(ctx, name)
		if err != nil {
			return false, fmt.Errorf("list %s: %w", name, err)
		}
		if !slices.Contains(there, name) {
			continue
		}
		n, whole, err := countLines(ctx, files, name)
		if err != nil {
			return false, fmt.Errorf("read %s: %w", name, err)
		}
		if lines -= n; !whole || lines < 0 {
			return false, nil
		}
	}
	return lines == 0, nil
}

// countLines counts the lines of a file. whole is false if one of them is no JSON, or has no end.
func countLines(ctx context.Context, files filesystem.Interface, name string) (n int, whole bool, err error) {
	file, err := files.OpenRead(ctx, name)
	if err != nil {
		return 0, false, err
	}
	defer file.Close()
	for r := bufio.NewReader(file); ; n++ {
		line, err := r.ReadBytes('\n')
		switch {
		case err == io.EOF:
			return n, len(line) == 0, nil
		case err != nil:
			return n, false, err
		case !json.Valid(bytes.TrimSuffix(line, []byte("\n"))):
			return n, false, nil
		}
	}
}

// ownFile matches the names of outputs and their failures.
var ownFile = regexp.MustCompile(`-[0-9]{6,}\.jsonl(` + regexp.QuoteMeta(failuresSuffix) + `)?$`)

// RemoveUnfinished removes the unfinished files that workers left in a folder when they were killed. It knows them by their names.
func RemoveUnfinished(ctx context.Context, files filesystem.Interface, folder string) error {
	found, err := files.List(ctx, InFolder(folder, "*.tmp"))
	if err != nil {
		return fmt.Errorf("list unfinished files in %s: %w", folder, err)
	}
	remover, ok := files.(filesystem.Remover)
	if !ok {
		return nil
	}
	for _, name := range found {
		own, ok := atomicfile.Unfinished(name)
		if !ok || !ownFile.MatchString(own) {
			continue
		}
		if err := remover.Remove(ctx, name); err != nil {
			return fmt.Errorf("remove the unfinished file %s: %w", name, err)
		}
	}
	return nil
}
