package main

import (
	"fmt"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
)

// cell is one figure of a table: the rate of reading a prompt or, with sessions, the rate of all answers together that go on from it.
type cell struct {
	Prompt   int `json:"prompt"`             // tokens
	Sessions int `json:"sessions,omitempty"` // that generate at once; 0: the prompt is read
}

// String returns what a table calls the cell.
func (c cell) String() string {
	switch c.Sessions {
	case 0:
		return fmt.Sprintf("prompt of %s", cli.Count(c.Prompt, "token"))
	case 1:
		return fmt.Sprintf("generating after %s", cli.Count(c.Prompt, "token"))
	}
	return fmt.Sprintf("%d sessions after %s", c.Sessions, cli.Count(c.Prompt, "token"))
}

// answers returns the cells of sessions.
func answers(prompt int, sessions []int) (cells []cell) {
	for _, n := range sessions {
		cells = append(cells, cell{prompt, n})
	}
	return cells
}
