package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"sort"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"doubletake/ingest/fault"
	"doubletake/ingest/spelling"
)

// maxConfiguration bounds a configuration, which is held in memory.
const maxConfiguration = 16 << 20

// Load reads and validates a file. A fault of its contents comes back as
// Errors, with every fault found; a file that cannot be read as *Error.
func Load(path string) (*File, error) {
	b, err := fault.ReadFile(path, maxConfiguration, "a configuration")
	if err != nil {
		text := err.Error()

		var data *fault.Error
		if errors.As(err, &data) {
			c := *data
			c.Path = "" // it follows anyway
			text = c.Error()
		}

		var pe *fs.PathError
		if errors.As(err, &pe) {
			text = pe.Err.Error() // without the path, which follows anyway
		}

		if errors.Is(err, os.ErrNotExist) {
			text = "no such file" + configsNear(path) + "; name your configuration: pipeline run FILE"
		}

		return nil, &Error{File: path, Text: text}
	}

	return Parse(path, b)
}

// LoadDefault reads a configuration as Load does; "" is pipeline.yaml, without which there are no
// experiments.
func LoadDefault(path string) (*File, error) {
	if path == "" {
		path = "pipeline.yaml"
		if _, err := os.Stat(path); err != nil {
			return &File{}, nil
		}
	}

	return Load(path)
}

// configsNear names the YAML files that lie where path was looked for.
func configsNear(path string) string {
	list, err := os.ReadDir(filepath.Dir(path)) // sorted
	if err != nil {
		return ""
	}

	var names []string
	for _, e := range list {
		if x := filepath.Ext(e.Name()); (x == ".yaml" || x == ".yml") && !e.IsDir() && len(names) < 3 {
			names = append(names, strconv.Quote(e.Name()))
		}
	}

	if len(names) == 0 {
		return ""
	}

	return "; there is " + strings.Join(names, ", ")
}

// Parse reads and validates the bytes of a file named path.
func Parse(path string, b []byte) (*File, error) {
	f := defaultFile()
	f.Path, f.Dir = path, filepath.Dir(path)
	f.lines = strings.Split(string(b), "\n")
	var doc yaml.Node

	dec := yaml.NewDecoder(bytes.NewReader(b))
	if err := dec.Decode(&doc); err != nil {
		return nil, Errors{syntaxError(path, f.lines, err)}
	}

	d := &decoder{file: path, lines: f.lines, where: map[string]pos{}, variant: map[string]string{}}
	f.where, f.variant = d.where, d.variant

	if len(doc.Content) == 0 {
		return nil, Errors{{File: path, Text: "the file is empty; expected version, workdir and experiments"}}
	}

	var extra yaml.Node
	if dec.Decode(&extra) == nil {
		d.fail(&extra, "", "expected one document, found a second")
	}

	d.fillIn(doc.Content[0], "")
	d.value(doc.Content[0], "", &f)

	if len(d.errs) == 0 {
		f.validate(d)
	}

	if len(d.errs) > 0 {
		sort.SliceStable(d.errs, func(i, j int) bool {
			a, b := d.errs[i], d.errs[j]
			return a.Line < b.Line || a.Line == b.Line && a.Col < b.Col
		})

		return nil, d.errs.distinct()
	}

	for i := range f.Experiments {
		f.Experiments[i].resolve()
	}

	return &f, nil
}

var yamlLine = regexp.MustCompile(`line (\d+): `)

func syntaxError(path string, lines []string, err error) *Error {
	e := &Error{File: path, Text: "not valid YAML: " + strings.TrimPrefix(err.Error(), "yaml: ")}
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		e.Line, _ = strconv.Atoi(m[1])
		e.Col = 1
		e.Text = strings.Replace(e.Text, m[0], "", 1)
		e.Excerpt = excerpt(lines, pos{e.Line, 1})
	}

	return e
}

type decoder struct {
	file    string
	lines   []string
	where   map[string]pos
	variant map[string]string // see File
	errs    Errors
}

// nodeDecoder is a type with a form of its own.
type nodeDecoder interface {
	decodeNode(d *decoder, n *yaml.Node, path string)
}

// FillIn takes the place of a value that only people know; `pipeline init` writes it.
const FillIn = "FILL_IN"

// fillIn reports the values that are to be filled in, with the comment of their line.
func (d *decoder) fillIn(n *yaml.Node, path string) {
	if n.Kind == yaml.ScalarNode && n.Value == FillIn {
		p, what := pos{n.Line, n.Column}, ""
		if _, comment, ok := strings.Cut(d.lines[n.Line-1], "# "); ok {
			what = ": " + comment
		}

		d.errs = append(d.errs, &Error{
			File: d.file, Line: p.line, Col: p.col, Key: path, Text: "is to be filled in" + what,
			Excerpt: excerpt(d.lines, p),
		})
	}

	for i, c := range n.Content {
		at := path
		if n.Kind == yaml.MappingNode && i%2 == 1 {
			at = join(path, n.Content[i-1].Value)
		}

		d.fillIn(c, at)
	}
}

