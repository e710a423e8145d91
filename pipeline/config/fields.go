package config

import (
	"embed"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"doubletake/dsp"
	"doubletake/ingest/format"
	"doubletake/internal/lists"
	"doubletake/pipeline/kv"
	"doubletake/train/baseline"
)

// known has the results of fields, by type: files may have thousands of experiments.
var known sync.Map

// fields lists the fields of a type that are keys, those of embedded types
// among them, in their order. The list is not to be changed.
func fields(t reflect.Type) []reflect.StructField {
	if list, ok := known.Load(t); ok {
		return list.([]reflect.StructField)
	}

	var out []reflect.StructField
	for i := range t.NumField() {
		f := t.Field(i)
		switch {
		case f.Tag.Get("key") != "":
			out = append(out, f)

		case f.Anonymous:
			for _, inner := range fields(f.Type) {
				inner.Index = append([]int{i}, inner.Index...)
				out = append(out, inner)
			}
		}
	}

	known.Store(t, out)

	return out
}

// section returns a pointer to an optional section with its defaults.
func section(pointer reflect.Type) reflect.Value {
	p := reflect.New(pointer.Elem())
	if s, ok := p.Interface().(interface{ setDefaults() }); ok {
		s.setDefaults()
	}

	return p
}

// short is the field of a section that may be written as that value alone.
func short(t reflect.Type) (reflect.StructField, bool) {
	return lists.Find(fields(t), func(f reflect.StructField) bool { return f.Tag.Get("short") != "" })
}

// choices are the lists that a field's tags "choices" and "of" name.
var choices = map[string]func() []string{
	"constructions": func() []string { return append(dsp.Constructions(), "table") },
	"formats":       func() []string { return append([]string{""}, format.Names()...) },
	"methods":       baseline.Compared,
	"outcomes":      dsp.Outcomes,
}

//go:embed keys.txt former.txt
var texts embed.FS

// linesOf reads lines "key: text" of an embedded file.
func linesOf(file string) func() map[string]string {
	return sync.OnceValue(func() map[string]string {
		b, _ := texts.ReadFile(file)
		out := map[string]string{}
		for l := range strings.Lines(string(b)) {
			key, text, _ := strings.Cut(strings.TrimSpace(l), ": ")
			out[key] = text
		}

		return out
	})
}

// docs is the documentation of keys as "package.Type.key". It is that of the fields, in
// keys.txt, which a test makes of their comments. former are keys of earlier versions with what takes their place.
var docs, former = linesOf("keys.txt"), linesOf("former.txt")

// docKey is the name of a field of t in docs: its own type's, where t embeds it.
func docKey(t reflect.Type, f reflect.StructField) string {
	for _, i := range f.Index[:len(f.Index)-1] {
		t = t.Field(i).Type
	}

	return t.String() + "." + f.Tag.Get("key")
}

// doc is the documentation of a field of t. That of a list of names ends with the
// names in choices that its tag "of" refers to.
func doc(t reflect.Type, f reflect.StructField) string {
	text := docs()[docKey(t, f)]
	if list := choices[f.Tag.Get("of")]; list != nil {
		text += ": " + strings.Join(list(), ", ")
	}

	return text
}

// enum lists the values that a field may have, joined by |; "" where any text
// may be.
func enum(f reflect.StructField) string {
	if list := choices[f.Tag.Get("choices")]; list != nil {
		return strings.Join(list(), "|")
	}
	return f.Tag.Get("enum")
}

// Flatten lists the effective settings of a section (a struct of this
// package), defaults included, as dotted keys with canonical values, in the
// order of the types. Optional sections that are not there, empty lists and
// texts, and zeros of fields with the tag omit:"zero" are left out, so that which
// keys exist is part of the list. Fields whose tag only is one of leave are left out too.
func Flatten(prefix string, section any, leave ...string) []kv.Pair {
	var out []kv.Pair
	flatten(prefix, reflect.ValueOf(section), leave, &out)
	return out
}

func flatten(path string, v reflect.Value, leave []string, out *[]kv.Pair) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			flatten(path, v.Elem(), leave, out)
		}

	case reflect.Interface:
		if !v.IsNil() { // a holdout
			*out = append(*out, kv.Pair{Key: path, Value: fmt.Sprint(v.Interface())})
		}

	case reflect.Struct:
		for _, sf := range fields(v.Type()) {
			f := v.FieldByIndex(sf.Index)
			if sf.Tag.Get("omit") == "zero" && f.IsZero() || slices.Contains(leave, sf.Tag.Get("only")) {
				continue
			}

			flatten(join(path, sf.Tag.Get("key")), f, leave, out)
		}

	case reflect.Slice:
		switch list := v.Interface().(type) {
		case []NamedNumber:
			for _, e := range list {
				*out = append(*out, kv.Pair{Key: join(path, e.Name), Value: canonical(reflect.ValueOf(e.Value))})
			}

		case []NamedString:
			for _, e := range list {
				*out = append(*out, kv.Pair{Key: join(path, e.Name), Value: e.Value})
			}

		case []Split:
			for _, e := range list {
				flatten(join(path, e.Name), reflect.ValueOf(e), leave, out)
			}

		default:
			if v.Len() > 0 {
				*out = append(*out, kv.Pair{Key: path, Value: canonicalList(v)})
			}
		}

	default:
		if s := canonical(v); s != "" {
			*out = append(*out, kv.Pair{Key: path, Value: s})
		}
	}
}

func canonicalList(v reflect.Value) string {
	texts := lists.Make(v.Len(), func(i int) string { return canonical(v.Index(i)) })
	return "[" + strings.Join(texts, ", ") + "]"
}

func canonical(v reflect.Value) string {
	if v.Kind() == reflect.Float64 {
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	}
	return fmt.Sprint(v.Interface())
}
