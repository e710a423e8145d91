package fault_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"doubletake/ingest/fault"
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
		if err == nil || err.Error() != c.want || !errors.As(err, new(*fault.Error)) {
			t.Errorf("In(%v) = %v, expected %s", c.err, err, c.want)
		}
	}

	if err := fault.In("a.mat", nil); err != nil {
		t.Error(err)
	}
}
