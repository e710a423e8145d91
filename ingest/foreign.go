package ingest

import (
	"errors"
	"fmt"

	"doubletake/ingest/fault"
	"doubletake/ingest/hdf5"
)

// foreignError turns the error of a format's own package into a *DataError.
func foreignError(path string, err error) error {
	var (
		d *DataError
		f *fault.Error // of the readers of MAT, TDMS, NPZ and formats read elsewhere
		h *hdf5.Error
	)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &d):
		return err
	case errors.As(err, &f):
		return &DataError{Path: path, Place: f.Place, Want: f.Want, Found: f.Found, Hint: f.Hint, Err: f.Err}
	case errors.As(err, &h):
		e := &DataError{Path: path, Found: h.Error()}
		if h.Offset >= 0 {
			e.Place = fmt.Sprintf("byte %d", h.Offset)
		}
		return e
	}
	return &DataError{Path: path, Err: fmt.Errorf("read: %w", err)}
}
