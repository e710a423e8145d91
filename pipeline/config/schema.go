package config

import (
	_ "embed"
	"reflect"
	"strconv"
	"strings"
	"sync"
)

// Key is one documented key of the file.
type Key struct {
	Path    string   // dotted; <name> means a name of the user's own
	Type    string   // "text", "number", "whole number", "true or false", "list of …", "mapping", …
	Doc     string   // one sentence
	Choices []string // where only these are allowed
	Default string   // "" when there is none
}

// Keys lists every key of pipeline.yaml in the order of the types, with its
// documentation: the one source of reference pages and of the schema.
func Keys() []Key {
	f := defaultFile()
	f.Experiments = []Experiment{defaultExperiment()}
	var out []Key
	listKeys("", reflect.ValueOf(f), &out)

	return out
}

func listKeys(path string, v reflect.Value, out *[]Key) {
	for _, sf := range fields(v.Type()) {
		key := sf.Tag.Get("key")
		k := Key{Path: join(path, key), Doc: doc(v.Type(), sf)}
		k.Choices = strings.FieldsFunc(enum(sf), func(c rune) bool { return c == '|' }) // without the empty one
		field := v.FieldByIndex(sf.Index)
		k.Default = sf.Tag.Get("default")
		k.Type = typeName(field.Type())
		switch field.Kind() {
		case reflect.String, reflect.Bool, reflect.Int, reflect.Uint64, reflect.Float64:
			if !field.IsZero() || field.Kind() == reflect.Bool {
				k.Default = canonical(field)
			}

		case reflect.Slice:
			if field.Len() > 0 && field.Type().Elem().Kind() != reflect.Struct {
				k.Default = canonicalList(field)
			}
		}

		*out = append(*out, k)

		inner, below := field, k.Path
		switch {
		case field.Kind() == reflect.Pointer:
			inner = section(field.Type()).Elem()

		case field.Kind() == reflect.Slice && field.Type().Elem().Kind() == reflect.Struct:
			below += ".<name>"

			inner = reflect.New(field.Type().Elem()).Elem()
			if field.Len() > 0 {
				inner = field.Index(0)
			}
		}

		if inner.Kind() == reflect.Struct {
			listKeys(below, inner, out)
		}
	}
}

func typeName(t reflect.Type) string {
	switch {
	case t == holdoutType:
		return "held-out conditions"
	case t == reflect.TypeFor[Sweep]():
		return "keys with lists of values, or a list of variants"
	case t == reflect.TypeFor[[]NamedNumber]():
		return "names with numbers"
	case t == reflect.TypeFor[[]NamedString]():
		return "names with texts"
	case t == reflect.TypeFor[Exclusions]():
		return "list of texts, or of conditions with values"
	}

	switch t.Kind() {
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Uint64:
		return "whole number"
	case reflect.Float64:
		return "number"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Struct {
			return "names with keys"
		}

		if t.Elem().Kind() == reflect.Slice {
			return "list of rows, each a " + typeName(t.Elem())
		}

		return "list of " + typeName(t.Elem()) + "s"
	}

	return "keys"
}

// Schema returns the JSON Schema (draft 2020-12) of pipeline.yaml, as plain
// maps and slices ready for encoding.
func Schema() map[string]any {
	f := defaultFile()
	f.Experiments = []Experiment{defaultExperiment()}
	s := schemaOf("", reflect.ValueOf(f))
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "pipeline.yaml of doubletake"
	s["required"] = []string{"version", "experiments"}

	return s
}

//go:embed limits.txt
var limitsText string

// limits are the bounds of numbers by path, as the schema writes them: "minimum", "exclusiveMaximum" and the
// like. A test of package pipeline finds them by asking check, and writes limits.txt.
var limits = sync.OnceValue(func() map[string]map[string]float64 {
	out := map[string]map[string]float64{}
	for l := range strings.Lines(limitsText) {
		if f := strings.Fields(l); len(f) == 3 {
			if out[f[0]] == nil {
				out[f[0]] = map[string]float64{}
			}

			out[f[0]][f[1]], _ = strconv.ParseFloat(f[2], 64) // the test compares
		}
	}

	return out
})

func schemaOf(path string, v reflect.Value) map[string]any {
	number := map[string]any{"type": "number"}
	switch t := v.Type(); t {
	case holdoutType:
		return holdoutSchema()
	case reflect.TypeFor[Exclusions]():
		return exclusionsSchema()
	case reflect.TypeFor[[]NamedNumber]():
		return map[string]any{"type": "object", "additionalProperties": number}
	case reflect.TypeFor[[]NamedString]():
		return map[string]any{"type": "object", "additionalProperties": map[string]any{"type": []string{"string", "number"}}}
	}

	switch v.Kind() {
	case reflect.String:
		return map[string]any{"type": []string{"string", "number"}} // plain scalars are taken as they are written
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int:
		return map[string]any{"type": "integer"}
	case reflect.Uint64:
		return map[string]any{"type": "integer", "minimum": 0}
	case reflect.Float64:
		return number
	case reflect.Pointer:
		return schemaOf(path, section(v.Type()).Elem())
	case reflect.Slice:
		elem := reflect.New(v.Type().Elem()).Elem()
		if v.Len() > 0 {
			elem = v.Index(0)
		}

		if elem.Kind() == reflect.Struct {
			return map[string]any{"type": "object", "additionalProperties": schemaOf(path+".<name>", elem), "minProperties": 1}
		}

		one := schemaOf(path, elem)

		return map[string]any{"oneOf": []any{one, map[string]any{"type": "array", "items": one}}}
	}

	props := map[string]any{}
	for _, sf := range fields(v.Type()) {
		key, f := sf.Tag.Get("key"), v.FieldByIndex(sf.Index)
		p := schemaOf(join(path, key), f)
		for bound, n := range limits()[join(path, key)] {
			p[bound] = n // of a list of numbers it holds for a single one
		}

		if e := enum(sf); e != "" {
			p = map[string]any{"enum": strings.Split(strings.TrimPrefix(e, "|"), "|")}
		}

		if v.Type() == reflect.TypeFor[Table]() && key == "pairs" {
			p = map[string]any{"oneOf": []any{p, map[string]any{
				"type": "object", "propertyNames": map[string]any{"const": "across"}, "minProperties": 1,
				"additionalProperties": map[string]any{"type": "string"},
			}}}
		}

		if v.Type() == reflect.TypeFor[Calibration]() && key == "gain_db" {
			p["type"], p["additionalProperties"] = []string{"number", "object"}, number
		}

		if sf.Tag.Get("default") == "0" {
			p["default"] = 0
		}

		if !f.IsZero() {
			switch f.Kind() {
			case reflect.String, reflect.Int, reflect.Uint64, reflect.Float64, reflect.Bool:
				p["default"] = f.Interface()
			}
		}

		p["description"] = doc(v.Type(), sf)
		props[key] = p
	}

	s := map[string]any{"type": "object", "properties": props, "additionalProperties": false}
	if sf, ok := short(v.Type()); ok {
		return map[string]any{"oneOf": []any{props[sf.Tag.Get("key")], s}}
	}

	return s
}
