package config

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"doubletake/ingest/setting"
	"doubletake/ingest/spelling"
)

// decoder turns the YAML of a file into the types of this package. It goes on after a fault, so that all faults of the
// file are reported together.
type decoder struct {
	file    string            // as the user named it
	lines   []string          // as in File
	where   map[string]pos    // position of each key in the file, by its dotted path
	variant map[string]string // as in File
	errs    Errors
}

// nodeDecoder is a type that decodes its value itself, because its form in the file is not that of a Go type.
type nodeDecoder interface {
	decodeNode(d *decoder, n *yaml.Node, path string)
}

// FillIn stands in place of a value that only people know. `pipeline init` writes it, and Load refuses it.
const FillIn = "FILL_IN"

// fillIn reports the values below a node that are to be filled in, with the comment of their line.
func (d *decoder) fillIn(node *yaml.Node, path string) {
	if node.Kind == yaml.ScalarNode && node.Value == FillIn {
		what := ""
		if node.Line <= len(d.lines) { // a file in UTF-16 may have line ends that File.lines does not know
			if _, comment, ok := strings.Cut(d.lines[node.Line-1], "# "); ok {
				what = ": " + comment
			}
		}

		d.report(node, path, "is to be filled in"+what)
	}

	for i, c := range node.Content {
		place := path
		if node.Kind == yaml.MappingNode && i%2 == 1 {
			place = join(path, node.Content[i-1].Value)
		}

		d.fillIn(c, place)
	}
}

// fail reports a fault of a node, unless the node is still to be filled in.
func (d *decoder) fail(node *yaml.Node, path, format string, args ...any) {
	if node.Kind != yaml.ScalarNode || node.Value != FillIn { // otherwise fillIn reported it
		d.report(node, path, fmt.Sprintf(format, args...))
	}
}

// report appends an error at the place of a node. path is the key of the node.
func (d *decoder) report(node *yaml.Node, path, text string) {
	d.errs = append(d.errs, &Error{
		File: d.file, Line: node.Line, Col: node.Column, Key: path, Text: text,
		Excerpt: excerpt(d.lines, pos{node.Line, node.Column}),
	})
}

// followAlias returns the node that an alias refers to, and other nodes unchanged.
func followAlias(node *yaml.Node) *yaml.Node {
	for node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	return node
}

// items returns the nodes of a list. A single value means a list of one.
func items(node *yaml.Node) []*yaml.Node {
	if node.Kind == yaml.SequenceNode {
		return node.Content
	}
	return []*yaml.Node{node}
}

// describe returns the content of a node in words, for messages.
func describe(node *yaml.Node) string {
	switch node.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.ScalarNode:
		switch node.ShortTag() {
		case "!!null":
			return "nothing"
		case "!!str":
			return fmt.Sprintf("the text %q", node.Value)
		case "!!bool":
			return "the truth value " + node.Value
		}

		return node.Value
	}

	return "something else"
}

// entries yields the keys and values of a mapping, and reports keys that are not plain
// text or occur twice. It records the place of every key. It follows aliases of the mapping, of keys and of values.
func (d *decoder) entries(node *yaml.Node, path string) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(key, value *yaml.Node) bool) {
		seen := map[string]int{}
		content := followAlias(node).Content
		for i := 0; i+1 < len(content); i += 2 {
			key := followAlias(content[i])
			value := followAlias(content[i+1])
			if key.Kind != yaml.ScalarNode {
				d.fail(key, path, "expected a name as key, found %s", describe(key))
				continue
			}

			if key.ShortTag() == "!!merge" {
				d.fail(key, path, "merging keys with << is not possible; write the keys out, or take a whole section from "+
					"elsewhere in the file, as KEY: *ANCHOR")
				continue
			}

			if line, ok := seen[key.Value]; ok {
				d.fail(key, join(path, key.Value), "occurs twice; first in line %d", line)
				continue
			}

			seen[key.Value] = key.Line
			d.where[join(path, key.Value)] = pos{key.Line, key.Column}
			if !yield(key, value) {
				return
			}
		}
	}
}

// join appends a key to a dotted path, which may be "".
func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// parseFloat reads a number that spaces may surround.
func parseFloat(s string) (float64, error) { return strconv.ParseFloat(strings.TrimSpace(s), 64) }

