package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path"

	"github.com/antigravity-go/antigravity/examples/beam/infer"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
)

// plan is what results depend on. It is written beside them, so that a later command does not add to them what does not belong there.
type plan struct {
	Task     infer.Task       `json:"task"`
	Lines    int              `json:"lines"`
	Model    map[string]any   `json:"model"` // of infer.Model what can change a result
	Defaults json.RawMessage  `json:"defaults"`
	Inputs   map[string]int64 `json:"inputs"` // bytes of each file by its name
}

// planName is the plan's file in the folder of results.
const planName = "plan.json"

// planOf makes the plan of a job.
func planOf(ctx context.Context, j *job) (*plan, error) {
	m := j.model
	p := &plan{
		Task: j.task, Lines: j.lines, Defaults: j.defaults, Inputs: map[string]int64{},
		Model: map[string]any{"path": m.Path, "sha256": m.SHA256, "weights": m.Weights, "kv": m.KV, "capacity": m.Capacity},
	}
	for _, file := range j.inputs {
		fs, err := filesystem.New(ctx, file)
		if err != nil {
			return nil, err
		}
		size, err := fs.Size(ctx, file)
		fs.Close()
		if err != nil {
			return nil, fmt.Errorf("look at %s: %w", file, err)
		}
		p.Inputs[path.Base(file)] = size
	}
	return p, nil
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
			return fmt.Errorf("read %s: %w", file, err)
		}
		if difference := p.differs(&before); difference != "" {
			return fmt.Errorf("%s has results of another command: %s; give another -out, or remove the folder", out, difference)
		}
		for name, size := range before.Inputs {
			p.Inputs[name] = size
		}
	}
	data, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	if err := filesystem.Write(ctx, fs, file, append(data, '\n')); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}

// differs tells in what the results of two plans would differ, "" for nothing.
func (p *plan) differs(before *plan) string {
	for name, size := range p.Inputs {
		if old, ok := before.Inputs[name]; ok && old != size {
			return fmt.Sprintf("%s had %d bytes, and has %d", name, old, size)
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
