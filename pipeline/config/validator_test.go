package config

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// validator checks values against a JSON Schema. It knows the keywords that the schema of pipeline.yaml has.
type validator struct{ t *testing.T }

// annotations are the keywords of a schema that say nothing about which values are valid.
var annotations = []string{"$schema", "title", "description", "default"}

// faults lists why a value is not valid, each with its dotted path. The value is as json.Unmarshal gives it.
func (v validator) faults(path string, schema, value any) []string {
	v.t.Helper()

	if allowed, ok := schema.(bool); ok {
		if allowed {
			return nil
		}

		return []string{path + ": no such key"}
	}

	rules := schema.(map[string]any)
	var faults []string
	for keyword, rule := range rules {
		if !slices.Contains(annotations, keyword) && !v.obeys(keyword, rule, value) {
			faults = append(faults, fmt.Sprintf("%s: %v is not valid: %s %v", path, value, keyword, rule))
		}
	}

	switch value := value.(type) {
	case map[string]any:
		for key, below := range value {
			for _, rule := range rulesOf(rules, key) {
				faults = append(faults, v.faults(path+"."+key, rule, below)...)
			}
		}
	case []any:
		for i, below := range value {
			if items, ok := rules["items"]; ok {
				faults = append(faults, v.faults(fmt.Sprintf("%s[%d]", path, i), items, below)...)
			}
		}
	}

	return faults
}

// rulesOf returns the schemas that the value of a key must obey, among the rules of its object.
func rulesOf(rules map[string]any, key string) []any {
	var found []any
	properties, _ := rules["properties"].(map[string]any)
	if rule, ok := properties[key]; ok {
		found = append(found, rule)
	}

	patterns, _ := rules["patternProperties"].(map[string]any)
	for pattern, rule := range patterns {
		if regexp.MustCompile(pattern).MatchString(key) {
			found = append(found, rule)
		}
	}

	if rest, ok := rules["additionalProperties"]; ok && len(found) == 0 {
		found = append(found, rest)
	}

	return found
}

// obeys reports whether a value obeys one keyword. It does not look at the elements of the value.
func (v validator) obeys(keyword string, rule, value any) bool {
	v.t.Helper()

	object, isObject := value.(map[string]any)
	switch keyword {
	case "properties", "patternProperties", "additionalProperties", "items": // faults looks at the elements
		return true
	case "type":
		types, ok := rule.([]any)
		if !ok {
			types = []any{rule}
		}

		number, isNumber := value.(float64)
		isWhole := isNumber && number == math.Trunc(number)
		return slices.Contains(types, any(typeOf(value))) || isWhole && slices.Contains(types, any("integer"))
	case "enum":
		return slices.ContainsFunc(rule.([]any), func(one any) bool { return reflect.DeepEqual(one, value) })
	case "const":
		return reflect.DeepEqual(rule, value)
	case "oneOf":
		return v.matches(rule, value) == 1
	case "anyOf":
		return v.matches(rule, value) > 0
	case "required":
		isMissing := func(key any) bool {
			_, isThere := object[key.(string)]
			return !isThere
		}

		return !isObject || !slices.ContainsFunc(rule.([]any), isMissing)
	case "propertyNames":
		for name := range object {
			if len(v.faults("", rule, name)) > 0 {
				return false
			}
		}

		return true
	}

	limit, isLimit := rule.(float64)
	require.True(v.t, isLimit, "the validator does not know the keyword %s", keyword)

	return v.isWithin(keyword, limit, value)
}

// isWithin reports whether a value obeys a keyword that limits a number, a length or a count.
func (v validator) isWithin(keyword string, limit float64, value any) bool {
	v.t.Helper()

	object, isObject := value.(map[string]any)
	list, isList := value.([]any)
	number, isNumber := value.(float64)
	text, isText := value.(string)

	switch keyword {
	case "minProperties":
		return !isObject || len(object) >= int(limit)
	case "minItems":
		return !isList || len(list) >= int(limit)
	case "minLength":
		return !isText || utf8.RuneCountInString(text) >= int(limit)
	case "minimum":
		return !isNumber || number >= limit
	case "maximum":
		return !isNumber || number <= limit
	case "exclusiveMinimum":
		return !isNumber || number > limit
	case "exclusiveMaximum":
		return !isNumber || number < limit
	}

	require.Fail(v.t, "the validator does not know the keyword "+keyword)

	return false
}

// matches returns how many schemas of a list a value obeys.
func (v validator) matches(schemas, value any) (n int) {
	v.t.Helper()

	for _, schema := range schemas.([]any) {
		if len(v.faults("", schema, value)) == 0 {
			n++
		}
	}

	return n
}

