package config

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"doubletake/internal/lists"
	"doubletake/pipeline/kv"
)

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
