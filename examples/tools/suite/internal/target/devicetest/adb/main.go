//go:build linux

// Adb is a program to name in ANTIGRAVITY_ADB: it stands in for adb, with a folder of this machine for a device. With the argument
// make it makes such a device:
//
//	adb make FILE FOLDER ABI EXEC
//
// and ANTIGRAVITY_TEST_DEVICE=FILE then says which device is plugged in.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/antigravity-go/antigravity/examples/tools/suite/internal/target/devicetest"
)

func main() {
	if args := os.Args[1:]; len(args) == 5 && args[0] == "make" {
		if err := plug(args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, "adb:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(devicetest.ADB(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// plug makes a device of a file, a folder, a processor and what runs programs for it.
func plug(args []string) error {
	folder, err := filepath.Abs(args[1])
	if err != nil {
		return err
	}
	d := devicetest.Device{Folder: folder, Serial: "TEST1", Model: "Folder", ABI: args[2], Exec: args[3]}
	return d.Save(args[0])
}
