package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"

	"github.com/antigravity-go/antigravity/examples/beam/infer"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	"golang.org/x/sync/errgroup"
)

// plan holds everything that results depend on. It is written into their folder, so that a later command does not add results of another
// plan to them.
type plan struct {
	Task     infer.Task        `json:"task"`
	Lines    int               `json:"lines"`
	Model    map[string]any    `json:"model"` // of infer.Model what can change a result
	Defaults json.RawMessage   `json:"defaults"`
	Inputs   map[string]string `json:"inputs"` // the SHA-256 of each file by its name
}

// planName is the plan's file in the folder of results.
const planName = "plan.json"

// planOf makes the plan of a job.
func planOf(ctx context.Context, j *job) (*plan, error) {
	m := j.model
	p := &plan{
		Task: j.task, Lines: j.lines, Defaults: j.defaults, Inputs: map[string]string{},
		Model: map[string]any{"path": m.Path, "sha256": m.SHA256, "weights": m.Weights, "kv": m.KV, "capacity": m.Capacity},
	}
	sums := make([]string, len(j.inputs))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(hashedAtOnce)
	for i, file := range j.inputs {
		group.Go(func() (err error) {
			if sums[i], err = sumOf(ctx, file); err != nil {
				return fmt.Errorf("read %s: %w", file, err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for i, file := range j.inputs {
		p.Inputs[path.Base(file)] = sums[i]
	}
	return p, nil
}

// hashedAtOnce is how many inputs are hashed at the same time.
const hashedAtOnce = 4

// sumOf returns the SHA-256 of a file.
func sumOf(ctx context.Context, file string) (string, error) {
	files, err := filesystem.New(ctx, file)
	if err != nil {
		return "", err
	}
	defer files.Close()
	r, err := files.OpenRead(ctx, file)
	if err != nil {
		return "", err
	}
	defer r.Close()
	h := sha256.New()
	for {
		if _, err := io.CopyN(h, r, 16<<20); err == io.EOF {
			return hex.EncodeToString(h.Sum(nil)), nil
		} else if err != nil {
			return "", err
		}
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
	}
}

// settle compares the plan with the folder's, if it has one, and writes it there: files of prompts may have come, nothing else may differ.
func (p *plan) settle(ctx context.Context, fs filesystem.Interface, out string) error {
	file := infer.InFolder(out, planName)
	there, err := fs.List(ctx, file)
	if err != nil {
		return fmt.Errorf("list %s: %w", file, err)
	}
	if len(there) > 0 {
		data, err := filesystem.Read(ctx, fs, file)
		if err != nil {
			return fmt.Errorf("read %s: %w", file, err)
		}
		var before plan
		if err := json.Unmarshal(data, &before); err != nil {
			return fmt.Errorf("%s is no plan of this version of the program, so that it cannot be told which results are there: give another -out, or remove the folder", file)
		}
		if difference := p.differs(&before); difference != "" {
			return fmt.Errorf("%s has results of another command: %s; give another -out, or remove the folder", out, difference)
		}
		for name, sum := range before.Inputs {
			p.Inputs[name] = sum
		}
	}
	data, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	return infer.WriteFile(ctx, file, append(data, '\n'))
}

// differs says in what the results of two plans would differ, "" if in nothing.
func (p *plan) differs(before *plan) string {
	for _, name := range slices.Sorted(maps.Keys(p.Inputs)) {
		if old, ok := before.Inputs[name]; ok && old != p.Inputs[name] {
			return name + " was changed since"
		}
	}
	for _, part := range []struct {
		name     string
		now, was any
	}{
		{"-task", p.Task, before.Task}, {"-lines", p.Lines, before.Lines}, {"the model", p.Model, before.Model},
		{"-defaults", p.Defaults, before.Defaults},
	} {
		now, _ := json.Marshal(part.now)
		was, _ := json.Marshal(part.was)
		if !bytes.Equal(now, was) {
			return fmt.Sprintf("%s was %s, and is %s", part.name, was, now)
		}
	}
	return ""
}
