package sound_test

import (
	"fmt"

	"doubletake/ingest/format/internal/sound"
)

// Texts end at a zero byte; those that are not UTF-8 are Latin-1.
func ExamplePlain() {
	fmt.Println(sound.Plain([]byte("5 \xb5m \x00rest")))
	// Output: 5 µm
}
