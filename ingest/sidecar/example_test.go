package sidecar_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"doubletake/ingest/sidecar"
)

// The name of a value contains the keys that lead to it.
func ExampleReadValues() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	path := filepath.Join(dir, "run7.yaml")
	text := "propeller: A\nmotor:\n  speed: 3000\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		log.Print(err)
		return
	}

	values, err := sidecar.ReadValues(path)
	if err != nil {
		log.Print(err)
		return
	}

	for _, value := range values {
		fmt.Println(value.Name, value.Text, value.Number)
	}
	// Output:
	// propeller A NaN
	// motor.speed 3000 3000
}
