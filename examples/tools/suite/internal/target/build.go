package target

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// module is the module at the top of the repository, suite the program that is built.
const (
	module = "github.com/antigravity-go/antigravity"
	suite  = module + "/examples/tools/suite"
)

// Build builds the suite for a system and a processor, as one file that needs no library there, and returns its path: it is kept in
// the user's cache folder. folder is any folder of a checkout of the repository, "" the current one; tags are build tags with commas
// between, or "".
func Build(ctx context.Context, goos, goarch, tags, folder string) (program string, err error) {
	doing := fmt.Sprintf("build the suite for %s/%s", goos, goarch)
	compiler, err := exec.LookPath("go")
	if err != nil {
		return "", fmt.Errorf("%s: there is no go command in PATH: install Go (https://go.dev/dl), or build the suite on a machine that has it: "+
			"GOOS=%s GOARCH=%s CGO_ENABLED=0 go build %s", doing, goos, goarch, suite)
	}
	command := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, compiler, args...)
		cmd.Dir = folder
		cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
		cmd.WaitDelay = waitDelay
		return cmd
	}
	if err := command("list", suite).Run(); err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return "", fmt.Errorf("%s: that takes its source: run this in a checkout of %s", doing, module)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("%s: %w", doing, err)
	}
	name := strings.Join([]string{"suite", goos, goarch}, "-")
	if tags != "" {
		name += "-" + strings.NewReplacer(",", "-", "/", "-", string(filepath.Separator), "-").Replace(tags)
	}
	if goos == "windows" {
		name += ".exe"
	}
	program = filepath.Join(cache, "antigravity", name)
	args := []string{"build", "-ldflags", "-s -w", "-tags", tags, "-o", program, suite}
	said, err := command(args...).CombinedOutput()
	if err != nil && strings.Contains(string(said), "-buildvcs=false") { // git is missing, or does not trust the folder
		said, err = command(append([]string{"build", "-buildvcs=false"}, args[1:]...)...).CombinedOutput()
	}
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil && len(said) > 0:
		return "", fmt.Errorf("%s: %w", doing, errors.New(strings.TrimSpace(string(said))))
	case err != nil:
		return "", fmt.Errorf("%s: %w", doing, err)
	}
	return program, nil
}

// BuiltHere reports whether this very program runs on a platform, so that nothing has to be built.
func BuiltHere(goos, goarch string) bool { return goos == runtime.GOOS && goarch == runtime.GOARCH }
