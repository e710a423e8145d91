// Package export writes the pipeline's tables as CSV and Parquet files for other programs. Every number reads back
// equal, and the files have the units.
//
// Each writer writes one subset of its format. The files contain no date, so that equal tables give equal files.
// Package ingest reads measurements in these formats.
package export

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/ingest/table"
)

// Formats returns the names of the formats.
func Formats() []string { return []string{"csv", "parquet"} }

// Source is one table to export.
type Source struct {
	Path string // path of the Arrow file
	Name string // path below the folder that was searched, with slashes and without .arrow
}

// Find returns the tables at path: the Arrow file itself, or all Arrow files below the folder, sorted by name. It skips
// folders whose names begin with a dot. It returns a *fault.Error if there are none, or if the folder cannot be read.
func Find(path string) ([]Source, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, &fault.Error{Path: path, Want: "a folder with tables, or an .arrow file", Found: "nothing"}
	}

	if !info.IsDir() {
		return []Source{{path, strings.TrimSuffix(filepath.Base(path), ".arrow")}}, nil
	}

	var list []Source

	err = fs.WalkDir(os.DirFS(path), ".", func(p string, entry fs.DirEntry, err error) error {
		name, isTable := strings.CutSuffix(p, ".arrow")
		switch {
		case err != nil:
			return err
		case entry.IsDir() && p != "." && strings.HasPrefix(entry.Name(), "."):
			return fs.SkipDir
		case isTable && !entry.IsDir() && entry.Name() != ".arrow":
			list = append(list, Source{filepath.Join(path, filepath.FromSlash(p)), name})
		}

		return nil
	})
	if err != nil {
		return nil, &fault.Error{Path: path, Want: "a folder with tables", Err: err}
	}

	if len(list) == 0 {
		return nil, fault.At(path, "", "tables (*.arrow)", "none in the folder",
			"pipeline run writes runs/EXPERIMENT/triplets.arrow and others")
	}

	slices.SortFunc(list, func(a, b Source) int { return strings.Compare(a.Name, b.Name) })

	return list, nil
}

// Written describes the files that Write wrote.
type Written struct {
	Paths   []string // paths of the files; the table is the first
	Rows    int      // number of rows
	Columns int      // number of columns
}

// Write exports a table to DIR/NAME.FORMAT. If the name has folders, Write makes them. It replaces an existing file. A
// file appears complete or not at all. Write returns a *fault.Error if the table cannot be read, or if the format
// cannot hold it, and another error if a file cannot be written. It panics if format is not one of Formats.
func Write(dir, format string, source Source) (*Written, error) {
	t, err := table.ReadVerified(source.Path)
	if err != nil {
		return nil, fault.In(source.Path, err)
	}

	path := filepath.Join(dir, filepath.FromSlash(source.Name)+"."+format)
	written := &Written{Paths: []string{path}, Rows: t.Rows(), Columns: len(t.Columns)}

	var write func(w io.Writer, t *table.Table) error
	switch format {
	case "csv":
		write = CSV

		// Units and descriptions of the columns are in a second file.
		meta := strings.TrimSuffix(path, ".csv") + ".csv-metadata.json"
		err := WriteFile(meta, func(w io.Writer) error { return csvMetadata(w, filepath.Base(path), t) })
		if err != nil {
			return nil, err
		}

		written.Paths = append(written.Paths, meta)
	case "parquet":
		write = Parquet
	default:
		panic("export: unknown format " + format)
	}

	err = WriteFile(path, func(w io.Writer) error { return write(w, t) })
	switch {
	case errors.As(err, new(*fault.Error)): // the format cannot hold the table
		return nil, fault.In(source.Path, err)
	case err != nil:
		return nil, err
	}

	return written, nil
}

// WriteFile makes a file with the contents that write writes, and the folders of its path. The file appears complete or
// not at all.
func WriteFile(path string, write func(io.Writer) error) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}

	file, err := os.CreateTemp(dir, ".tmp-*")
	if err != nil {
		return err
	}

	const bufferBytes = 1 << 20
	b := bufio.NewWriterSize(file, bufferBytes)
	err = write(b)
	err = errors.Join(err, b.Flush(), file.Chmod(0o644), file.Close())
	if err == nil { // a file that is not complete must not get the name
		err = os.Rename(file.Name(), path)
	}

	if err != nil {
		os.Remove(file.Name())
		return fmt.Errorf("write %s: %w", path, err)
	}

	return nil
}