// typeOf returns the name that JSON Schema has for the type of a value.
func typeOf(value any) string {
	switch value.(type) {
	case map[string]any:
		return "object"
	case []any:
		return "array"
	case string:
		return "string"
	case float64:
		return "number"
	case bool:
		return "boolean"
	}

	return "null"
}

// plainValue returns a value of YAML as json.Unmarshal would give it. JSON has no dates and only texts as keys.
func plainValue(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, below := range value {
			value[key] = plainValue(below)
		}
	case map[any]any:
		object := map[string]any{}
		for key, below := range value {
			object[fmt.Sprint(key)] = plainValue(below)
		}

		return object
	case []any:
		for i, below := range value {
			value[i] = plainValue(below)
		}
	case int:
		return float64(value)
	case uint64:
		return float64(value)
	case time.Time:
		return value.String()
	}

	return value
}

// plainSchema returns the schema of pipeline.yaml as json.Unmarshal gives it.
var plainSchema = sync.OnceValues(func() (schema any, err error) {
	encoded, err := json.Marshal(Schema())
	if err != nil {
		return nil, err
	}

	err = json.Unmarshal(encoded, &schema)

	return schema, err
})

// schemaFaults lists why the schema refuses a configuration.
func schemaFaults(t *testing.T, text []byte) []string {
	t.Helper()

	schema, err := plainSchema()
	require.NoError(t, err)

	var value any
	require.NoError(t, yaml.Unmarshal(text, &value))

	return validator{t}.faults("", schema, plainValue(value))
}

// The schema accepts every configuration of the repository that Parse accepts. Expected: the configuration at the
// top, all examples and the studies with sweeps are among them.
func TestSchemaAcceptsFiles(t *testing.T) {
	top := filepath.Join("..", "..")
	var accepted []string
	err := filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}

		isHidden := strings.HasPrefix(entry.Name(), ".") && path != top
		if entry.IsDir() && (isHidden || entry.Name() == "runs") {
			return filepath.SkipDir
		}

		ending := filepath.Ext(path)
		if entry.IsDir() || ending != ".yaml" && ending != ".yml" {
			return nil
		}

		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}

		if _, err := Parse(path, text); err == nil {
			accepted = append(accepted, path)
			assert.Empty(t, schemaFaults(t, text), path)
		}

		return nil
	})
	require.NoError(t, err)

	for _, pattern := range []string{
		"pipeline.yaml", "examples/*/pipeline.yaml", "docs/research/ecov*.yaml", "docs/research/widths.yaml",
	} {
		paths, err := filepath.Glob(filepath.Join(top, filepath.FromSlash(pattern)))
		require.NoError(t, err)
		require.NotEmpty(t, paths, pattern)
		assert.Subset(t, accepted, paths, "Parse accepts them")
	}
}

// The schema and Parse agree on the forms of sweeps and of splits. Expected: the answer of Parse, which the table also
// states.
func TestSchemaOfForms(t *testing.T) {
	const start = "version: 1\nexperiments:\n  x:\n    ingest: {simulate: {campaign: toy}}\n"
	const right = "    train:\n      inputs: [x]\n      splits: {right: {test: {x: {min: 3}}}}\n"
	for text, want := range map[string]bool{
		right + "    sweep: {honest.level: [0.9, 0.95]}\n":                     true,
		right + "    sweep: {model.hidden: [[64, 64], 32, [16]]}\n":            true,
		right + "    sweep: [{honest.level: 0.9}, {model.hidden: [32, 32]}]\n": true,
		right + "    sweep: [{}, {honest.level: 0.9}]\n":                       true,
		right + "    sweep: {}\n":                                              false,
		right + "    sweep: []\n":                                              false,
		right + "    sweep: 3\n":                                               false,
		right + "    sweep: [0.9, 0.95]\n":                                     false,
		right + "    sweep: {honest: {level: 0.9}}\n":                          false,
		right + "    sweep: {honest.level: []}\n":                              false,
		"    train: {inputs: [x], splits: {each: x}}\n":                        true,
		"    train: {inputs: [x], splits: {each: [x]}}\n":                      true,
		"    train: {inputs: [x], splits: {each: {each: x}}}\n":                true,
		"    train: {inputs: [x], splits: {each: {test: {x: 3}}}}\n":           true,
		"    train: {inputs: [x], splits: {each: {column: x}}}\n":              false,
		"    train: {inputs: [x], splits: {other: x}}\n":                       false,
		"    train: {inputs: [x], splits: x}\n":                                false,
	} {
		_, err := Parse("p.yaml", []byte(start+text))
		assert.Equal(t, want, err == nil, "Parse of %s: %v", text, err)

		faults := schemaFaults(t, []byte(start+text))
		assert.Equal(t, want, len(faults) == 0, "schema for %s: %v", text, faults)
	}
}
