package fault_test

import (
	"errors"
	"fmt"
	"io"

	"doubletake/ingest/fault"
)

// Parts that are not known are left out.
func ExampleError() {
	for _, e := range []*fault.Error{
		{Place: "byte 28", Want: "a segment's tag", Found: "zeros", Hint: "copy the file again"},
		{Place: "variable x", Err: io.ErrUnexpectedEOF},
		{Found: "an empty archive"},
	} {
		fmt.Println(e)
	}
	fmt.Println(errors.Is(&fault.Error{Err: io.ErrUnexpectedEOF}, io.ErrUnexpectedEOF))
	// Output:
	// byte 28: expected a segment's tag, found zeros (copy the file again)
	// variable x: unexpected EOF
	// an empty archive
	// true
}
