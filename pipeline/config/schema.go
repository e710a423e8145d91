package config

import (
	_ "embed"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"doubletake/ingest/setting"
)

// Key is one documented key of the file.
type Key struct {
	Path    string   // dotted; <name> stands for a name that the user chooses
	Type    string   // "text", "number", "whole number", "true or false", "list of …", "mapping", …
	Doc     string   // one sentence
	Choices []string // the allowed values; nil: any
	Default string   // "" if there is none
}

// Keys lists every key of pipeline.yaml in the order of the types, with its
// documentation. The reference page is made from it.
func Keys() []Key {
	f := defaultFile()
	f.Experiments = []Experiment{defaultExperiment()}
	var keys []Key
	listKeys("", reflect.ValueOf(f), &keys)

	return keys
}

// listKeys appends the keys of a section, which is at path, and of the sections in it to keys. The values in v are the
// defaults.
func listKeys(path string, v reflect.Value, keys *[]Key) {
	for _, sf := range fields(v.Type()) {
		field := v.FieldByIndex(sf.Index)
		key := Key{
			Path: join(path, sf.Tag.Get("key")), Type: typeName(field.Type()), Doc: doc(v.Type(), sf),
			Choices: strings.FieldsFunc(enum(sf), func(c rune) bool { return c == '|' }), // without the empty one
			Default: defaultText(sf, field),
		}
		*keys = append(*keys, key)

		if below, section := sectionIn(key.Path, field); section.Kind() == reflect.Struct {
			listKeys(below, section, keys)
		}
	}
}

// defaultText returns the default of a key in words, or "" if it has none. field has the default, unless that is zero:
// the tag of the field may then say that zero is the default.
func defaultText(sf reflect.StructField, field reflect.Value) string {
	switch field.Kind() {
	case reflect.Bool:
		return canonical(field)
	case reflect.String, reflect.Int, reflect.Uint64, reflect.Float64:
		if !field.IsZero() {
			return canonical(field)
		}
	case reflect.Slice:
		if field.Len() > 0 && field.Type().Elem().Kind() != reflect.Struct {
			return canonicalList(field)
		}
	}

	return sf.Tag.Get("default")
}

// sectionIn returns the value whose keys are below a key: the field itself, an optional section with its defaults, or
// the first of named sections. It also returns the path of these keys.
func sectionIn(path string, field reflect.Value) (below string, section reflect.Value) {
	switch {
	case field.Kind() == reflect.Pointer:
		return path, newSection(field.Type()).Elem()
	case field.Kind() != reflect.Slice || field.Type().Elem().Kind() != reflect.Struct:
		return path, field
	case field.Len() > 0:
		return path + ".<name>", field.Index(0)
	}

	return path + ".<name>", reflect.New(field.Type().Elem()).Elem()
}

// typeName returns the type of a value in words, as Key.Type.
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
	case t == reflect.TypeFor[setting.Exclusions]():
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

// limits returns the bounds of numbers by the path of their key, with the words of the schema: "minimum",
// "exclusiveMaximum" and the like. They are in limits.txt, which a test of package pipeline writes: it finds the bounds
// by checking configurations with different numbers.
var limits = sync.OnceValue(func() map[string]map[string]float64 {
	bounds := map[string]map[string]float64{}
	for line := range strings.Lines(limitsText) {
		words := strings.Fields(line)
		if len(words) != 3 {
			continue
		}

		path := words[0]
		if bounds[path] == nil {
			bounds[path] = map[string]float64{}
		}

		bounds[path][words[1]], _ = strconv.ParseFloat(words[2], 64) // the test of limits.txt would find a fault
	}

	return bounds
})