// number reads a finite number. It returns false if it reports a fault; want is the expected value in the message.
func (d *decoder) number(node *yaml.Node, path, want string) (float64, bool) {
	if node.Kind == yaml.ScalarNode && node.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) == 0 {
		if x, err := parseFloat(strings.ReplaceAll(node.Value, "_", "")); err == nil && !math.IsNaN(x) && !math.IsInf(x, 0) {
			return x, true
		}
	}

	d.fail(node, path, "expected %s, found %s", want, describe(node))

	return 0, false
}

// value decodes a node into the value that target points to.
func (d *decoder) value(node *yaml.Node, path string, target any) {
	d.decode(followAlias(node), path, reflect.ValueOf(target).Elem(), "")
}

// decode decodes a node into v. path is the key of the node; enum lists the allowed texts, joined by |, or is "".
func (d *decoder) decode(node *yaml.Node, path string, v reflect.Value, enum string) {
	node = followAlias(node)
	if v.Type() == holdoutType {
		if h := d.holdout(node, path); h != nil {
			v.Set(reflect.ValueOf(h))
		}
		return
	}

	if v.Type() == reflect.TypeFor[setting.Exclusions]() {
		d.exclusions(node, path, v.Addr().Interface().(*setting.Exclusions))
		return
	}

	if v.CanAddr() {
		if nd, ok := v.Addr().Interface().(nodeDecoder); ok {
			nd.decodeNode(d, node, path)
			return
		}
	}

	switch v.Kind() {
	case reflect.Pointer:
		p := newSection(v.Type())
		d.decode(node, path, p.Elem(), enum)
		v.Set(p)
	case reflect.Struct:
		d.object(node, path, v)
	case reflect.String:
		d.text(node, path, v, enum)
	case reflect.Bool:
		if node.Kind != yaml.ScalarNode || node.ShortTag() != "!!bool" {
			d.fail(node, path, "expected true or false, found %s", describe(node))
			return
		}

		v.SetBool(strings.EqualFold(node.Value, "true"))
	case reflect.Int, reflect.Uint64:
		d.whole(node, path, v)
	case reflect.Float64:
		if x, ok := d.number(node, path, "a number"); ok {
			v.SetFloat(x)
		}
	case reflect.Slice:
		d.slice(node, path, v)
	default:
		panic("config: no decoder for " + v.Type().String())
	}
}

// text decodes a text as it is written, also if YAML takes it for a number or a date: 007, 2023_04_11.
func (d *decoder) text(node *yaml.Node, path string, v reflect.Value, enum string) {
	if node.Kind != yaml.ScalarNode || node.ShortTag() == "!!null" {
		d.fail(node, path, "expected text, found %s", describe(node))
		return
	}

	if allowed := strings.Split(enum, "|"); enum != "" && !slices.Contains(allowed, node.Value) {
		d.fail(node, path, "expected %s, found %s%s", orList(allowed), describe(node),
			spelling.DidYouMean(node.Value, allowed))

		return
	}

	v.SetString(node.Value)
}

// maxWhole bounds whole numbers: up to it a float64, as which they are read, is exact.
const maxWhole = 1 << 53

// whole decodes a whole number into v, an int or a uint64.
func (d *decoder) whole(node *yaml.Node, path string, v reflect.Value) {
	x, ok := d.number(node, path, "a whole number")
	switch {
	case !ok: // d.number reported the fault
	case x != math.Trunc(x) || math.Abs(x) > maxWhole:
		d.fail(node, path, "expected a whole number, found %s", node.Value)
	case v.Kind() == reflect.Int:
		v.SetInt(int64(x))
	case x < 0:
		d.fail(node, path, "expected a whole number that is not negative, found %s", node.Value)
	default:
		v.SetUint(uint64(x))
	}
}

// slice decodes a list, or a mapping from names, into v.
func (d *decoder) slice(node *yaml.Node, path string, v reflect.Value) {
	elem := v.Type().Elem()
	if elem.Kind() == reflect.Struct { // a mapping from names, kept in file order
		if node.Kind != yaml.MappingNode {
			d.fail(node, path, "expected names with their values, found %s", describe(node))
			return
		}

		for key, value := range d.entries(node, path) {
			d.named(key.Value, value, join(path, key.Value), v)
		}

		return
	}

	if node.Kind != yaml.SequenceNode && node.Kind != yaml.ScalarNode {
		d.fail(node, path, "expected a value or a list of values, found %s", describe(node))
		return
	}

	list := items(node)
	values := reflect.MakeSlice(v.Type(), 0, len(list))
	for _, value := range list {
		x := reflect.New(elem).Elem()
		d.decode(value, path, x, "")
		values = reflect.Append(values, x)
	}

	v.Set(values)
}

