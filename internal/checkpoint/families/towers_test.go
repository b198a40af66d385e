package families_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/checkpoint/families"
)

// README's table of towers is this list.
func TestTowersInREADME(t *testing.T) {
	data, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(data), "| tower | models that see by it |\n|---|---|\n")
	if !found {
		t.Fatal("README has no table of towers")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	var want []string
	for tower, models := range families.Towers() {
		want = append(want, fmt.Sprintf("| `%s` | %s |", tower.Projector, models))
	}
	if rows := strings.Join(want, "\n"); table != rows {
		t.Errorf("README has\n%s\nand the towers are\n%s", table, rows)
	}
}
