package ingest

import (
	"errors"
	"fmt"

	"doubletake/ingest/hdf5"
	"doubletake/ingest/matfile"
	"doubletake/ingest/npz"
	"doubletake/ingest/tdms"
)

// foreignError turns the error of a format's own package into a *DataError.
func foreignError(path string, err error) error {
	var (
		d *DataError
		m *matfile.Error
		t *tdms.Error
		n *npz.Error
		h *hdf5.Error
	)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &d):
		return err
	case errors.As(err, &m):
		return &DataError{Path: path, Place: m.Place, Want: m.Want, Found: m.Found, Hint: m.Hint, Err: m.Err}
	case errors.As(err, &t):
		return &DataError{Path: path, Place: t.Place, Want: t.Want, Found: t.Found, Hint: t.Hint, Err: t.Err}
	case errors.As(err, &n):
		return &DataError{Path: path, Place: n.Place, Found: n.Found, Hint: n.Hint, Err: n.Err}
	case errors.As(err, &h):
		e := &DataError{Path: path, Found: h.Error()}
		if h.Offset >= 0 {
			e.Place = fmt.Sprintf("byte %d", h.Offset)
		}
		return e
	}
	return &DataError{Path: path, Err: fmt.Errorf("read: %w", err)}
}
