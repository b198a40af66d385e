package llama

import (
	"errors"
	"testing"

	"github.com/antigravity-go/antigravity/internal/fixture/families"
)

// golden is families.Golden, with its fields' names in this package's tests.
type golden struct {
	input  []Token
	logits [][]float32
	greedy []Token
}

func readGolden(t *testing.T, path string) golden {
	t.Helper()
	g := families.ReadGolden[Token](t, path)
	return golden{g.Input, g.Logits, g.Greedy}
}

func relativeError(got, want []float32) float64 { return families.RelativeError(got, want) }

// Of a family that GGUF does not have it skips the test, if the folder says so, too.
func asGGUF(t *testing.T, dir string) string {
	t.Helper()
	if m := mustLoad(t, dir, nil); families.FolderOnly(m.config) {
		if _, err := m.files.Pipeline.Metadata(m.config); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s has no place in GGUF: %v", m.config.Family, err)
		}
		t.Skip("no GGUF file has such a model")
	}
	return families.GGUF(t, dir)
}

func mustLoad(t testing.TB, path string, o *LoadOptions) *Model {
	t.Helper()
	m, err := Load(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

func mustSession(t testing.TB, m *Model, o *SessionOptions) *Session {
	t.Helper()
	s, err := m.NewSession(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}
