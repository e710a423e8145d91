// Command wheel builds the Python wheel of the package doubletake, which contains the program. `pip install` of the
// wheel gives the command `pipeline` and the module of `import doubletake`.
//
//	go run ./cmd/wheel -version 1.2.0 -platform linux/amd64 -o dist
//
// It needs Go but no Python. It builds the program, unless -binary names one. Equal inputs give equal wheels. The
// arguments are the paths of further licences, such as those of dependencies. The wheel contains them too.
package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
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
)

// sources are the files of the Python package.
//
//go:embed doubletake/*.py
var sources embed.FS

// tags are the platform tags of wheels, by Go's name of the platform. On Linux the program is static, so that it runs
// with any C library. macOS 12 is the oldest version that Go supports.
var tags = map[string][]string{
	"linux/amd64":   {"manylinux_2_17_x86_64", "manylinux2014_x86_64", "musllinux_1_1_x86_64"},
	"linux/arm64":   {"manylinux_2_17_aarch64", "manylinux2014_aarch64", "musllinux_1_1_aarch64"},
	"darwin/arm64":  {"macosx_12_0_arm64"},
	"windows/amd64": {"win_amd64"},
}

// platforms lists the platforms, for messages.
var platforms = strings.Join(slices.Sorted(maps.Keys(tags)), ", ")

// pep440 matches a version that pip accepts (PEP 440), except versions with an epoch.
var pep440 = regexp.MustCompile(`^\d+(\.\d+)*((a|b|rc)\d+)?(\.post\d+)?(\.dev\d+)?(\+[a-z0-9]+(\.[a-z0-9]+)*)?$`)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "wheel: "+err.Error())
		os.Exit(1)
	}
}

// options are the flags and arguments of the program.
type options struct {
	version  string
	platform string
	binary   string   // path of the program; "" to build it
	dir      string   // folder of the wheel
	zip      string   // path of the ZIP archive; "" for none
	licences []string // paths of files that are added to the licences
}

// parse reads the flags and arguments.
func parse(args []string) (options, error) {
	flags := flag.NewFlagSet("wheel", flag.ContinueOnError)
	version := flags.String("version", "0.0.dev0", "version of the wheel, as PEP 440 has it")
	platform := flags.String("platform", "linux/amd64", "one of "+platforms)
	binary := flags.String("binary", "", "the program for that platform; without it, it is built")
	dir := flags.String("o", ".", "folder to write the wheel to")
	plain := flags.String("zip", "", "a ZIP archive to write, too: the program and the licences alone")

	if err := flags.Parse(args); err != nil {
		return options{}, fmt.Errorf("parse flags: %w", err)
	}

	if !pep440.MatchString(*version) {
		return options{}, fmt.Errorf("-version: expected a version such as 1.2.0 or 1.3.0.dev1, found %q", *version)
	}

	if tags[*platform] == nil {
		return options{}, fmt.Errorf("-platform: expected one of %s, found %q", platforms, *platform)
	}

	return options{
		version: *version, platform: *platform, binary: *binary, dir: *dir, zip: *plain, licences: flags.Args(),
	}, nil
}

// run builds the wheel that the arguments describe, and the ZIP archive, and prints the path of the wheel.
func run(args []string, stdout io.Writer) error {
	o, err := parse(args)
	if err != nil {
		return err
	}

	name := "pipeline"
	if strings.HasPrefix(o.platform, "windows/") {
		name += ".exe"
	}

	data, err := programFor(o.platform, o.binary)
	if err != nil {
		return err
	}

	program := member{name: name, data: data, isExecutable: true}
	licences, err := readLicences(o.licences)
	if err != nil {
		return err
	}

	members, err := wheelMembers(o.version, tags[o.platform], program, licences)
	if err != nil {
		return err
	}

	wheel := fmt.Sprintf("doubletake-%s-py3-none-%s.whl", o.version, strings.Join(tags[o.platform], "."))
	wheelPath := filepath.Join(o.dir, wheel)
	if err := os.MkdirAll(o.dir, 0o777); err != nil {
		return fmt.Errorf("make the folder of the wheel: %w", err)
	}

	if err := writeArchive(wheelPath, members); err != nil {
		return fmt.Errorf("write the wheel: %w", err)
	}

	if o.zip != "" {
		if err := os.MkdirAll(filepath.Dir(o.zip), 0o777); err != nil {
			return fmt.Errorf("make the folder of the ZIP archive: %w", err)
		}

		if err := writeArchive(o.zip, append([]member{program}, licences...)); err != nil {
			return fmt.Errorf("write the ZIP archive: %w", err)
		}
	}

	_, err = fmt.Fprintln(stdout, wheelPath)

	return err
}

// readLicences reads the files that are added to the licences.
func readLicences(paths []string) ([]member, error) {
	var licences []member
	for _, file := range paths {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read licence: %w", err)
		}

		licences = append(licences, member{name: filepath.Base(file), data: text})
	}

	return licences, nil
}

