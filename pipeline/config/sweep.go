package config

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"doubletake/ingest/spelling"
	"doubletake/internal/lists"
)

// maxVariants bounds the variants of one experiment: each is trained per split and seed.
const maxVariants = 200

// Sweep varies settings of an experiment: every combination of the values of a mapping,
// or each mapping of a list. Reading replaces the experiment by its variants.
type Sweep struct{ node *yaml.Node }

// Select is how one variant of a sweep is chosen without the held-out outcomes.
type Select struct {
	// the score of the left-out groups: nll (where not given), crps, rmse, or ratio (|ln Σe/Σv̂|)
	By string `key:"by" enum:"nll|crps|rmse|ratio"`

	// the condition whose values are the groups
	On string `key:"on"`
}

// Variant is the place of an experiment in a sweep.
type Variant struct {
	Of       string // the experiment with the sweep
	Settings []VariantSetting
}

// VariantSetting is one setting that a variant has instead of its experiment's.
type VariantSetting struct {
	Path  string // dotted, from the experiment: train.loss.beta
	Name  string // the shortest end of Path that no other path of the sweep has: beta
	Value string // as in the variant's name: 0.5, or 64-64 for a list
}

// Owner is the name under which the results of a stage are kept. Variants with the
// same settings up to that stage share it.
func (e *Experiment) Owner(stage string) string {
	if e.Variant == nil {
		return e.Name
	}

	read := map[string][]string{"simulate": {"ingest"}, "ingest": {"ingest"}, "dsp": {"ingest", "dsp"}}[stage]
	if read == nil {
		return e.Name
	}

	return variantName(e.Variant.Of, slices.DeleteFunc(slices.Clone(e.Variant.Settings), func(s VariantSetting) bool {
		section, _, _ := strings.Cut(s.Path, ".")
		return !slices.Contains(read, section)
	}))
}

// Family is the name of the experiment in the file.
func (e *Experiment) Family() string {
	if e.Variant != nil {
		return e.Variant.Of
	}
	return e.Name
}

func variantName(of string, settings []VariantSetting) string {
	if len(settings) == 0 {
		return of
	}

	texts := lists.Each(settings, func(v VariantSetting) string { return v.Name + "=" + v.Value })

	return of + "/" + strings.Join(texts, ",")
}

func (s *Sweep) decodeNode(_ *decoder, n *yaml.Node, _ string) { s.node = n }

// swept is a setting of a variant as it is written.
type swept struct {
	path string
	node *yaml.Node
}

// variants returns the variants of the experiment x, which is written at n.
func (d *decoder) variants(x Experiment, n *yaml.Node, at string) []Experiment {
	sets, ok := d.sweep(resolve(x.Sweep.node), at+".sweep")
	if !ok {
		return nil
	}

	_, paths := lists.Index(lists.Each(slices.Concat(sets...), func(s swept) string { return s.path }))
	names := shortNames(paths)
	var out []Experiment

	same := map[string]string{}
	for _, set := range sets {
		y := defaultExperiment()
		again := &decoder{file: d.file, lines: d.lines, where: map[string]pos{}} // its faults are known
		again.decode(n, at, reflect.ValueOf(&y).Elem(), "")
		y.Sweep = Sweep{}
		y.Variant = &Variant{Of: x.Name}
		for _, s := range set {
			text, ok := d.nameOf(s.node, at+".sweep")
			if !ok {
				return nil
			}

			y.Variant.Settings = append(y.Variant.Settings, VariantSetting{s.path, names[s.path], text})
		}

		if y.Name = variantName(x.Name, y.Variant.Settings); len(set) == 0 {
			y.Name += "/default"
		}

		own := "experiments." + y.Name
		d.variant[own] = at
		for _, s := range set {
			v, enum := locate(reflect.ValueOf(&y).Elem(), s.path)
			before := len(d.errs)
			d.decode(s.node, own+"."+s.path, v, enum)

			if len(d.errs) > before {
				return out // the other variants would repeat the fault
			}

			d.where[own+"."+s.path] = pos{s.node.Line, s.node.Column}
		}

		if len(folderOf(y.Name)) > maxFolderName {
			d.fail(x.Sweep.node, at+".sweep", "the variant %q has a name of more than %d characters, too long for a folder; "+
				"sweep fewer keys at a time", y.Name, maxFolderName)
			return out
		}

		for _, k := range []string{fmt.Sprint(Flatten("", y)), strings.ToLower(y.Name)} {
			if first, ok := same[k]; ok {
				d.fail(x.Sweep.node, at+".sweep", "the variants %q and %q are the same; leave one out", first, y.Name)
				return out
			}

			same[k] = y.Name
		}

		out = append(out, y)
	}

	if len(out) == 1 {
		d.fail(x.Sweep.node, at+".sweep", "expected two variants or more, found one; add a value, or write %s into the "+
			"experiment and leave the sweep out", paths[0])
	}

	return out
}

