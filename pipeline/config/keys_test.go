package config

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite keys.txt")

// keys.txt has the comments of all fields that are keys, wherever their types are.
// go test ./pipeline/config -run TestKeysText -update renews it.
func TestKeysText(t *testing.T) {
	packages := map[string]map[string]string{}
	lines := []string{}

	var walk func(v reflect.Type)
	walk = func(v reflect.Type) {
		for v.Kind() == reflect.Pointer || v.Kind() == reflect.Slice {
			v = v.Elem()
		}

		if v.Kind() != reflect.Struct {
			return
		}

		for _, f := range fields(v) {
			owner := v
			for _, i := range f.Index[:len(f.Index)-1] {
				owner = owner.Field(i).Type
			}

			if packages[owner.PkgPath()] == nil {
				packages[owner.PkgPath()] = comments(t, owner.PkgPath())
			}

			text := packages[owner.PkgPath()][owner.Name()+"."+f.Tag.Get("key")]
			assert.NotEmpty(t, text, "%s.%s is a key without a comment", owner, f.Name)

			if l := docKey(v, f) + ": " + text + "\n"; !slices.Contains(lines, l) {
				lines = append(lines, l)
			}

			walk(f.Type)
		}
	}

	walk(reflect.TypeFor[File]())

	want := strings.Join(lines, "")
	if *update {
		require.NoError(t, os.WriteFile("keys.txt", []byte(want), 0o644))
	}

	got, err := os.ReadFile("keys.txt")
	require.NoError(t, err)
	assert.Equal(t, want, string(got), "keys.txt differs from the comments of the fields: renew it with -update")
}

// comments returns the comments of the fields of a package that are keys, by type and key.
func comments(t *testing.T, pkg string) map[string]string {
	t.Helper()
	dir := filepath.Join("..", "..", filepath.FromSlash(strings.TrimPrefix(pkg, "doubletake/")))
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)

	texts := map[string]string{}
	for _, path := range files {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		require.NoError(t, err)

		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}

			if s, ok := spec.Type.(*ast.StructType); ok {
				for _, field := range s.Fields.List {
					if field.Tag != nil {
						key := reflect.StructTag(strings.Trim(field.Tag.Value, "`")).Get("key")
						texts[spec.Name.Name+"."+key] = strings.Join(strings.Fields(field.Doc.Text()), " ")
					}
				}
			}

			return true
		})
	}

	return texts
}
