// Package taskfile writes the outputs of tasks and reads them again: JSON, tables, and values of Go by package gob.
// Equal values give equal bytes.
package taskfile

import (
	"bufio"
	"bytes"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"sync"

	"doubletake/internal/pack"
	"doubletake/pipeline/engine"
)

// ReadJSON decodes the JSON file at path, which may lie in a pack, into v.
func ReadJSON(path string, v any) error {
	b, err := pack.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}

	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}

	return nil
}

// EachJSON decodes the JSON values of the file at path, which may lie in a pack, and calls do with each in turn.
func EachJSON[T any](path string, do func(v *T)) error {
	b, err := pack.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}

	d := json.NewDecoder(bytes.NewReader(b))
	for {
		var v T
		err := d.Decode(&v)
		if errors.Is(err, io.EOF) {
			return nil
		}

		if err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}

		do(&v)
	}
}

// WriteJSON writes values as an output of a task: as JSON, with a newline after each value.
func WriteJSON[T any](job *engine.Job, output string, values ...T) error {
	w, err := job.Create(output)
	if err != nil {
		return fmt.Errorf("write %s: %w", output, err)
	}

	if err := errors.Join(encodeJSON(w, values), w.Close()); err != nil {
		return fmt.Errorf("write %s: %w", output, err)
	}

	return nil
}

// encodeJSON writes the values one after the other, up to the first that fails.
func encodeJSON[T any](w io.Writer, values []T) error {
	encoder := json.NewEncoder(w)
	for _, v := range values {
		if err := encoder.Encode(v); err != nil {
			return err
		}
	}

	return nil
}

// Table is a table that is written whole, or without its metadata.
type Table interface {
	Write(w io.Writer) error
	WriteContent(w io.Writer)
}

// WriteTable writes a table as an output of a task. The digest of the output is the digest of the table's values,
// without its metadata.
func WriteTable(job *engine.Job, output string, tab Table) error {
	w, err := job.Create(output)
	if err != nil {
		return fmt.Errorf("write table %s: %w", output, err)
	}

	if err := errors.Join(tab.Write(w), w.Close()); err != nil {
		return fmt.Errorf("write table %s: %w", output, err)
	}

	job.SetContent(output, tab.WriteContent)

	return nil
}

// gobValues contains a value of each type that WriteGob writes.
var gobValues []any

// GobTypes registers the types of the given values, which a package writes with WriteGob. The package calls GobTypes
// while it is initialised.
func GobTypes(values ...any) { gobValues = append(gobValues, values...) }

// numberGobTypes returns the set of registered types. Package gob numbers types in the order in which a process encodes
// them, and the numbers are part of the bytes. The first call therefore encodes a value of each registered type, so
// that equal values give equal bytes whatever tasks ran before.
var numberGobTypes = sync.OnceValues(func() (map[reflect.Type]bool, error) {
	types := map[reflect.Type]bool{}
	for _, v := range gobValues {
		types[reflect.TypeOf(v)] = true
		if err := gob.NewEncoder(io.Discard).Encode(v); err != nil {
			return nil, fmt.Errorf("write an empty %T: %w", v, err)
		}
	}

	return types, nil
})

// WriteGob writes values, or what they point to, one after another into a file that ReadGob reads. what names
// the values in errors. WriteGob keeps the bytes of one value at a time in memory. It returns an error if no package
// has registered the type of a value with GobTypes.
func WriteGob(what, path string, values ...any) error {
	if err := checkRegistered(values); err != nil {
		return fmt.Errorf("write %s: %w", what, err)
	}

	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write %s: %w", what, err)
	}

	buffered := bufio.NewWriter(f)
	encoder := gob.NewEncoder(buffered)
	for _, v := range values {
		if err = encoder.Encode(v); err != nil {
			break
		}
	}

	if err := errors.Join(err, buffered.Flush(), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", what, err)
	}

	return nil
}

// checkRegistered returns an error if the type of a value, or of what it points to, is not registered with GobTypes.
func checkRegistered(values []any) error {
	types, err := numberGobTypes()
	if err != nil {
		return err
	}

	for _, v := range values {
		t := reflect.TypeOf(v)
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}

		if !types[t] {
			return fmt.Errorf("the type %v is not registered with GobTypes", t)
		}
	}

	return nil
}

// ReadGob reads a value that WriteGob wrote into v, which must be a pointer. what names the value in errors.
func ReadGob(what, path string, v any) error {
	return ReadGobs(what, path, v, func() []any { return nil })
}

// ReadGobs reads values that WriteGob wrote into first, and then into the values that rest returns. All must be
// pointers. It calls rest when first was read. what names the values in errors. ReadGobs first numbers the registered
// types, because package gob also numbers the types that it decodes: without it, the bytes of later values would
// depend on the order in which tasks read and write.
func ReadGobs(what, path string, first any, rest func() []any) error {
	if _, err := numberGobTypes(); err != nil {
		return fmt.Errorf("read %s: %w", what, err)
	}

	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read %s %s: %w", what, path, err)
	}

	defer f.Close()

	decoder := gob.NewDecoder(bufio.NewReader(f))
	if err := decoder.Decode(first); err != nil {
		return fmt.Errorf("read %s %s: %w", what, path, err)
	}

	for _, v := range rest() {
		if err := decoder.Decode(v); err != nil {
			return fmt.Errorf("read %s %s: %w", what, path, err)
		}
	}

	return nil
}
