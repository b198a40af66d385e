package target

import (
	"context"
	"errors"
)

func openSSH(ctx context.Context, host string, o Options) (Target, error) {
	return nil, errors.New("ssh is not built yet")
}
