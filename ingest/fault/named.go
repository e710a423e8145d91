package fault

import (
	"errors"
	"fmt"
)

// Named adds the name of a file to an error, unless the error already names that file. It returns nil for nil.
func Named(err error, name string) error {
	if err == nil {
		return nil
	}

	if data, ok := errors.AsType[*Error](err); ok && data.Path == name {
		return err
	}

	return fmt.Errorf("read %s: %w", name, err)
}

// Placed completes a fault of the data that names no file: it sets Path to path, and Place to what the function place
// returns for the fault's own place. It returns other errors unchanged.
func Placed(err error, path string, place func(string) string) error {
	data, ok := errors.AsType[*Error](err)
	if !ok || data.Path != "" {
		return err
	}

	placed := *data
	placed.Path = path
	placed.Place = place(data.Place)

	return &placed
}