// programFor returns the program for a platform: the given file, or a new build if file is "".
func programFor(platform, file string) ([]byte, error) {
	if file == "" {
		return buildFor(platform)
	}

	program, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the program: %w", err)
	}

	return program, nil
}

// buildFor builds the program for a platform. The program is static and does not contain paths of this machine.
func buildFor(platform string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "wheel-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the program: %w", err)
	}
	defer os.RemoveAll(dir)

	file := filepath.Join(dir, "pipeline")
	system, machine, _ := strings.Cut(platform, "/")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", file,
		"doubletake/cmd/pipeline")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+machine)
	messages, err := build.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("build the program: %w\n%s", err, messages)
	}

	program, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the program: %w", err)
	}

	return program, nil
}

// member is a file of an archive.
type member struct {
	name         string
	data         []byte
	isExecutable bool
}

// description is the file METADATA of the wheel, after its first line. The verb stands for the version.
const description = `Name: doubletake
Version: %s
Summary: Raw measurements in, models that state their own uncertainty out
License: Apache-2.0
Requires-Python: >=3.9
Requires-Dist: numpy
Provides-Extra: pandas
Requires-Dist: pandas; extra == "pandas"
Provides-Extra: xarray
Requires-Dist: xarray; extra == "xarray"
Provides-Extra: sklearn
Requires-Dist: scikit-learn; extra == "sklearn"
Description-Content-Type: text/markdown

The program pipeline, and the package doubletake, which asks it and gives its answers as numpy arrays.
`

// wheelMembers returns the files of a wheel (PEP 427): the package, the program among the scripts, the licences, and
// the files METADATA, WHEEL and RECORD that describe them.
func wheelMembers(version string, tags []string, program member, licences []member) ([]member, error) {
	members, err := packageFiles(version)
	if err != nil {
		return nil, err
	}

	program.name = "doubletake-" + version + ".data/scripts/" + program.name
	members = append(members, program)

	info := "doubletake-" + version + ".dist-info/"
	for _, licence := range licences {
		licence.name = info + "licenses/" + licence.name
		members = append(members, licence)
	}

	about := "Wheel-Version: 1.0\nGenerator: doubletake\nRoot-Is-Purelib: false\n"
	for _, tag := range tags {
		about += "Tag: py3-none-" + tag + "\n"
	}

	metadata := "Metadata-Version: 2.1\n" + fmt.Sprintf(description, version)
	members = append(members,
		member{name: info + "METADATA", data: []byte(metadata)},
		member{name: info + "WHEEL", data: []byte(about)},
		member{name: info + "top_level.txt", data: []byte("doubletake\n")},
	)

	recordName := info + "RECORD"

	return append(members, member{name: recordName, data: record(recordName, members)}), nil
}

// record returns the content of the file RECORD: name, hash and size of each member. Its own line has the name alone.
func record(name string, members []member) []byte {
	var lines strings.Builder
	for _, m := range members {
		sum := sha256.Sum256(m.data)
		fmt.Fprintf(&lines, "%s,sha256=%s,%d\n", m.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(m.data))
	}

	lines.WriteString(name + ",,\n")

	return []byte(lines.String())
}

// packageFiles returns the files of the Python package, with the version in __init__.py.
func packageFiles(version string) ([]member, error) {
	entries, err := sources.ReadDir("doubletake")
	if err != nil {
		return nil, fmt.Errorf("list the package: %w", err)
	}

	var files []member
	for _, entry := range entries {
		name := path.Join("doubletake", entry.Name())
		text, err := sources.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read the package: %w", err)
		}

		if entry.Name() == "__init__.py" {
			text = bytes.Replace(text, []byte(`"0+source"`), []byte(`"`+version+`"`), 1)
		}

		files = append(files, member{name: name, data: text})
	}

	return files, nil
}

// writeArchive writes members as a ZIP archive. The same members give the same bytes, because all dates are the
// earliest of ZIP.
func writeArchive(file string, members []member) error {
	var b bytes.Buffer
	archive := zip.NewWriter(&b)
	for _, m := range members {
		header := &zip.FileHeader{
			Name: m.name, Method: zip.Deflate, Modified: time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC),
		}
		header.SetMode(0o644)
		if m.isExecutable {
			header.SetMode(0o755) // pip installs the file with this mode
		}

		w, err := archive.CreateHeader(header)
		if err != nil {
			return fmt.Errorf("add %s: %w", m.name, err)
		}

		if _, err := w.Write(m.data); err != nil {
			return fmt.Errorf("add %s: %w", m.name, err)
		}
	}

	if err := archive.Close(); err != nil {
		return fmt.Errorf("finish archive: %w", err)
	}

	return os.WriteFile(file, b.Bytes(), 0o644)
}
