// Package export writes the pipeline's tables and models for other programs:
// tables as CSV and Parquet files, models as ONNX graphs. Every
// number reads back equal, and every unit goes along.
//
// The writers are small because they write one subset of each format. They
// contain no date, so equal inputs give equal files. What a table means is
// its writer's matter; reading measurements in these formats is ingest's.
package export

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/pipeline/table"
)

// Formats lists the formats of tables.
func Formats() []string { return []string{"csv", "parquet"} }

// Source is one table to export.
type Source struct {
	Path string // of the Arrow file
	Name string // below the folder that was searched, with slashes, without .arrow
}

// Find lists the tables at path: the Arrow file itself, or all Arrow files
// below the folder, by name. It skips folders whose names begin with a dot. An
// error is a *fault.Error.
func Find(path string) ([]Source, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, &fault.Error{Path: path, Want: "a folder with tables, or an .arrow file", Found: "nothing"}
	}

	if !st.IsDir() {
		return []Source{{path, strings.TrimSuffix(filepath.Base(path), ".arrow")}}, nil
	}

	var list []Source

	err = fs.WalkDir(os.DirFS(path), ".", func(p string, d fs.DirEntry, err error) error {
		switch name, ok := strings.CutSuffix(p, ".arrow"); {
		case err != nil:
			return err
		case d.IsDir() && p != "." && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case ok && !d.IsDir() && d.Name() != ".arrow":
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

// Write exports the table src to dir/NAME.format, with the folders in its name,
// and returns the paths of the files it wrote, the table's first. A file
// appears complete or not at all, and replaces one of that name. An error is a
// *fault.Error where the table cannot be read or the format cannot hold it.
func Write(dir, format string, src Source) (paths []string, rows, columns int, err error) {
	defer fault.Catch(&err)
	t, err := table.ReadVerified(src.Path)
	fault.Raise(fault.In(src.Path, err))

	path := filepath.Join(dir, filepath.FromSlash(src.Name)+"."+format)

	var write func(w io.Writer, t *table.Table) error
	switch format {
	case "csv":
		write = CSV

		meta := strings.TrimSuffix(path, ".csv") + ".csv-metadata.json"
		fault.Raise(WriteFile(meta, func(w io.Writer) error { return csvMetadata(w, filepath.Base(path), t) }))
		paths = []string{meta}

	case "parquet":
		write = Parquet
	default:
		panic("export: unknown format " + format)
	}

	fault.Raise(fault.In(src.Path, WriteFile(path, func(w io.Writer) error { return write(w, t) })))

	return append([]string{path}, paths...), t.Rows(), len(t.Columns), nil
}

// WriteFile makes the file path, and its folders, of what write writes. It
// appears complete or not at all.
func WriteFile(path string, write func(io.Writer) error) (err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}

	f, err := os.CreateTemp(dir, ".tmp-*")
	if err != nil {
		return err
	}

	b := bufio.NewWriterSize(f, 1<<20)
	err = write(b)
	err = errors.Join(err, b.Flush(), f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}

	if err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("write %s: %w", path, err)
	}

	return nil
}

// littleEndian are the bytes of numbers.
func littleEndian(v any) []byte {
	b, err := binary.Append(nil, binary.LittleEndian, v)
	if err != nil {
		panic("export: " + err.Error()) // the types are this package's
	}

	return b
}
