package sysinfo

import (
	"context"
	"os/exec"
	"strings"
	"time"
)

// getprop is the program that prints an Android device's properties. The files that it reads are not for everybody.
const getprop = "/system/bin/getprop"

// androidProperty returns a property of an Android device; "" on other systems.
func androidProperty(name string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	value, err := exec.CommandContext(ctx, getprop, name).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(value))
}
