package inflate_test

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"io"

	"doubletake/ingest/format/internal/inflate"
)

// A Reader decompresses a stream of the standard library.
func ExampleNewZlibReader() {
	var packed bytes.Buffer
	w := zlib.NewWriter(&packed)
	fmt.Fprint(w, "lift_n,drag_n\n1.5,0.1\n")
	w.Close()

	text, err := io.ReadAll(inflate.NewZlibReader(&packed))
	fmt.Printf("%s%v\n", text, err)
	// Output:
	// lift_n,drag_n
	// 1.5,0.1
	// <nil>
}
