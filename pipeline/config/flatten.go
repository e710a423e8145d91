package config

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// KV is one effective setting: its dotted key and canonical value.
type KV struct{ Key, Value string }

// Flatten lists the effective settings of a section (a struct of this
// package), defaults included, as dotted keys with canonical values, in the
// order of the types. Optional sections that are not there, empty lists and
// empty texts are left out, so that which keys exist is part of the list.
func Flatten(prefix string, section any) []KV {
	var out []KV
	flatten(prefix, reflect.ValueOf(section), &out)
	return out
}

func flatten(path string, v reflect.Value, out *[]KV) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			flatten(path, v.Elem(), out)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if key := v.Type().Field(i).Tag.Get("key"); key != "" {
				flatten(join(path, key), v.Field(i), out)
			}
		}
	case reflect.Slice:
		switch list := v.Interface().(type) {
		case []NamedNumber:
			for _, e := range list {
				*out = append(*out, KV{join(path, e.Name), canonical(reflect.ValueOf(e.Value))})
			}
		case []NamedString:
			for _, e := range list {
				*out = append(*out, KV{join(path, e.Name), e.Value})
			}
		case Rule:
			if len(list) > 0 {
				*out = append(*out, KV{path, list.String()})
			}
		case []Split:
			for _, e := range list {
				flatten(join(path, e.Name), reflect.ValueOf(e), out)
			}
		default:
			s := make([]string, v.Len())
			for i := range s {
				s[i] = canonical(v.Index(i))
			}
			if len(s) > 0 {
				*out = append(*out, KV{path, "[" + strings.Join(s, ", ") + "]"})
			}
		}
	default:
		if s := canonical(v); s != "" {
			*out = append(*out, KV{path, s})
		}
	}
}

func canonical(v reflect.Value) string {
	if v.Kind() == reflect.Float64 {
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	}
	return fmt.Sprint(v.Interface())
}
