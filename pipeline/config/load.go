package config

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"doubletake/ingest/fault"
)

// maxConfiguration bounds a configuration, which is held in memory.
const maxConfiguration = 16 << 20

// Load reads and validates a file. If its contents have faults, the error is an
// Errors with every fault found; if the file cannot be read, the error is an *Error.
func Load(path string) (*File, error) {
	b, err := fault.ReadFile(path, maxConfiguration, "a configuration")
	if err != nil {
		text := withoutPath(err).Error()
		if errors.Is(err, os.ErrNotExist) {
			text = "no such file" + configsNear(path) + "; name your configuration as the argument FILE, or write one " +
				"with pipeline init"
		}

		return nil, &Error{File: path, Text: text}
	}

	return Parse(path, b)
}

// withoutPath returns an error of reading a file without its path, which the caller prints.
func withoutPath(err error) error {
	var ofSystem *fs.PathError
	var ofData *fault.Error
	switch {
	case errors.As(err, &ofSystem):
		return ofSystem.Err
	case errors.As(err, &ofData):
		anonymous := *ofData
		anonymous.Path = ""

		return &anonymous
	}

	return err
}

// DefaultFile is the configuration that commands read if none is named.
const DefaultFile = "pipeline.yaml"

// LoadDefault reads a configuration as Load does. If path is "", it reads DefaultFile, or returns a file without
// experiments if no such file exists.
func LoadDefault(path string) (*File, error) {
	if path == "" {
		path = DefaultFile
		if _, err := os.Stat(path); err != nil {
			return &File{}, nil
		}
	}

	return Load(path)
}

// IsYAML reports whether a path ends in .yaml or .yml, in small letters or capitals, as configurations do.
func IsYAML(path string) bool {
	ending := strings.ToLower(filepath.Ext(path))
	return ending == ".yaml" || ending == ".yml"
}

// configsNear returns the end of a message that names up to three YAML files in the folder of path, or "" if there is
// none.
func configsNear(path string) string {
	list, err := os.ReadDir(filepath.Dir(path)) // sorted
	if err != nil {
		return ""
	}

	var names []string
	for _, e := range list {
		isConfig := IsYAML(e.Name()) && !e.IsDir()
		if isConfig && len(names) < 3 {
			names = append(names, strconv.Quote(e.Name()))
		}
	}

	if len(names) == 0 {
		return ""
	}

	return "; there is " + strings.Join(names, ", ")
}

// lineEnd matches the line ends of YAML: besides the usual ones a carriage return alone, and three of Unicode.
var lineEnd = regexp.MustCompile("\r\n|[\n\r\u0085\u2028\u2029]")

// Parse reads and validates the bytes of a file named path.
func Parse(path string, b []byte) (*File, error) {
	f := defaultFile()
	f.Path = path
	f.Dir = filepath.Dir(path)
	f.text = string(b)
	f.lines = lineEnd.Split(f.text, -1)
	var doc yaml.Node

	dec := yaml.NewDecoder(bytes.NewReader(b))
	if err := dec.Decode(&doc); err != nil && !errors.Is(err, io.EOF) { // EOF: blanks and comments alone
		return nil, Errors{syntaxError(path, f.lines, err)}
	}

	d := &decoder{file: path, lines: f.lines, where: map[string]pos{}, variant: map[string]string{}}
	f.where = d.where
	f.variant = d.variant

	if len(doc.Content) == 0 {
		return nil, Errors{{File: path, Text: "the file is empty; expected version, workdir and experiments"}}
	}

	var extra yaml.Node
	switch err := dec.Decode(&extra); {
	case errors.Is(err, io.EOF): // the one document is all
	case err != nil: // a second document that is broken
		return nil, Errors{syntaxError(path, f.lines, err)}
	default:
		d.fail(&extra, "", "expected one document, found a second")
	}

	f.read(doc.Content[0], d)
	if len(d.errs) > 0 {
		slices.SortStableFunc(d.errs, func(a, b *Error) int {
			return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
		})

		return nil, d.errs.distinct()
	}

	return &f, nil
}

// read sets the keys of the file from its document, completes them and checks them. d collects the faults.
func (f *File) read(document *yaml.Node, d *decoder) {
	d.fillIn(document, "")
	d.value(document, "", f)
	if len(d.errs) > 0 {
		return // other faults may follow from these
	}

	f.complete()
	f.validate(d)
	if len(d.errs) > 0 {
		return
	}

	for i := range f.Experiments {
		f.Experiments[i].setImplied()
	}
}

// yamlLine finds the line in an error of the YAML package.
var yamlLine = regexp.MustCompile(`line (\d+): `)

// syntaxError returns the error of a text that is not YAML, at its line if the YAML package names one.
func syntaxError(path string, lines []string, err error) *Error {
	e := &Error{File: path, Text: "not valid YAML: " + strings.TrimPrefix(err.Error(), "yaml: ")}
	if match := yamlLine.FindStringSubmatch(err.Error()); match != nil {
		e.Line, _ = strconv.Atoi(match[1])
		e.Col = 1
		e.Text = strings.Replace(e.Text, match[0], "", 1)
		e.Excerpt = excerpt(lines, pos{e.Line, 1})
	}

	return e
}