func (s Select) validate(e *Experiment, key string, fail failFunc) {
	switch {
	case e.Variant == nil:
		fail(key, "chooses among the variants of a sweep; expected sweep: {KEY: [VALUE, VALUE]} too, found none")
	case s.On == "":
		fail(key, "expected on: CONDITION, whose values are left out of the training set one after the other, found none")
	}
}

// maxFolderName is what most file systems take, with room for endings.
const maxFolderName = 200

func folderOf(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

// sweep reads the sweep: the settings of each variant.
func (d *decoder) sweep(n *yaml.Node, at string) (out [][]swept, ok bool) {
	before := len(d.errs)

	switch n.Kind {
	case yaml.MappingNode:
		out = [][]swept{nil}
		d.eachKey(n, at, func(k, v *yaml.Node) {
			path, known := d.sweptKey(k, at)
			v = resolve(v)
			values := items(v)
			if len(values) == 0 {
				d.fail(v, join(at, k.Value), "expected at least one value, found an empty list")
			}

			if known && len(out)*len(values) > maxVariants {
				d.fail(k, at, "expected up to %d variants, found at least %d; sweep fewer values, or list the variants",
					maxVariants, len(out)*len(values))
				known = false
			}

			if !known {
				return
			}

			var next [][]swept
			for _, set := range out {
				for _, e := range values {
					next = append(next, append(slices.Clone(set), swept{path, resolve(e)}))
				}
			}

			out = next
		})

	case yaml.SequenceNode:
		if len(n.Content) > maxVariants {
			d.fail(n, at, "expected up to %d variants, found %d", maxVariants, len(n.Content))
			return nil, false
		}

		for _, e := range n.Content {
			if e = resolve(e); e.Kind != yaml.MappingNode {
				d.fail(e, at, "expected the settings of a variant, e.g. {loss.beta: 0.5}, found %s", describe(e))
				continue
			}

			var set []swept
			d.eachKey(e, at, func(k, v *yaml.Node) {
				if path, known := d.sweptKey(k, at); known {
					set = append(set, swept{path, resolve(v)})
				}
			})

			out = append(out, set)
		}
	}

	for _, set := range out {
		for i, s := range set {
			if slices.ContainsFunc(set[:i], func(o swept) bool { return o.path == s.path }) {
				d.fail(n, at, "%s is varied twice", s.path)
				return nil, false
			}
		}
	}

	if len(d.errs) == before && (len(out) == 0 || len(out) == 1 && len(out[0]) == 0) {
		d.fail(n, at, "expected keys with the values to try, e.g. {loss.beta: [0, 0.5, 1]}, or a list of variants, "+
			"found none")
	}

	return out, len(d.errs) == before
}

// notSwept are keys that a comparison of variants needs to be the same.
var notSwept = map[string]string{
	"train.seeds": "seeds are compared pair by pair", "train.seed": "seeds are compared pair by pair",
	"train.outcomes": "variants are judged by the same outcomes",
}

// sweptKey returns the whole path of a key, which may be any end of it that no other
// key has.
func (d *decoder) sweptKey(k *yaml.Node, at string) (path string, ok bool) {
	var found []string
	for _, p := range sweptPaths() {
		if p == k.Value {
			found = []string{p}
			break
		}

		if strings.HasSuffix(p, "."+k.Value) {
			found = append(found, p)
		}
	}

	switch {
	case len(found) == 1 && notSwept[found[0]] != "":
		d.fail(k, join(at, k.Value), "%s cannot be varied: %s", found[0], notSwept[found[0]])
	case len(found) == 1:
		return found[0], true
	case len(found) > 1:
		d.fail(k, join(at, k.Value), "expected a key of the experiment, found the end of several: %s; write more of it",
			strings.Join(found, ", "))
	default:
		hint := spelling.DidYouMean(k.Value, sweptPaths())
		if hint == "" {
			hint = spelling.DidYouMean(k.Value, lists.Each(sweptPaths(), func(p string) string { // of as many parts
				parts := strings.Split(p, ".")
				return strings.Join(parts[max(len(parts)-strings.Count(k.Value, ".")-1, 0):], ".")
			}))
		}

		hint = cmp.Or(hint, "; expected the dotted path of a value, e.g. model.hidden, loss.beta, dsp.segments")

		d.fail(k, join(at, k.Value), "unknown key%s", hint)
	}

	return "", false
}

// sweptPaths lists the keys of an experiment that a sweep can vary.
func sweptPaths() []string {
	var out []string
	for _, k := range Keys() {
		p := strings.TrimPrefix(k.Path, "experiments.<name>.")
		section, _, _ := strings.Cut(p, ".")
		if slices.Contains([]string{"ingest", "dsp", "train"}, section) && !strings.Contains(p, "<name>") &&
			!strings.HasPrefix(k.Type, "names with") { // names of the user's own
			out = append(out, p)
		}
	}

	return out
}

// locate returns the field at a path; sections that are not there get their defaults.
func locate(v reflect.Value, path string) (field reflect.Value, choices string) {
	for _, key := range strings.Split(path, ".") {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(section(v.Type()))
			}

			v = v.Elem()
		}

		for _, sf := range fields(v.Type()) {
			if sf.Tag.Get("key") == key {
				v, choices = v.FieldByIndex(sf.Index), enum(sf)
				break
			}
		}
	}

	return v, choices
}

