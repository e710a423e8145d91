//go:build !unix

package raw

import (
	"errors"
	"os"
)

func mapFile(*os.File, int64, int) ([]byte, error) { return nil, errors.ErrUnsupported }

func unmap([]byte) {}
