package config

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"doubletake/ingest/spelling"
)

// maxVariants is the largest number of variants of one experiment. Each is trained for each split and seed.
const maxVariants = 200

// Sweep varies settings of an experiment: it tries every combination of the values of a mapping, or each mapping of a
// list.
//
// Reading replaces the experiment by its variants. The method sweep of decoder reads the settings of each variant. The
// method variants decodes the experiment anew for each variant, and then the variant's settings into it. A variant is
// named after its settings, so that its name tells it apart in folders, addresses and labels.
type Sweep struct{ node *yaml.Node }

// Select states how one variant of a sweep is chosen without the held-out outcomes.
type Select struct {
	// the score of the left-out groups: nll (where not given), crps, rmse, or ratio (|ln Σe/Σv̂|)
	Score string `key:"by" enum:"nll|crps|rmse|ratio"`

	// the condition whose values are the groups
	Condition string `key:"on"`
}

// Variant describes how a variant of a sweep differs from its experiment.
type Variant struct {
	Experiment string // the experiment with the sweep
	Settings   []VariantSetting
}

// VariantSetting is one setting that a variant has instead of its experiment's.
type VariantSetting struct {
	Path  string // dotted, from the experiment: train.loss.beta
	Name  string // the shortest end of Path that no other path of the sweep has: beta
	Value string // as in the variant's name: 0.5, or 64-64 for a list
}

// sectionsOf contains the sections of an experiment on which the results of a stage depend. The results of stages that
// are not in it depend on all sections.
var sectionsOf = map[string][]string{
	"simulate": {"ingest"}, "ingest": {"ingest"}, "dsp": {"ingest", "dsp"},
}

// Owner returns the name under which the results of a stage are kept. Variants that differ only in settings of later
// stages share the name, and so the results.
func (e *Experiment) Owner(stage string) string {
	if e.Variant == nil {
		return e.Name
	}

	sections := sectionsOf[stage]
	if sections == nil {
		return e.Name
	}

	var settings []VariantSetting
	for _, s := range e.Variant.Settings {
		if section, _, _ := strings.Cut(s.Path, "."); slices.Contains(sections, section) {
			settings = append(settings, s)
		}
	}

	return variantName(e.Variant.Experiment, settings)
}

// Family returns the name of the experiment in the file, which the variants of a sweep share.
func (e *Experiment) Family() string {
	if e.Variant != nil {
		return e.Variant.Experiment
	}
	return e.Name
}

// variantName returns the name of a variant with these settings, such as drone/beta=0.5,hidden=64-64.
func variantName(experiment string, settings []VariantSetting) string {
	if len(settings) == 0 {
		return experiment
	}

	var texts []string
	for _, v := range settings {
		texts = append(texts, v.Name+"="+v.Value)
	}

	return experiment + "/" + strings.Join(texts, ",")
}

// decodeNode stores the node, which is decoded when the whole experiment is known.
func (s *Sweep) decodeNode(_ *decoder, node *yaml.Node, _ string) { s.node = node }

// swept is a setting of a variant: the dotted path of a key, and the value in the file.
type swept struct {
	path string
	node *yaml.Node
}