// nameOf is a value in the name of a variant, which is a folder's name, and a part of
// addresses and of labels.
func (d *decoder) nameOf(n *yaml.Node, at string) (text string, ok bool) {
	list := items(n)

	var parts []string
	for _, e := range list {
		if e = resolve(e); e.Kind != yaml.ScalarNode {
			d.fail(e, at, "expected a value, or a list of numbers or names, found %s; vary the keys of a section one by one, "+
				"with dots: model.hidden", describe(e))
			return "", false
		}

		parts = append(parts, e.Value)
	}

	text = strings.Join(parts, "-")
	if len(list) == 0 {
		text = "none"
	}

	safe := func(c rune) bool {
		return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || strings.ContainsRune("._+-", c)
	}
	if text == "" || strings.ContainsFunc(text, func(c rune) bool { return !safe(c) }) || strings.HasSuffix(text, ".") {
		d.fail(n, at, "expected a value of letters, digits and . _ + - that does not end in a dot, because a folder is "+
			"named after it, found %q", text)
		return "", false
	}

	return text, true
}

// shortNames returns for each path its shortest end that no other has.
func shortNames(paths []string) map[string]string {
	out := map[string]string{}
	for _, p := range paths {
		parts := strings.Split(p, ".")
		for i := len(parts) - 1; i >= 0; i-- {
			end := strings.Join(parts[i:], ".")
			out[p] = end
			if !slices.ContainsFunc(paths, func(o string) bool { return o != p && strings.HasSuffix("."+o, "."+end) }) {
				break
			}
		}
	}

	return out
}
