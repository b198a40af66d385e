package cli

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/eviction"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/pebble"
	"github.com/antigravity-go/antigravity/tensor"
)

// talking is a flag set with the flags that most programs have.
func talking() (*Flags, *llama.Params, *Memory, *Model) {
	f, params, memory, model := NewFlags("talking", ""), &llama.Params{}, &Memory{}, &Model{}
	SamplingFlags(f, params, 8)
	memory.Flags(f, tensor.F16)
	model.Flags(f)
	return f, params, memory, model
}

// TestFieldsAndFlagsExist checks that each of the library's values that is called by a flag exists, and the flag, too.
func TestFieldsAndFlagsExist(t *testing.T) {
	f, _, _, _ := talking()
	types := map[string]reflect.Type{
		"Params": reflect.TypeFor[llama.Params](), "SessionOptions": reflect.TypeFor[llama.SessionOptions](), "LoadOptions": reflect.TypeFor[llama.LoadOptions](),
	}
	if len(f.fields) < 14 {
		t.Errorf("only %v", f.fields)
	}
	for field, flag := range f.fields {
		owner, name, _ := strings.Cut(strings.Fields(field)[0], ".")
		at := types[owner]
		for part := range strings.SplitSeq(name, ".") {
			if at == nil {
				break
			}
			if f, ok := at.FieldByName(part); ok {
				at = f.Type
			} else {
				at = nil
			}
		}
		if at == nil {
			t.Errorf("there is no field %s", field)
		}
		if f.Lookup(strings.Fields(flag)[0]) == nil {
			t.Errorf("there is no flag %s for %s", flag, field)
		}
	}
}

// TestErrorsNameFlags gives each flag a value without meaning: the error calls the value by the flag, and by nothing of the library.
func TestErrorsNameFlags(t *testing.T) {
	m, err := pebble.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for line, want := range map[string]string{
		"-n -5":                              "-n is -5: it must be 0 or more",
		"-temperature -1":                    "-temperature is -1: ",
		"-top-k -1":                          "-top-k is -1: ",
		"-think-budget -1":                   "-think-budget is -1: ",
		"-top-p 2":                           "-top-p is 2: ",
		"-min-p 2":                           "-min-p is 2: ",
		"-repeat-penalty -1":                 "-repeat-penalty is -1: ",
		"-stop=":                             `-stop is "": `,
		"-capacity -1":                       "-capacity is -1: it must be 1 to 2048 tokens",
		"-capacity 100 -eviction-policy h2o": "-capacity is 100: it must be at least",
		"-capacity 5":                        "the context is full: 20 tokens do not fit, there is room for 5: the cache's capacity is 5 tokens",
		"-evict-after-prompt":                "-evict-after-prompt is true: it must be false, or -eviction-policy a policy",
		"-endless -eviction-window 5000":     "where -endless is given",
		"-endless -eviction-policy snapkv":   "-endless",
		"-threads -1":                        "-threads",
		"-threads many":                      "-threads",
		"-backend abacus":                    "-backend abacus: it must be one of cpu, opencl",
	} {
		f, params, memory, model := talking()
		err := f.Parse(strings.Fields(line), nil)
		if err == nil {
			err = ask(t.Context(), m, params, memory, model)
		}
		if err = f.Explained(err); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", line, err, want)
			continue
		}
		for _, not := range []string{"Options", "Params", "llama:", "DropTurns", "Reanchor"} {
			if strings.Contains(err.Error(), not) {
				t.Errorf("%s: %q speaks of %s", line, err, not)
			}
		}
	}
}

// ask asks a model a question as the flags say.
func ask(ctx context.Context, m *llama.Model, params *llama.Params, memory *Memory, model *Model) error {
	d, err := model.OpenDevices()
	if err != nil {
		return err
	}
	d.Close()
	session, closeSession, err := memory.Session(m)
	if err != nil {
		return err
	}
	defer closeSession()
	_, err = llama.Collect((&Prompt{Text: "What is the capital of Japan?"}).Ask(ctx, m, session, *params))
	return err
}

func TestExplainedKeepsTheError(t *testing.T) {
	f, _, _, _ := talking()
	full := &llama.ContextFullError{Want: 3000, Room: 2048, Context: 2048, Capacity: 2048}
	err := f.Explained(fmt.Errorf("answer: %w", full))
	if !errors.Is(err, llama.ErrContextFull) || !strings.HasPrefix(err.Error(), "answer: the context is full: 3000") || !strings.Contains(err.Error(), "-endless") {
		t.Errorf("a full context: %v", err)
	}
	err = f.Explained(fmt.Errorf("%w: %w", llama.ErrContextFull, eviction.ErrPressure))
	if !errors.Is(err, eviction.ErrPressure) || !strings.Contains(err.Error(), "-eviction-policy") {
		t.Errorf("memory is short: %v", err)
	}
	other := errors.New("other")
	if got := f.Explained(other); got != other || f.Explained(nil) != nil {
		t.Errorf("another error: %v", got)
	}
	few := NewFlags("few", "") // a program that sets these values by itself
	if err := few.Explained(&llama.ParamError{Field: "SessionOptions.Capacity", Value: 5, Want: "more"}); strings.Contains(err.Error(), "-capacity") {
		t.Errorf("a flag that does not exist is named: %v", err)
	}
}