// variants returns the variants of an experiment with a sweep, which node and key locate in the file. If it reports a
// fault, it returns nil or the variants before the fault: the caller then uses none of them.
func (d *decoder) variants(experiment Experiment, node *yaml.Node, key string) []Experiment {
	sweepKey := key + ".sweep"
	sets, ok := d.sweep(followAlias(experiment.Sweep.node), sweepKey)
	if !ok {
		return nil
	}

	paths := pathsOf(sets)
	names := shortNames(paths)
	var list []Experiment
	same := map[string]string{} // the variant with a name, or with certain settings
	for _, set := range sets {
		difference, ok := d.difference(experiment.Name, set, names, sweepKey)
		if !ok {
			return nil
		}

		variant, ok := d.vary(difference, set, node, key)
		if !ok {
			return list // the other variants would repeat the fault
		}

		if len(folderOf(variant.Name)) > maxFolderName {
			d.fail(experiment.Sweep.node, sweepKey, "the variant %q has a name of more than %d characters, too long for a "+
				"folder; sweep fewer keys at a time", variant.Name, maxFolderName)

			return list
		}

		for _, mark := range []string{fmt.Sprint(Flatten("", variant)), strings.ToLower(variant.Name)} {
			if first, ok := same[mark]; ok {
				d.fail(experiment.Sweep.node, sweepKey, "the variants %q and %q are the same; leave one out", first, variant.Name)
				return list
			}

			same[mark] = variant.Name
		}

		list = append(list, variant)
	}

	if len(list) == 1 {
		d.fail(experiment.Sweep.node, sweepKey, "expected two variants or more, found one; add a value, or write %s into "+
			"the experiment and leave the sweep out", paths[0])
	}

	return list
}

// pathsOf returns the distinct paths of the settings in several sets, in the order of their first use.
func pathsOf(sets [][]swept) []string {
	var paths []string
	for _, setting := range slices.Concat(sets...) {
		if !slices.Contains(paths, setting.path) {
			paths = append(paths, setting.path)
		}
	}

	return paths
}

// difference returns how the variant with the given settings differs from its experiment. names holds the short name of
// each path. difference returns false if a value cannot be part of a name, and reports the value at key.
func (d *decoder) difference(experiment string, set []swept, names map[string]string, key string) (*Variant, bool) {
	difference := &Variant{Experiment: experiment}
	for _, setting := range set {
		text, ok := d.nameOf(setting.node, key)
		if !ok {
			return nil, false
		}

		difference.Settings = append(difference.Settings, VariantSetting{setting.path, names[setting.path], text})
	}

	return difference, true
}

// vary returns a variant of the experiment that node and key locate in the file. It decodes the experiment, and then
// the settings of the variant into it. It returns false if it reports a fault.
func (d *decoder) vary(difference *Variant, set []swept, node *yaml.Node, key string) (variant Experiment, ok bool) {
	variant = defaultExperiment()
	again := &decoder{file: d.file, lines: d.lines, where: map[string]pos{}} // drops the faults: d has reported them
	again.decode(node, key, reflect.ValueOf(&variant).Elem(), "")
	variant.Sweep = Sweep{}
	variant.Variant = difference
	variant.Name = variantName(difference.Experiment, difference.Settings)
	if len(set) == 0 {
		variant.Name += "/default"
	}

	own := "experiments." + variant.Name
	d.variant[own] = key
	for _, setting := range set {
		field, choices := locate(reflect.ValueOf(&variant).Elem(), setting.path)
		faults := len(d.errs)
		d.decode(setting.node, own+"."+setting.path, field, choices)

		if len(d.errs) > faults {
			return variant, false
		}

		d.where[own+"."+setting.path] = pos{setting.node.Line, setting.node.Column}
	}

	return variant, true
}

// validate reports faults of the section select, which is at key.
func (s Select) validate(e *Experiment, key string, fail failFunc) {
	switch {
	case e.Variant == nil:
		fail(key, "chooses among the variants of a sweep; expected sweep: {KEY: [VALUE, VALUE]} too, found none")
	case s.Condition == "":
		fail(key, "expected on: CONDITION, whose values are left out of the training set one after the other, found none")
	}
}

// maxFolderName is the length of a folder's name, in bytes, that all common file systems allow, with room for endings.
const maxFolderName = 200

