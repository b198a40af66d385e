// Serve lets programs of any language talk to models: package examples/internal/server, which is also "antigravity serve".
package main

import (
	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/examples/internal/server"
)

func main() { cli.Main("serve", server.Program("go run ./examples/serve")) }