// schemaOf returns the JSON Schema of the value at path. v has the type of the value, and its defaults.
func schemaOf(path string, v reflect.Value) map[string]any {
	number := map[string]any{"type": "number"}
	switch t := v.Type(); t {
	case holdoutType:
		return holdoutSchema()
	case reflect.TypeFor[setting.Exclusions]():
		return exclusionsSchema()
	case reflect.TypeFor[Sweep]():
		return sweepSchema()
	case reflect.TypeFor[[]Split]():
		return splitsSchema(path)
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
		return schemaOf(path, newSection(v.Type()).Elem())
	case reflect.Slice:
		elem := reflect.New(v.Type().Elem()).Elem()
		if v.Len() > 0 {
			elem = v.Index(0)
		}

		if elem.Kind() == reflect.Struct {
			return map[string]any{"type": "object", "additionalProperties": schemaOf(path+".<name>", elem), "minProperties": 1}
		}

		one := schemaOf(path, elem)

		forms := []any{one, map[string]any{"type": "array", "items": one}}
		if elem.Kind() == reflect.Slice {
			return map[string]any{"anyOf": forms} // [1, 2] is one row, and also two rows of one number
		}

		return map[string]any{"oneOf": forms}
	}

	return sectionSchema(path, v)
}

// sweepSchema returns the JSON Schema of the values that decoder.sweep reads: keys with values, or a list of variants.
func sweepSchema() map[string]any {
	one := map[string]any{"type": []string{"string", "number", "boolean"}}
	list := map[string]any{"type": "array", "items": one}
	value := map[string]any{"oneOf": []any{one, list}}
	values := map[string]any{"oneOf": []any{one, map[string]any{"type": "array", "items": value, "minItems": 1}}}

	return map[string]any{"oneOf": []any{
		map[string]any{"type": "object", "additionalProperties": values, "minProperties": 1},
		map[string]any{
			"type": "array", "minItems": 1, "items": map[string]any{"type": "object", "additionalProperties": value},
		},
	}}
}

// splitsSchema returns the JSON Schema of the splits at path. A split of the name "each" may be the name of its
// condition: each: blades is short for each: {each: blades}.
func splitsSchema(path string) map[string]any {
	split := sectionSchema(path+".<name>", reflect.ValueOf(Split{}))
	short := split["properties"].(map[string]any)["each"]

	return map[string]any{
		"type": "object", "minProperties": 1, "additionalProperties": split,
		"patternProperties": map[string]any{"^each$": map[string]any{"oneOf": []any{short, split}}},
	}
}

// sectionSchema returns the JSON Schema of the section at path: a mapping of its keys, or its short form.
func sectionSchema(path string, v reflect.Value) map[string]any {
	props := map[string]any{}
	for _, sf := range fields(v.Type()) {
		props[sf.Tag.Get("key")] = keySchema(path, v, sf)
	}

	schema := map[string]any{"type": "object", "properties": props, "additionalProperties": false}
	if sf, ok := shortField(v.Type()); ok {
		return map[string]any{"oneOf": []any{props[sf.Tag.Get("key")], schema}}
	}

	return schema
}

// keySchema returns the JSON Schema of one key of the section v, which is at path.
func keySchema(path string, v reflect.Value, sf reflect.StructField) map[string]any {
	key := sf.Tag.Get("key")
	field := v.FieldByIndex(sf.Index)
	schema := schemaOf(join(path, key), field)
	for bound, n := range limits()[join(path, key)] {
		schema[bound] = n // in the schema of a list, it applies to a single number only
	}

	if texts := enum(sf); texts != "" {
		schema = map[string]any{"enum": strings.Split(strings.TrimPrefix(texts, "|"), "|")}
	}

	if v.Type() == reflect.TypeFor[Table]() && key == "pairs" { // or pairs: {across: COLUMN}
		schema = map[string]any{"oneOf": []any{schema, map[string]any{
			"type": "object", "propertyNames": map[string]any{"const": "across"}, "minProperties": 1,
			"additionalProperties": map[string]any{"type": "string"},
		}}}
	}

	if v.Type() == reflect.TypeFor[setting.Calibration]() && key == "gain_db" { // or gain_db: {CHANNEL: NUMBER}
		schema["type"] = []string{"number", "object"}
		schema["additionalProperties"] = map[string]any{"type": "number"}
	}

	switch {
	case defaultText(sf, field) == "":
	case field.IsZero() && field.Kind() != reflect.Bool: // the tag states a number
		if n, err := strconv.Atoi(sf.Tag.Get("default")); err == nil {
			schema["default"] = n
		}
	default:
		schema["default"] = field.Interface()
	}

	schema["description"] = doc(v.Type(), sf)

	return schema
}
