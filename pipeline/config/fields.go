package config

import (
	_ "embed"
	"reflect"
	"strings"
	"sync"

	"doubletake/dsp"
	"doubletake/ingest/format"
	"doubletake/train/baseline"
)

// fields lists the fields of a type that are keys, those of embedded types
// among them, in their order.
func fields(t reflect.Type) []reflect.StructField {
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

	return out
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

// docs is the documentation of keys as "package.Type.key". It is that of the fields, in
// keys.txt, which a test makes of their comments.
var docs = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	for l := range strings.Lines(keysText) {
		key, text, _ := strings.Cut(strings.TrimSpace(l), ": ")
		out[key] = text
	}

	return out
})

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