// named appends an element with the given name to a list of structs; node is its value. If the element is an experiment
// with a sweep, named appends its variants instead.
func (d *decoder) named(name string, node *yaml.Node, path string, list reflect.Value) {
	elem := list.Type().Elem()
	x := reflect.New(elem).Elem()
	if elem == reflect.TypeFor[Experiment]() {
		x.Set(reflect.ValueOf(defaultExperiment()))
	}

	x.FieldByName("Name").SetString(name)

	if f := x.FieldByName("Value"); f.IsValid() {
		d.decode(node, path, f, "")
	} else {
		d.decode(node, path, x, "")
	}

	if e, ok := x.Interface().(Experiment); ok && e.Sweep.node != nil {
		list.Set(reflect.AppendSlice(list, reflect.ValueOf(d.variants(e, node, path))))
		return
	}

	list.Set(reflect.Append(list, x))
}

// object decodes a section into the struct v. It also takes the short forms of sections.
func (d *decoder) object(node *yaml.Node, path string, v reflect.Value) {
	isNull := node.Kind == yaml.ScalarNode && node.ShortTag() == "!!null"
	isMapping := node.Kind == yaml.MappingNode
	if sf, ok := shortField(v.Type()); ok && !isMapping && !isNull {
		d.decode(node, join(path, sf.Tag.Get("key")), v.FieldByIndex(sf.Index), "")
		return
	}

	if v.Type() == reflect.TypeFor[Split]() && v.FieldByName("Name").String() == "each" && !isMapping {
		d.decode(node, path, v.FieldByName("Each"), "") // splits: {each: blades}
		return
	}

	switch {
	case isNull:
		d.fail(node, path, "expected keys, found nothing; known keys: %s", strings.Join(keysOf(v.Type()), ", "))
	case !isMapping:
		d.fail(node, path, "expected keys and values, found %s", describe(node))
	default:
		for key, value := range d.entries(node, path) {
			d.key(key, value, join(path, key.Value), v)
		}
	}
}

// key decodes one key of a section and its value. path is the dotted path of the key.
func (d *decoder) key(key, value *yaml.Node, path string, section reflect.Value) {
	t := section.Type()
	isMapping := value.Kind == yaml.MappingNode
	if t == reflect.TypeFor[Table]() && key.Value == "pairs" && isMapping {
		d.across(value, path, section)
		return
	}

	if t == reflect.TypeFor[setting.Calibration]() && key.Value == "gain_db" && isMapping {
		d.decode(value, path, section.FieldByName("ChannelGainDB"), "")
		return
	}

	keys := keysOf(t)
	i := slices.Index(keys, key.Value)
	if i < 0 {
		d.fail(key, path, "unknown key%s",
			cmp.Or(spelling.DidYouMean(key.Value, keys), "; known keys here: "+strings.Join(keys, ", ")))

		return
	}

	sf := fields(t)[i]
	faults := len(d.errs)
	field := section.FieldByIndex(sf.Index)
	d.decode(value, path, field, enum(sf))

	if sf.Tag.Get("zero") == "unset" && field.IsZero() && len(d.errs) == faults {
		d.fail(value, path, "expected a number above 0, found 0; leave the key out where there is none")
	}
}

// across decodes pairs: {across: COLUMN}, the short form of two keys of a table.
func (d *decoder) across(node *yaml.Node, path string, table reflect.Value) {
	for key, value := range d.entries(node, path) {
		if key.Value != "across" {
			d.fail(key, join(path, key.Value), "unknown key; known keys here: across")
			continue
		}

		d.decode(value, join(path, "across"), table.FieldByName("Across"), "")
		table.FieldByName("Pairs").SetString("repeat-run")
	}
}

// orList joins texts as "a, b or c". It leaves out empty ones.
func orList(texts []string) string {
	var given []string
	for _, text := range texts {
		if text != "" {
			given = append(given, text)
		}
	}

	if len(given) < 2 {
		return strings.Join(given, "")
	}

	last := len(given) - 1

	return strings.Join(given[:last], ", ") + " or " + given[last]
}

// keysOf lists the keys of a type.
func keysOf(t reflect.Type) []string {
	var texts []string
	for _, sf := range fields(t) {
		texts = append(texts, sf.Tag.Get("key"))
	}

	return texts
}