func (d *decoder) fail(n *yaml.Node, path, format string, args ...any) {
	if n.Kind == yaml.ScalarNode && n.Value == FillIn {
		return // it is known
	}

	p := pos{n.Line, n.Column}
	d.errs = append(d.errs, &Error{
		File: d.file, Line: p.line, Col: p.col, Key: path, Text: fmt.Sprintf(format, args...),
		Excerpt: excerpt(d.lines, p),
	})
}

// resolve follows aliases.
func resolve(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.ScalarNode:
		switch n.ShortTag() {
		case "!!null":
			return "nothing"
		case "!!str":
			return fmt.Sprintf("the text %q", n.Value)
		case "!!bool":
			return "the truth value " + n.Value
		}

		return n.Value
	}

	return "something else"
}

// eachKey calls f for every key of a mapping, and reports keys that are no plain
// text or occur twice. It records the place of every key.
func (d *decoder) eachKey(n *yaml.Node, path string, f func(k, v *yaml.Node)) {
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Kind != yaml.ScalarNode {
			d.fail(k, path, "expected a name as key, found %s", describe(k))
			continue
		}

		if l, ok := seen[k.Value]; ok {
			d.fail(k, join(path, k.Value), "occurs twice; first in line %d", l)
			continue
		}

		seen[k.Value] = k.Line
		d.where[join(path, k.Value)] = pos{k.Line, k.Column}
		f(k, v)
	}
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func parseFloat(s string) (float64, error) {
	return strconv.ParseFloat(strings.TrimSpace(s), 64)
}

// number reads a finite number.
func (d *decoder) number(n *yaml.Node, path string) (float64, bool) {
	return d.numberAs(n, path, "a number")
}

func (d *decoder) numberAs(n *yaml.Node, path, want string) (float64, bool) {
	if n.Kind == yaml.ScalarNode && n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) == 0 {
		if x, err := parseFloat(strings.ReplaceAll(n.Value, "_", "")); err == nil && !math.IsNaN(x) && !math.IsInf(x, 0) {
			return x, true
		}
	}

	d.fail(n, path, "expected %s, found %s", want, describe(n))

	return 0, false
}

// value decodes n into the value out points to.
func (d *decoder) value(n *yaml.Node, path string, out any) {
	d.decode(resolve(n), path, reflect.ValueOf(out).Elem(), "")
}

// gone are values that a key had, and why it has them no more.
var gone = map[string]string{
	"kernels: avx512": "avx512 went in 0.2.0: avx2 gives the same bytes on every x86 machine",
}

func (d *decoder) decode(n *yaml.Node, path string, v reflect.Value, enum string) {
	n = resolve(n)
	if v.Type() == holdoutType {
		if h := d.holdout(n, path); h != nil {
			v.Set(reflect.ValueOf(h))
		}
		return
	}

	if v.CanAddr() {
		if nd, ok := v.Addr().Interface().(nodeDecoder); ok {
			nd.decodeNode(d, n, path)
			return
		}
	}

	switch v.Kind() {
	case reflect.Pointer:
		p := reflect.New(v.Type().Elem())
		if s, ok := p.Interface().(interface{ setDefaults() }); ok {
			s.setDefaults()
		}

		d.decode(n, path, p.Elem(), enum)
		v.Set(p)

	case reflect.Struct:
		d.object(n, path, v)

	case reflect.String:
		// Plain scalars that YAML takes for numbers or dates are wanted as they are written: 007, 2023_04_11.
		if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" {
			d.fail(n, path, "expected text, found %s", describe(n))
			return
		}

		if enum != "" {
			allowed := strings.Split(enum, "|")
			for _, a := range allowed {
				if n.Value == a {
					v.SetString(a)
					return
				}
			}

			hint := spelling.DidYouMean(n.Value, allowed)
			if why, ok := gone[path+": "+n.Value]; ok {
				hint = "; " + why
			}

			d.fail(n, path, "expected %s, found %s%s", orList(allowed), describe(n), hint)

			return
		}

		v.SetString(n.Value)

	case reflect.Bool:
		if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" {
			d.fail(n, path, "expected true or false, found %s", describe(n))
			return
		}

		v.SetBool(strings.EqualFold(n.Value, "true"))

	case reflect.Int, reflect.Uint64:
		x, ok := d.numberAs(n, path, "a whole number")
		if !ok {
			return
		}

		if x != math.Trunc(x) || math.Abs(x) > 1<<53 {
			d.fail(n, path, "expected a whole number, found %s", n.Value)
			return
		}

		if v.Kind() == reflect.Uint64 {
			if x < 0 {
				d.fail(n, path, "expected a whole number that is not negative, found %s", n.Value)
				return
			}

			v.SetUint(uint64(x))

			return
		}

		v.SetInt(int64(x))

	case reflect.Float64:
		if x, ok := d.number(n, path); ok {
			v.SetFloat(x)
		}

	case reflect.Slice:
		d.slice(n, path, v)

	default:
		panic("config: no decoder for " + v.Type().String())
	}
}