// folderOf returns the last part of a variant's name, after which its folder is named.
func folderOf(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

// sweep reads the settings of each variant from the value of the key sweep. It returns false if it reports a fault.
func (d *decoder) sweep(node *yaml.Node, key string) (sets [][]swept, ok bool) {
	faults := len(d.errs)
	switch node.Kind {
	case yaml.MappingNode:
		sets = d.combinations(node, key)
	case yaml.SequenceNode:
		sets = d.listedVariants(node, key)
	}

	for _, set := range sets {
		if path := repeatedPath(set); path != "" {
			d.fail(node, key, "%s is varied twice", path)
			return nil, false
		}
	}

	isEmpty := len(sets) == 0 || len(sets) == 1 && len(sets[0]) == 0
	if len(d.errs) == faults && isEmpty {
		d.fail(node, key, "expected keys with the values to try, e.g. {loss.beta: [0, 0.5, 1]}, or a list of variants, "+
			"found none")
	}

	return sets, len(d.errs) == faults
}

// combinations returns every combination of the values of a mapping; the values of the last key vary fastest.
func (d *decoder) combinations(mapping *yaml.Node, key string) [][]swept {
	sets := [][]swept{nil}
	for name, value := range d.entries(mapping, key) {
		path, ok := d.sweptKey(name, key)
		value = followAlias(value)
		values := items(value)
		if len(values) == 0 {
			d.fail(value, join(key, name.Value), "expected at least one value, found an empty list")
		}

		if !ok {
			continue
		}

		if len(sets)*len(values) > maxVariants {
			d.fail(name, key, "expected up to %d variants, found at least %d; sweep fewer values, or list the variants",
				maxVariants, len(sets)*len(values))

			continue
		}

		var longer [][]swept
		for _, set := range sets {
			for _, v := range values {
				longer = append(longer, append(slices.Clone(set), swept{path, followAlias(v)}))
			}
		}

		sets = longer
	}

	return sets
}

// listedVariants returns the settings of each mapping in a list.
func (d *decoder) listedVariants(list *yaml.Node, key string) [][]swept {
	if len(list.Content) > maxVariants {
		d.fail(list, key, "expected up to %d variants, found %d", maxVariants, len(list.Content))
		return nil
	}

	var sets [][]swept
	for _, variant := range list.Content {
		variant = followAlias(variant)
		if variant.Kind != yaml.MappingNode {
			d.fail(variant, key, "expected the settings of a variant, e.g. {loss.beta: 0.5}, found %s", describe(variant))
			continue
		}

		var set []swept
		for name, value := range d.entries(variant, key) {
			if path, ok := d.sweptKey(name, key); ok {
				set = append(set, swept{path, followAlias(value)})
			}
		}

		sets = append(sets, set)
	}

	return sets
}

// repeatedPath returns the first path that occurs twice in a set of settings, or "" if there is none.
func repeatedPath(set []swept) string {
	seen := map[string]bool{}
	for _, setting := range set {
		if seen[setting.path] {
			return setting.path
		}

		seen[setting.path] = true
	}

	return ""
}

// notSwept holds the keys that all variants of a comparison must share, with the reason.
var notSwept = map[string]string{
	"train.seeds": "seeds are compared pair by pair", "train.seed": "seeds are compared pair by pair",
	"train.outcomes": "variants are judged by the same outcomes",
}

// sweptKey returns the whole path of a key of the sweep at section. The key may be any end of the path that no other
// path has. sweptKey returns false if it reports a fault.
func (d *decoder) sweptKey(node *yaml.Node, section string) (path string, ok bool) {
	var found []string
	for _, p := range sweptPaths() {
		if p == node.Value {
			found = []string{p}
			break
		}

		if strings.HasSuffix(p, "."+node.Value) {
			found = append(found, p)
		}
	}

	switch {
	case len(found) == 1 && notSwept[found[0]] != "":
		d.fail(node, join(section, node.Value), "%s cannot be varied: %s", found[0], notSwept[found[0]])
	case len(found) == 1:
		return found[0], true
	case len(found) > 1:
		d.fail(node, join(section, node.Value), "expected a key of the experiment, found the end of several: %s; "+
			"write more of it", strings.Join(found, ", "))
	default:
		hint := spelling.DidYouMean(node.Value, sweptPaths())
		if hint == "" {
			hint = spelling.DidYouMean(node.Value, endsOf(sweptPaths(), strings.Count(node.Value, ".")+1))
		}

		hint = cmp.Or(hint, "; expected the dotted path of a value, e.g. model.hidden, loss.beta, dsp.segments")

		d.fail(node, join(section, node.Value), "unknown key%s", hint)
	}

	return "", false
}

// endsOf returns the end of each path, of the given number of parts.
func endsOf(paths []string, parts int) []string {
	ends := make([]string, len(paths))
	for i, p := range paths {
		all := strings.Split(p, ".")
		ends[i] = strings.Join(all[max(len(all)-parts, 0):], ".")
	}

	return ends
}

// sweptPaths lists the keys of an experiment that a sweep can vary.
func sweptPaths() []string {
	var paths []string
	for _, k := range Keys() {
		path := strings.TrimPrefix(k.Path, "experiments.<name>.")
		section, _, _ := strings.Cut(path, ".")
		isVaried := slices.Contains([]string{"ingest", "dsp", "train"}, section)
		hasUserNames := strings.Contains(path, "<name>") || strings.HasPrefix(k.Type, "names with")
		if isVaried && !hasUserNames {
			paths = append(paths, path)
		}
	}

	return paths
}

// locate returns the field of the struct v at a path, and the texts that it may have, as enum does. It creates optional
// sections on the way, with their defaults.
func locate(v reflect.Value, path string) (field reflect.Value, choices string) {
	for _, key := range strings.Split(path, ".") {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(newSection(v.Type()))
			}

			v = v.Elem()
		}

		for _, sf := range fields(v.Type()) {
			if sf.Tag.Get("key") == key {
				v = v.FieldByIndex(sf.Index)
				choices = enum(sf)
				break
			}
		}
	}

	return v, choices
}

