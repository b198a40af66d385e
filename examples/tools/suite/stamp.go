package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"
)

// stamp is the commit of a program that was built without knowing it, as "go run" builds programs. It is empty if the program knows it, or
// if git does not.
type stamp struct {
	Commit    string // with + at its end: and changes
	Committed time.Time
}

// stampOf asks git for the commit of the checkout in a folder, if that is one of this module.
func stampOf(ctx context.Context, folder string) (s stamp) {
	info, ok := debug.ReadBuildInfo()
	if !ok || revision(info) != "" {
		return s
	}
	git := func(args ...string) (string, bool) {
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir = folder
		out, err := cmd.Output()
		return strings.TrimSpace(string(out)), err == nil
	}
	top, ok := git("rev-parse", "--show-toplevel")
	if !ok || !holds(filepath.Join(top, "examples"), info.Main.Path) {
		return s
	}
	head, ok := git("log", "-1", "--format=%H %cI")
	commit, when, _ := strings.Cut(head, " ")
	if !ok || commit == "" {
		return s
	}
	if changes, ok := git("status", "--porcelain"); ok && changes != "" {
		commit += "+"
	}
	s.Commit = commit
	if at, err := time.Parse(time.RFC3339, when); err == nil {
		s.Committed = at.UTC()
	}
	return s
}

// revision returns the commit that a build knows, or "".
func revision(info *debug.BuildInfo) string {
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			return setting.Value
		}
	}
	return ""
}

// ownCommit returns the commit of this program without the mark of changes; "" if neither the program nor git knows it.
func ownCommit(s stamp) string {
	if info, ok := debug.ReadBuildInfo(); ok && s.Commit == "" {
		return revision(info)
	}
	return strings.TrimSuffix(s.Commit, "+")
}

// unknownCommit is the warning if ownCommit is "".
const unknownCommit = "neither this program nor git knows its commit, so that these runs cannot be told from those of other commits; " +
	"start the suite in a checkout of the repository, or build it there"

// holds reports whether a folder is the root of a module.
func holds(folder, module string) bool {
	text, err := os.ReadFile(filepath.Join(folder, "go.mod"))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "module "); ok {
			return strings.TrimSpace(name) == module
		}
	}
	return false
}
