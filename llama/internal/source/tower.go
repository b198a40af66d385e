package source

import (
	"context"
	"errors"
	"fmt"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/llama/internal/fault"
	"github.com/antigravity-go/antigravity/tensor"
)

// Tower is a model's tower in open files.
type Tower struct {
	*checkpoint.Tower
	Idle     []checkpoint.Ignored // tensors of its own file without effect, once Find has found the others
	IdleKeys []checkpoint.Ignored // keys of its own file without effect
	weights  weights
	own      bool // the files are the tower's own
}

// OpenTower opens the tower of an open model, if it has one: the one in files that the caller names, or with nil the folder's own, or that of a file
// next to a GGUF file. Afterwards Tower is not nil, or Blind says why there is no tower. Files that lie next to the model and do not fit are no error.
func (m *Model) OpenTower(ctx context.Context, named []Location, memory tensor.Memory) error {
	switch {
	case len(named) > 1:
		return fmt.Errorf("%d towers for one model: %w; name one file", len(named), fault.ErrUnsupported)
	case m.Config.Whole && named == nil:
		return nil
	case len(named) == 1:
		t, err := m.towerOf(ctx, named[0].files, named[0].name, memory)
		if err != nil {
			return err
		}
		m.Tower = t
		return nil
	case named != nil:
		return nil
	}
	if h, ok := m.weights.(*huggingFace); ok {
		t, why, err := checkpoint.Folder(h.files.read).Tower(m.Config, h.weights.OwnNames())
		if err != nil {
			return folderError(h.files, err)
		}
		if m.Blind = why; t != nil {
			m.Tower = &Tower{Tower: t, weights: h}
		}
		return nil
	}
	for _, name := range checkpoint.TowersFor(m.location.files.list(), m.location.name) {
		t, err := m.towerOf(ctx, m.location.files, name, memory)
		if err == nil {
			m.Tower, m.Blind = t, ""
			return nil
		}
		if ctx.Err() != nil {
			return err
		}
		if m.Blind == "" {
			m.Blind = fmt.Sprintf("%s does not fit: %v", name, err)
		}
	}
	return nil
}

// towerOf opens a GGUF file with a tower.
func (m *Model) towerOf(ctx context.Context, f files, name string, memory tensor.Memory) (_ *Tower, err error) {
	if name == "" {
		return nil, fmt.Errorf("a tower is a GGUF file, and %s is a folder: %w", f.path(name), fault.ErrUnsupported)
	}
	if is, err := isGGUF(f, name); err != nil {
		return nil, err
	} else if !is {
		return nil, notAModel(f, name)
	}
	g, err := openGGUF(ctx, f, name, memory)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, g.Close())
		}
	}()
	t, idle, err := checkpoint.TowerOf(g.gguf, m.Config)
	if err != nil {
		return nil, Malformed(g.File(), err)
	}
	if err := t.Serves(m.Config); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", g.File(), err, fault.ErrUnsupported)
	}
	return &Tower{Tower: t, IdleKeys: idle, weights: g, own: true}, nil
}

// File names, for messages, the file that lists the tower's tensors.
func (t *Tower) File() string { return t.weights.File() }

// Find is Model.Find for the tower's tensors. It comes before Model.Find, since a folder has both.
func (t *Tower) Find(tensors []model.Tensor, most int) (stored []Stored, total int64, problems []error) {
	stored = make([]Stored, len(tensors))
	for i := range tensors {
		in := t.TensorOf(&tensors[i])
		s, err := findChecked(t.weights, &in)
		if err != nil {
			if problems = append(problems, err); len(problems) >= most {
				return stored, total, problems
			}
			continue
		}
		s.name = in.GGUF.Name
		stored[i] = s
		total += int64(s.Bytes())
	}
	if len(problems) > 0 || !t.own {
		return stored, total, problems
	}
	accounts := t.Account(t.weights.names(), t.weights.found())
	t.Idle = accounts.Idle
	for _, name := range accounts.Unread[:min(len(accounts.Unread), most)] {
		problems = append(problems, fmt.Errorf("%s has the tensor %.200s, which nothing here reads: such a tower is not implemented: %w", t.File(), name, fault.ErrUnsupported))
	}
	return stored, total, problems
}

// close closes the tower's own files.
func (t *Tower) close() error {
	if t == nil || !t.own {
		return nil
	}
	return t.weights.Close()
}