// nameOf writes a value as a part of a variant's name, which is the name of a folder and a part of
// addresses and of labels. It returns false if it reports a fault at key.
func (d *decoder) nameOf(node *yaml.Node, key string) (text string, ok bool) {
	list := items(node)

	var parts []string
	for _, e := range list {
		e = followAlias(e)
		if e.Kind != yaml.ScalarNode {
			d.fail(e, key, "expected a value, or a list of numbers or names, found %s; vary the keys of a section one by one, "+
				"with dots: model.hidden", describe(e))
			return "", false
		}

		parts = append(parts, e.Value)
	}

	text = strings.Join(parts, "-")
	if len(list) == 0 {
		text = "none"
	}

	if text == "" || strings.ContainsFunc(text, isSpecial) || strings.HasSuffix(text, ".") {
		d.fail(node, key, "expected a value of letters, digits and . _ + - that does not end in a dot, because a folder is "+
			"named after it, found %q", text)
		return "", false
	}

	return text, true
}

// isSpecial reports whether a character is neither a letter, a digit nor one of ._+-.
func isSpecial(c rune) bool {
	letter := c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
	digit := c >= '0' && c <= '9'

	return !letter && !digit && !strings.ContainsRune("._+-", c)
}

// shortNames returns for each path its shortest end that is not the end of another path.
func shortNames(paths []string) map[string]string {
	names := map[string]string{}
	for _, p := range paths {
		parts := strings.Split(p, ".")
		for i := len(parts) - 1; i >= 0; i-- {
			end := strings.Join(parts[i:], ".")
			names[p] = end
			if !isEndOfOther(paths, p, end) {
				break
			}
		}
	}

	return names
}

// isEndOfOther reports whether a path other than own ends with these keys.
func isEndOfOther(paths []string, own, end string) bool {
	for _, p := range paths {
		if p != own && strings.HasSuffix("."+p, "."+end) {
			return true
		}
	}

	return false
}
