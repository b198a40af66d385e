//go:build !unix

package runs

import "errors"

func makePipe(string) error { return errors.ErrUnsupported }
