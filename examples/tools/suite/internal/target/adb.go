package target

import (
	"context"
	"errors"
)

func openADB(ctx context.Context, serial string, o Options) (Target, error) {
	return nil, errors.New("adb is not built yet")
}
