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
	for _, f := range reflect.VisibleFields(t) {
		if f.Tag.Get("key") != "" {
			out = append(out, f)
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

// docs holds keys.txt: the documentation of keys as "Type.key".
var docs = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	section, last := "", ""
	for l := range strings.Lines(keysText) {
		key, text, ok := strings.Cut(strings.TrimSpace(l), ":")
		switch {
		case strings.HasPrefix(l, "#") || strings.TrimSpace(l) == "":
		case strings.HasPrefix(l, "["):
			section = strings.Trim(strings.TrimSpace(l), "[]")
		case strings.HasPrefix(l, " "):
			out[last] += " " + strings.TrimSpace(l)
		case ok:
			last = section + "." + key
			out[last] = strings.TrimSpace(text)
		default:
			panic("config: keys.txt: no key in " + l)
		}
	}
	return out
})

// docKey is the name of a field of t in docs: its own type's, where t embeds it.
func docKey(t reflect.Type, f reflect.StructField) string {
	for _, i := range f.Index[:len(f.Index)-1] {
		t = t.Field(i).Type
	}
	return t.Name() + "." + f.Tag.Get("key")
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
