package plan

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"sync"

	"doubletake/pipeline/engine"
	"doubletake/pipeline/pack"
	"doubletake/pipeline/table"
)

// ReadJSON decodes the JSON file at path, which may lie in a pack, into v.
func ReadJSON(path string, v any) error {
	b, err := pack.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, v)
	}

	return wrap("read "+path, err)
}

// wrap says what failed; nil of nil.
func wrap(what string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}

	return nil
}

// EachJSON decodes the JSON values of the file at path, one after the other.
func EachJSON[T any](path string, do func(v *T)) error {
	b, err := pack.ReadFile(path)
	for d := json.NewDecoder(bytes.NewReader(b)); err == nil; {
		var v T
		if err = d.Decode(&v); err == nil {
			do(&v)
		}
	}

	if err == io.EOF {
		return nil
	}

	return wrap("read "+path, err)
}

// WriteJSON writes a value, or several one after the other, as an output of a task: JSON with a
// newline after each.
func WriteJSON[T any](j *engine.Job, output string, values ...T) error {
	w, err := j.Create(output)
	if err == nil {
		e := json.NewEncoder(w)
		for _, v := range values {
			err = errors.Join(err, e.Encode(v))
		}

		err = errors.Join(err, w.Close())
	}

	return wrap("write "+output, err)
}

// WriteTable writes a table as an output of a task, with the digest of its values.
func WriteTable(j *engine.Job, output string, t *table.Table) error {
	w, err := j.Create(output)
	if err == nil {
		err = errors.Join(t.Write(w), w.Close())
		j.SetContent(output, t.WriteContent)
	}

	return wrap("write table "+output, err)
}

// gobValues has a value of each type that WriteGob takes.
var gobValues []any

// GobTypes names the types of the values that a package writes with WriteGob. A package
// calls it while it is initialised.
func GobTypes(values ...any) { gobValues = append(gobValues, values...) }

// NumberGobTypes returns the types that WriteGob takes. gob numbers types in the order in which
// a process meets them, so the first call lets it meet these, before any other use of gob:
// equal values are then equal bytes, whichever tasks came before.
var NumberGobTypes = sync.OnceValue(func() map[reflect.Type]bool {
	types := map[reflect.Type]bool{}
	for _, v := range gobValues {
		types[reflect.TypeOf(v)] = true
		if err := gob.NewEncoder(io.Discard).Encode(v); err != nil {
			panic(fmt.Sprintf("plan: write an empty %T: %v", v, err))
		}
	}

	return types
})

// WriteGob writes a value, or what it points to, for a task of this program.
func WriteGob(what, path string, v any) error {
	f, err := os.Create(path)
	if err != nil {
		return wrap("write "+what, err)
	}

	t := reflect.TypeOf(v)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}

	if !NumberGobTypes()[t] {
		panic(fmt.Sprintf("plan: write %s: GobTypes does not name %v", what, t))
	}

	return wrap("write "+what, errors.Join(gob.NewEncoder(f).Encode(v), f.Close()))
}

// ReadGob reads what WriteGob wrote.
func ReadGob(what, path string, v any) error {
	NumberGobTypes()

	b, err := os.ReadFile(path)
	if err == nil {
		err = gob.NewDecoder(bytes.NewReader(b)).Decode(v)
	}

	return wrap("read "+what+" "+path, err)
}
