// Command wheel builds the Python wheel of the package doubletake with the
// program inside, so that `pip install` gives `pipeline` and `import doubletake`.
//
//	go run ./cmd/wheel -version 1.2.0 -platform linux/amd64 -o dist
//
// It needs Go alone, no Python. The program is built here, or -binary names
// one; equal inputs give equal wheels. Files named on the command line, such as
// licences of dependencies, are added to the licences.
package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"doubletake/ingest/fault"
	"doubletake/internal/lists"
)

//go:embed doubletake/*.py
var sources embed.FS

// tags are the platforms of wheels. The program is static: it runs with any C
// library. macOS 12 is the oldest that Go supports.
var tags = map[string][]string{
	"linux/amd64":   {"manylinux_2_17_x86_64", "manylinux2014_x86_64", "musllinux_1_1_x86_64"},
	"linux/arm64":   {"manylinux_2_17_aarch64", "manylinux2014_aarch64", "musllinux_1_1_aarch64"},
	"darwin/arm64":  {"macosx_12_0_arm64"},
	"windows/amd64": {"win_amd64"},
}

var platforms = strings.Join(slices.Sorted(maps.Keys(tags)), ", ")

// pep440 is a version that pip accepts, without epochs.
var pep440 = regexp.MustCompile(`^\d+(\.\d+)*((a|b|rc)\d+)?(\.post\d+)?(\.dev\d+)?(\+[a-z0-9]+(\.[a-z0-9]+)*)?$`)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "wheel: "+err.Error())
		os.Exit(1)
	}
}

func run(args []string, stdout io.Writer) (err error) {
	defer fault.Catch(&err)
	f := flag.NewFlagSet("wheel", flag.ContinueOnError)
	version := f.String("version", "0.0.dev0", "version of the wheel, as PEP 440 has it")
	platform := f.String("platform", "linux/amd64", "one of "+platforms)
	binary := f.String("binary", "", "the program for that platform; without it, it is built")
	dir := f.String("o", ".", "folder to write the wheel to")
	plain := f.String("zip", "", "a ZIP archive to write, too: the program and the licences alone")

	fault.Raise(f.Parse(args))
	if !pep440.MatchString(*version) {
		return fmt.Errorf("-version: expected a version such as 1.2.0 or 1.3.0.dev1, found %q", *version)
	}

	if tags[*platform] == nil {
		return fmt.Errorf("-platform: expected one of %s, found %q", platforms, *platform)
	}

	name := "pipeline"
	if strings.HasPrefix(*platform, "windows/") {
		name += ".exe"
	}

	program := member{name, fault.Get(programFor(*platform, *binary)), true}
	licences := lists.Each(f.Args(), func(path string) member {
		return member{filepath.Base(path), fault.Get(os.ReadFile(path)), false}
	})

	var b bytes.Buffer
	fault.Raise(write(&b, *version, tags[*platform], program, licences))

	wheel := filepath.Join(*dir, fmt.Sprintf("doubletake-%s-py3-none-%s.whl", *version,
		strings.Join(tags[*platform], ".")))

	fault.Raise(os.MkdirAll(*dir, 0o777))
	fault.Raise(os.WriteFile(wheel, b.Bytes(), 0o644))

	if *plain != "" {
		b.Reset()
		fault.Raise(archive(&b, append([]member{program}, licences...)))
		fault.Raise(os.WriteFile(*plain, b.Bytes(), 0o644))
	}

	_, err = fmt.Fprintf(stdout, "%s\n", wheel)

	return err
}

// programFor returns the program, static and without paths of this machine.
func programFor(platform, path string) ([]byte, error) {
	if path == "" {
		dir, err := os.MkdirTemp("", "wheel-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		path = filepath.Join(dir, "pipeline")
		system, machine, _ := strings.Cut(platform, "/")
		c := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, "doubletake/cmd/pipeline")
		c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+machine)
		if out, err := c.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build the program: %w\n%s", err, out)
		}
	}

	return os.ReadFile(path)
}

// member is a file of the wheel.
type member struct {
	name       string
	data       []byte
	executable bool
}

const description = `Name: doubletake
Version: %s
Summary: Raw measurements in, models that state their own uncertainty out
License: Apache-2.0
Requires-Python: >=3.9
Requires-Dist: numpy
Provides-Extra: pandas
Requires-Dist: pandas; extra == "pandas"
Description-Content-Type: text/markdown

The program pipeline, and the package doubletake, which asks it and gives its answers as numpy arrays.
`

// write writes the wheel (PEP 427): the package, the program among the scripts,
// and what states them.
func write(w io.Writer, version string, tags []string, program member, licences []member) (err error) {
	defer fault.Catch(&err)
	info := "doubletake-" + version + ".dist-info/"
	var list []member

	for _, n := range fault.Get(sources.ReadDir("doubletake")) {
		b := fault.Get(sources.ReadFile(path.Join("doubletake", n.Name())))
		if n.Name() == "__init__.py" {
			b = bytes.Replace(b, []byte(`"0+source"`), []byte(`"`+version+`"`), 1)
		}

		list = append(list, member{"doubletake/" + n.Name(), b, false})
	}

	program.name = "doubletake-" + version + ".data/scripts/" + program.name
	list = append(list, program)
	for _, l := range licences {
		list = append(list, member{info + "licenses/" + l.name, l.data, false})
	}

	about := "Wheel-Version: 1.0\nGenerator: doubletake\nRoot-Is-Purelib: false\n"
	for _, t := range tags {
		about += "Tag: py3-none-" + t + "\n"
	}

	list = append(
		list, member{info + "METADATA", []byte("Metadata-Version: 2.1\n" + fmt.Sprintf(description, version)), false},
		member{info + "WHEEL", []byte(about), false}, member{info + "top_level.txt", []byte("doubletake\n"), false},
	)

	record := ""
	for _, m := range list {
		sum := sha256.Sum256(m.data)
		record += fmt.Sprintf("%s,sha256=%s,%d\n", m.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(m.data))
	}

	list = append(list, member{info + "RECORD", []byte(record + info + "RECORD,,\n"), false})

	return archive(w, list)
}

// archive writes a ZIP archive, the same bytes for the same members.
func archive(w io.Writer, list []member) error {
	z := zip.NewWriter(w)
	for _, m := range list {
		h := &zip.FileHeader{Name: m.name, Method: zip.Deflate, Modified: time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)}
		h.SetMode(0o644) // with the bits of a regular file

		if m.executable {
			h.SetMode(0o755) // pip installs it with these
		}

		f, err := z.CreateHeader(h)
		if err == nil {
			_, err = f.Write(m.data)
		}

		if err != nil {
			return errors.Join(err, z.Close())
		}
	}

	return z.Close()
}
