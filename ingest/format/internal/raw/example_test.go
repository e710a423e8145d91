package raw_test

import (
	"fmt"

	"doubletake/ingest/format/internal/raw"
)

func ExampleValue() {
	fmt.Println(raw.Value(raw.I16, true, []byte{0xFF, 0xFE}))
	// Output: -2
}
