// Package clients tries real clients of other people's interfaces on this tree's server.
package clients

import (
	"fmt"
	"os"
	"testing"

	"antigravity.test/clients/server"
)

// servers are what the clients talk to.
var servers *server.Servers

func TestMain(m *testing.M) {
	var err error
	if servers, err = server.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "starting the servers:", err)
		os.Exit(1)
	}
	code := m.Run()
	if err := servers.Close(); err != nil {
		fmt.Fprintln(os.Stderr, "closing the servers:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}
