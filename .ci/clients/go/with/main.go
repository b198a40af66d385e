// With runs a command with servers to talk to: with node --test. Their addresses and the key stand in the command's environment, as
// ANTIGRAVITY_URL, ANTIGRAVITY_SMALL_URL and ANTIGRAVITY_KEY; package server says what they serve.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"

	"antigravity.test/clients/server"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: with command [argument …]")
		os.Exit(2)
	}
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "with:", err)
		os.Exit(1)
	}
}

func run(command []string) (err error) {
	servers, err := server.Start()
	if err != nil {
		return fmt.Errorf("starting the servers: %w", err)
	}
	defer func() { err = errors.Join(err, servers.Close()) }()
	c := exec.Command(command[0], command[1:]...)
	c.Env = append(os.Environ(), "ANTIGRAVITY_URL="+servers.URL, "ANTIGRAVITY_SMALL_URL="+servers.Small, "ANTIGRAVITY_KEY="+server.Key)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	return c.Run()
}
