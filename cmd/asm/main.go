// Command asm generates the assembly of the packages kernel of dsp, train, ingest and
// pipeline/engine: kernel_amd64.s, and its declarations in Go, stubs_amd64.go, in the working folder.
// Run by `go generate` in those packages:
//
//	go run doubletake/cmd/asm ROOM
//
// Loops stay loops: what differs from turn to turn is counted, or read from a table.
package main

import (
	"fmt"
	"log"
	"os"
	"slices"
	"strings"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
)

// rooms are the rooms and what generates the assembly of each.
var rooms = map[string]func(*build.Context){
	"dsp": transforms, "train": training, "ingest": reading, "pipeline/engine": hashing,
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "asm:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 || rooms[args[0]] == nil {
		return fmt.Errorf("expected dsp, train, ingest or pipeline/engine, found %q", args)
	}
	files, err := generate(args[0])
	if err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// generate returns the files of a room by name.
func generate(room string) (map[string]string, error) {
	c := build.NewContext()
	c.ConstraintExpr("amd64")
	rooms[room](c)
	f, err := c.Result()
	if err != nil {
		build.LogError(log.Default(), err, 0)
		return nil, err
	}
	if err := pass.Compile.Execute(f); err != nil {
		return nil, err
	}
	cfg := printer.Config{Name: "doubletake/cmd/asm", Pkg: "kernel"}
	code, err := printer.NewGoAsm(cfg).Print(f)
	if err != nil {
		return nil, err
	}
	stubs, err := printer.NewStubs(cfg).Print(f)
	if err != nil {
		return nil, err
	}
	return map[string]string{"kernel_amd64.s": string(code), "stubs_amd64.go": wrap(string(stubs))}, nil
}

// wrap breaks the lines that are longer than 116 bytes.
func wrap(text string) string {
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		if l := lines[i]; len(l) > 116 {
			at := strings.LastIndex(l[:115], ", ") + 1
			lines[i] = l[:at]
			lines = slices.Insert(lines, i+1, "\t"+l[at+1:])
		}
	}
	return strings.Join(lines, "\n")
}
