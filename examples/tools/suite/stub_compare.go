package main

import (
	"context"
	"errors"
	"io"
)

func compare(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	return errors.New("not built yet")
}

func summary(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	return errors.New("not built yet")
}