func (d *decoder) slice(n *yaml.Node, path string, v reflect.Value) {
	elem := v.Type().Elem()
	if elem.Kind() == reflect.Struct { // a mapping from names, kept in file order
		if n.Kind != yaml.MappingNode {
			d.fail(n, path, "expected names with their values, found %s", describe(n))
			return
		}

		d.eachKey(n, path, func(k, e *yaml.Node) {
			x := reflect.New(elem).Elem()
			if elem == reflect.TypeFor[Experiment]() {
				x.Set(reflect.ValueOf(defaultExperiment()))
			}

			x.FieldByName("Name").SetString(k.Value)

			if f := x.FieldByName("Value"); f.IsValid() {
				d.decode(e, join(path, k.Value), f, "")
			} else {
				d.decode(e, join(path, k.Value), x, "")
			}

			if x, ok := x.Interface().(Experiment); ok && x.Sweep.node != nil {
				v.Set(reflect.AppendSlice(v, reflect.ValueOf(d.variants(x, e, join(path, k.Value)))))
				return
			}

			v.Set(reflect.Append(v, x))
		})

		return
	}

	list := []*yaml.Node{n} // one value means a list of one
	if n.Kind == yaml.SequenceNode {
		list = n.Content
	} else if n.Kind != yaml.ScalarNode {
		d.fail(n, path, "expected a value or a list of values, found %s", describe(n))
		return
	}

	out := reflect.MakeSlice(v.Type(), 0, len(list))
	for _, e := range list {
		x := reflect.New(elem).Elem()
		d.decode(e, path, x, "")
		out = reflect.Append(out, x)
	}

	v.Set(out)
}

func (d *decoder) object(n *yaml.Node, path string, v reflect.Value) {
	if n.Kind == yaml.ScalarNode && v.Type() == reflect.TypeFor[Table]() && n.ShortTag() == "!!str" {
		d.decode(n, path, v.FieldByName("File"), "") // a path alone
		return
	}

	if n.Kind == yaml.ScalarNode && v.Type() == reflect.TypeFor[Sidecar]() && n.ShortTag() == "!!str" {
		v.FieldByName("Ending").SetString(n.Value) // an ending alone
		return
	}

	if n.Kind == yaml.ScalarNode && v.Type() == reflect.TypeFor[Recalibrate]() {
		d.decode(n, path, v.FieldByName("Share"), "") // a share alone
		return
	}

	if n.Kind == yaml.SequenceNode && v.Type() == reflect.TypeFor[Reader]() {
		d.decode(n, path, v.FieldByName("Program"), "") // a program and its arguments alone
		return
	}

	if v.Type() == reflect.TypeFor[Split]() && v.FieldByName("Name").String() == "each" && n.Kind != yaml.MappingNode {
		d.decode(n, path, v.FieldByName("Each"), "") // splits: {each: blades}
		return
	}

	if n.Kind != yaml.MappingNode {
		if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" {
			d.fail(n, path, "expected keys, found nothing; %s", "known keys: "+strings.Join(keysOf(v.Type()), ", "))
			return
		}

		d.fail(n, path, "expected keys and values, found %s", describe(n))

		return
	}

	d.eachKey(n, path, func(k, e *yaml.Node) {
		if v.Type() == reflect.TypeFor[Recalibrate]() && k.Value == "kind" {
			d.fail(k, join(path, k.Value), "the maps beta and gp-beta went in 0.2.0; scaled, isotonic and quantile are "+
				"learned of every share: leave the key out")
			return
		}

		for _, sf := range fields(v.Type()) {
			if key := sf.Tag.Get("key"); key == k.Value {
				before, f := len(d.errs), v.FieldByIndex(sf.Index)
				d.decode(e, join(path, key), f, enum(sf))

				if sf.Tag.Get("zero") == "unset" && f.IsZero() && len(d.errs) == before {
					d.fail(e, join(path, key), "expected a number above 0, found 0; leave the key out where there is none")
				}

				return
			}
		}

		if text := former[join(path, k.Value)]; text != "" {
			d.fail(k, join(path, k.Value), "%s", text)
			return
		}

		keys := keysOf(v.Type())
		hint := cmp.Or(spelling.DidYouMean(k.Value, keys), "; known keys here: "+strings.Join(keys, ", "))

		d.fail(k, join(path, k.Value), "unknown key%s", hint)
	})
}

// former are keys of earlier versions, with what takes their place.
var former = map[string]string{
	"executor.slurm.stages": "gone; executor.train has the values for trainings, the stages that take long",
	"executor.slurm.retries": "gone; a task is tried three times, and one that left a new checkpoint goes on there " +
		"without being counted",
	"executor.slurm.retry_mem": "gone; give mem what the largest job needs, of trainings in executor.train",
}

func orList(s []string) string {
	var t []string
	for _, e := range s {
		if e != "" {
			t = append(t, e)
		}
	}

	if len(t) == 1 {
		return t[0]
	}

	return strings.Join(t[:len(t)-1], ", ") + " or " + t[len(t)-1]
}

func keysOf(t reflect.Type) []string {
	var keys []string
	for _, sf := range fields(t) {
		keys = append(keys, sf.Tag.Get("key"))
	}

	return keys
}
