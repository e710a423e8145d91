package config

import (
	_ "embed" // for keys.txt
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"doubletake/dsp"
	"doubletake/ingest/format"
	"doubletake/internal/kv"
	"doubletake/train/baseline"
)

// fieldCache caches the results of fields by type, because files may have thousands of experiments.
var fieldCache sync.Map

// fields lists the fields of a type that are keys, in their order, with the fields of embedded types
// among them. Callers must not change the list.
func fields(t reflect.Type) []reflect.StructField {
	if found, ok := fieldCache.Load(t); ok {
		return found.([]reflect.StructField)
	}

	var list []reflect.StructField
	for i := range t.NumField() {
		f := t.Field(i)
		switch {
		case f.Tag.Get("key") != "":
			list = append(list, f)

		case f.Anonymous:
			for _, inner := range fields(f.Type) {
				inner.Index = append([]int{i}, inner.Index...)
				list = append(list, inner)
			}
		}
	}

	fieldCache.Store(t, list)

	return list
}

// newSection returns a pointer to an optional section with its defaults.
func newSection(pointer reflect.Type) reflect.Value {
	p := reflect.New(pointer.Elem())
	if s, ok := p.Interface().(interface{ SetDefaults() }); ok {
		s.SetDefaults()
	}

	return p
}

// shortField returns the field whose value may be written instead of the whole section: sidecar: .yaml is short for
// sidecar: {ending: .yaml}.
func shortField(t reflect.Type) (reflect.StructField, bool) {
	for _, f := range fields(t) {
		if f.Tag.Get("short") != "" {
			return f, true
		}
	}

	return reflect.StructField{}, false
}

// choices are the lists that a field's tags "choices" and "of" name.
var choices = map[string]func() []string{
	"constructions": func() []string { return append(dsp.Constructions(), "table") },
	"formats":       func() []string { return append([]string{""}, format.Names()...) },
	"methods":       baseline.Compared,
	"outcomes":      dsp.Outcomes,
}

//go:embed keys.txt
var keysText string

// docs returns the documentation of keys by "package.Type.key". It is in keys.txt, which a test makes from the comments
// of the fields.
var docs = sync.OnceValue(func() map[string]string {
	texts := map[string]string{}
	for line := range strings.Lines(keysText) {
		key, text, _ := strings.Cut(strings.TrimSpace(line), ": ")
		texts[key] = text
	}

	return texts
})

// docKey returns the name of a field of t in docs. A field of an embedded type is named after that type.
func docKey(t reflect.Type, f reflect.StructField) string {
	for _, i := range f.Index[:len(f.Index)-1] {
		t = t.Field(i).Type
	}

	return t.String() + "." + f.Tag.Get("key")
}

// doc returns the documentation of a field of t. If the field has a tag "of", the documentation ends with the names
// in choices that the tag refers to.
func doc(t reflect.Type, f reflect.StructField) string {
	text := docs()[docKey(t, f)]
	if list := choices[f.Tag.Get("of")]; list != nil {
		text += ": " + strings.Join(list(), ", ")
	}

	return text
}

// enum returns the values that a field may have, joined by |, or "" if it may have any text.
func enum(f reflect.StructField) string {
	if list := choices[f.Tag.Get("choices")]; list != nil {
		return strings.Join(list(), "|")
	}
	return f.Tag.Get("enum")
}

// Flatten lists the effective settings of a section (a struct of this
// package), defaults included, as dotted keys with canonical values, in the
// order of the types. It leaves out optional sections that are not there, empty lists and
// texts, and zeros of fields with the tag omit:"zero": a new key with such a tag does not change the settings of
// existing files. It also leaves out fields whose tag "only" is one of leave.
func Flatten(prefix string, section any, leave ...string) []kv.Pair {
	var pairs []kv.Pair
	flatten(prefix, reflect.ValueOf(section), leave, &pairs)
	return pairs
}

// flatten appends the settings of v, which is at path, to pairs.
func flatten(path string, v reflect.Value, leave []string, pairs *[]kv.Pair) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			flatten(path, v.Elem(), leave, pairs)
		}

	case reflect.Interface:
		if !v.IsNil() { // a holdout
			*pairs = append(*pairs, kv.Pair{Key: path, Value: fmt.Sprint(v.Interface())})
		}

	case reflect.Struct:
		for _, sf := range fields(v.Type()) {
			f := v.FieldByIndex(sf.Index)
			if sf.Tag.Get("omit") == "zero" && f.IsZero() || slices.Contains(leave, sf.Tag.Get("only")) {
				continue
			}

			flatten(join(path, sf.Tag.Get("key")), f, leave, pairs)
		}

	case reflect.Slice:
		flattenList(path, v, leave, pairs)

	default:
		if s := canonical(v); s != "" {
			*pairs = append(*pairs, kv.Pair{Key: path, Value: s})
		}
	}
}

// flattenList appends the settings of a list, which is at path, to pairs. The elements of a list with names have keys
// of their own; another list is one setting.
func flattenList(path string, v reflect.Value, leave []string, pairs *[]kv.Pair) {
	switch list := v.Interface().(type) {
	case []NamedNumber:
		for _, e := range list {
			*pairs = append(*pairs, kv.Pair{Key: join(path, e.Name), Value: canonical(reflect.ValueOf(e.Value))})
		}

	case []NamedString:
		for _, e := range list {
			*pairs = append(*pairs, kv.Pair{Key: join(path, e.Name), Value: e.Value})
		}

	case []Split:
		for _, e := range list {
			flatten(join(path, e.Name), reflect.ValueOf(e), leave, pairs)
		}

	default:
		if v.Len() > 0 {
			*pairs = append(*pairs, kv.Pair{Key: path, Value: canonicalList(v)})
		}
	}
}

// canonicalList writes a list of values as [a, b, c].
func canonicalList(v reflect.Value) string {
	var texts []string
	for i := range v.Len() {
		texts = append(texts, canonical(v.Index(i)))
	}

	return "[" + strings.Join(texts, ", ") + "]"
}

// canonical writes a value so that equal values give the same text.
func canonical(v reflect.Value) string {
	if v.Kind() == reflect.Float64 {
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	}
	return fmt.Sprint(v.Interface())
}
