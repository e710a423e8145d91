package fault_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"doubletake/ingest/fault"
	"doubletake/internal/must"
)

// Parts that are not known are left out.
func ExampleError() {
	for _, e := range []*fault.Error{
		{Path: "run.tdms", Place: "byte 28", Want: "a segment's tag", Found: "zeros", Hint: "copy the file again"},
		{Place: "variable x", Err: io.ErrUnexpectedEOF},
		{Found: "an empty archive"},
	} {
		fmt.Println(e)
	}

	fmt.Println(errors.Is(&fault.Error{Err: io.ErrUnexpectedEOF}, io.ErrUnexpectedEOF))
	// Output:
	// run.tdms: byte 28: expected a segment's tag, found zeros (copy the file again)
	// variable x: unexpected EOF
	// an empty archive
	// true
}

func TestIn(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{&fault.Error{Place: "byte 3", Found: "zeros"}, "a.mat: byte 3: zeros"},
		{fmt.Errorf("read block: %w", &fault.Error{Place: "byte 3", Found: "zeros"}), "a.mat: byte 3: zeros"},
		{&fault.Error{Path: "b.mat", Found: "zeros"}, "b.mat: zeros"},
		{fmt.Errorf("scan: %w", &fault.Error{Path: "b.mat", Found: "zeros"}), "scan: b.mat: zeros"},
		{io.ErrUnexpectedEOF, "a.mat: read: unexpected EOF"},
	} {
		err := fault.In("a.mat", c.err)
		must.Not(t, err == nil || err.Error() != c.want || !errors.As(err, new(*fault.Error)),
			"In(%v) = %v, expected %s", c.err, err, c.want)
	}

	must.Do(t, fault.In("a.mat", nil))
}

// What is raised is the error of the function that catches it; other panics go on.
func TestCatch(t *testing.T) {
	wrong := errors.New("zeros")
	must.Equal(t, fault.Try(func() { fault.Unless(false, wrong) }), wrong, "raised")
	must.Do(t, fault.Try(func() { fault.Raise(nil) }))

	defer func() { must.Equal(t, recover(), any("own"), "panic") }()

	_ = fault.Try(func() { panic("own") })
}
