// Command asm generates the assembly of the packages kernel of dsp, train and ingest: kernel_amd64.s,
// and its declarations in Go, stubs_amd64.go, for processors with AVX2 and FMA. Run it in this folder:
//
//	go run .
//
// Loops stay loops: what differs from turn to turn is counted, or read from a table.
package main

import (
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
)

// rooms are the rooms and what generates the assembly of each.
var rooms = map[string]func(*build.Context){"dsp": transforms, "train": training, "ingest": reading}

// repository is the product's folder.
var repository = filepath.Join("..", "..", "..")

func main() {
	for room := range rooms {
		files, err := generate(room)
		if err != nil {
			log.Fatal(err)
		}
		for name, text := range files {
			if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
				log.Fatal(err)
			}
		}
	}
}

// generate returns the files of a room by their paths.
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
	cfg := printer.Config{Name: "docs/research/asm", Pkg: "kernel"}
	code, err := printer.NewGoAsm(cfg).Print(f)
	if err != nil {
		return nil, err
	}
	stubs, err := printer.NewStubs(cfg).Print(f)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(repository, room, "kernel")
	return map[string]string{
		filepath.Join(dir, "kernel_amd64.s"): string(code), filepath.Join(dir, "stubs_amd64.go"): wrap(string(stubs)),
	}, nil
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
