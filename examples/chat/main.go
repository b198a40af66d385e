// Chat is a conversation in the terminal: package examples/internal/chat, which is also "antigravity run".
package main

import (
	"context"
	"os"

	"github.com/antigravity-go/antigravity/examples/internal/chat"
	"github.com/antigravity-go/antigravity/examples/internal/cli"
)

// main leaves Ctrl-C to the conversation: it ends an answer, not the program.
func main() {
	cli.Exit("chat", chat.Program("go run ./examples/chat")(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
