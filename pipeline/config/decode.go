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
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"doubletake/ingest/fault"
	"doubletake/ingest/spelling"
	"doubletake/internal/lists"
)

// maxConfiguration bounds a configuration, which is held in memory.
const maxConfiguration = 16 << 20

// Load reads and validates a file. A fault of its contents comes back as
// Errors, with every fault found; a file that cannot be read as *Error.
func Load(path string) (*File, error) {
	b, err := fault.ReadFile(path, maxConfiguration, "a configuration")
	if err != nil {
		text := withoutPath(err).Error()
		if errors.Is(err, os.ErrNotExist) {
			text = "no such file" + configsNear(path) + "; name your configuration: pipeline run FILE"
		}

		return nil, &Error{File: path, Text: text}
	}

	return Parse(path, b)
}

// withoutPath is an error of reading a file without its path, which the caller prints.
func withoutPath(err error) error {
	var pe *fs.PathError
	var data *fault.Error
	switch {
	case errors.As(err, &pe):
		return pe.Err
	case errors.As(err, &data):
		c := *data
		c.Path = ""

		return &c
	}

	return err
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
		slices.SortStableFunc(d.errs, func(a, b *Error) int {
			return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
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
		what := ""
		if _, comment, ok := strings.Cut(d.lines[n.Line-1], "# "); ok {
			what = ": " + comment
		}

		d.report(n, path, "is to be filled in"+what)
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
	if n.Kind != yaml.ScalarNode || n.Value != FillIn { // else it is known
		d.report(n, path, fmt.Sprintf(format, args...))
	}
}

func (d *decoder) report(n *yaml.Node, path, text string) {
	d.errs = append(d.errs, &Error{
		File: d.file, Line: n.Line, Col: n.Column, Key: path, Text: text,
		Excerpt: excerpt(d.lines, pos{n.Line, n.Column}),
	})
}

// resolve follows aliases.
func resolve(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// items are the nodes of a list; one value means a list of one.
func items(n *yaml.Node) []*yaml.Node {
	if n.Kind == yaml.SequenceNode {
		return n.Content
	}
	return []*yaml.Node{n}
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

func parseFloat(s string) (float64, error) { return strconv.ParseFloat(strings.TrimSpace(s), 64) }

// number reads a finite number.
func (d *decoder) number(n *yaml.Node, path, want string) (float64, bool) {
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
	"experiments.*.train.honest.base: prior-ensemble": "prior-ensemble went in 0.2.0: ensemble has narrower " +
		"intervals that hold about as often",
	"experiments.*.train.honest.base: gp-refit": "gp-refit went in 0.2.0: gp leaves groups out in closed form, and " +
		"its intervals cover as many groups",
	"experiments.*.ingest.on_bad_recording: warn": "warn went: skip leaves out a file, channels and exclude parts of one",
}

// unnamed is a path with * for the name of the experiment.
func unnamed(path string) string {
	if rest, ok := strings.CutPrefix(path, "experiments."); ok {
		if _, key, ok := strings.Cut(rest, "."); ok {
			return "experiments.*." + key
		}
	}

	return path
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
		p := section(v.Type())
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

		if allowed := strings.Split(enum, "|"); enum != "" && !slices.Contains(allowed, n.Value) {
			hint := spelling.DidYouMean(n.Value, allowed)
			if why, ok := gone[unnamed(path)+": "+n.Value]; ok {
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
		x, ok := d.number(n, path, "a whole number")
		switch {
		case !ok:
		case x != math.Trunc(x) || math.Abs(x) > 1<<53:
			d.fail(n, path, "expected a whole number, found %s", n.Value)
		case v.Kind() == reflect.Int:
			v.SetInt(int64(x))
		case x < 0:
			d.fail(n, path, "expected a whole number that is not negative, found %s", n.Value)
		default:
			v.SetUint(uint64(x))
		}

	case reflect.Float64:
		if x, ok := d.number(n, path, "a number"); ok {
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

	if n.Kind != yaml.SequenceNode && n.Kind != yaml.ScalarNode {
		d.fail(n, path, "expected a value or a list of values, found %s", describe(n))
		return
	}

	list := items(n)
	out := reflect.MakeSlice(v.Type(), 0, len(list))
	for _, e := range list {
		x := reflect.New(elem).Elem()
		d.decode(e, path, x, "")
		out = reflect.Append(out, x)
	}

	v.Set(out)
}

func (d *decoder) object(n *yaml.Node, path string, v reflect.Value) {
	null := n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
	if sf, ok := short(v.Type()); ok && n.Kind != yaml.MappingNode && !null {
		d.decode(n, join(path, sf.Tag.Get("key")), v.FieldByIndex(sf.Index), "")
		return
	}

	if v.Type() == reflect.TypeFor[Split]() && v.FieldByName("Name").String() == "each" && n.Kind != yaml.MappingNode {
		d.decode(n, path, v.FieldByName("Each"), "") // splits: {each: blades}
		return
	}

	switch {
	case null:
		d.fail(n, path, "expected keys, found nothing; known keys: %s", strings.Join(keysOf(v.Type()), ", "))
	case n.Kind != yaml.MappingNode:
		d.fail(n, path, "expected keys and values, found %s", describe(n))
	default:
		d.eachKey(n, path, func(k, e *yaml.Node) { d.key(k, e, join(path, k.Value), v) })
	}
}

// key decodes the value e of one key of a section.
func (d *decoder) key(k, e *yaml.Node, path string, section reflect.Value) {
	t := section.Type()
	if t == reflect.TypeFor[Table]() && k.Value == "pairs" && e.Kind == yaml.MappingNode {
		d.across(e, path, section)
		return
	}

	if t == reflect.TypeFor[Calibration]() && k.Value == "gain_db" && e.Kind == yaml.MappingNode {
		d.decode(e, path, section.FieldByName("ChannelGainDB"), "")
		return
	}

	keys := keysOf(t)
	if i := slices.Index(keys, k.Value); i >= 0 {
		sf := fields(t)[i]
		before, f := len(d.errs), section.FieldByIndex(sf.Index)
		d.decode(e, path, f, enum(sf))

		if sf.Tag.Get("zero") == "unset" && f.IsZero() && len(d.errs) == before {
			d.fail(e, path, "expected a number above 0, found 0; leave the key out where there is none")
		}
	} else if text := former()[t.String()+"."+k.Value]; text != "" {
		d.fail(k, path, "%s", text)
	} else {
		d.fail(k, path, "unknown key%s",
			cmp.Or(spelling.DidYouMean(k.Value, keys), "; known keys here: "+strings.Join(keys, ", ")))
	}
}

// across decodes pairs: {across: COLUMN} of a table.
func (d *decoder) across(n *yaml.Node, path string, table reflect.Value) {
	d.eachKey(n, path, func(k, e *yaml.Node) {
		if k.Value != "across" {
			d.fail(k, join(path, k.Value), "unknown key; known keys here: across")
			return
		}

		d.decode(e, join(path, "across"), table.FieldByName("Across"), "")
		table.FieldByName("Pairs").SetString("repeat-run")
	})
}

func orList(s []string) string {
	t := lists.Keep(s, func(e string) bool { return e != "" })
	if len(t) == 1 {
		return t[0]
	}

	return strings.Join(t[:len(t)-1], ", ") + " or " + t[len(t)-1]
}

func keysOf(t reflect.Type) []string {
	return lists.Each(fields(t), func(sf reflect.StructField) string { return sf.Tag.Get("key") })
}
