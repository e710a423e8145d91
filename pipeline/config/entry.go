package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/campaign"
	"doubletake/ingest/condition"
	"doubletake/ingest/setting"
	"doubletake/train/experiment"
)

// Entry is an experiment with its place in a file, and with what the command line adds. Its errors name the place.
type Entry struct {
	Experiment
	File  *File   // the file with the experiment
	Key   string  // dotted key of the experiment in the file
	Asked []Split // splits of the command line, in addition to the experiment's own

	index int // place of the experiment in the file
}

// NewEntry returns experiment k of a file.
func NewEntry(f *File, k int) Entry {
	e := f.Experiments[k]
	return Entry{Experiment: e, File: f, Key: "experiments." + e.Name, index: k}
}

// Errorf returns an error about a key of the experiment, such as "ingest.files". If the key belongs to a split of the
// command line, the error names the flag and shows no line of the file.
func (e *Entry) Errorf(key, format string, args ...any) *Error {
	if name := e.askedSplit(key); name != "" {
		return &Error{File: "--held-out " + name, Text: fmt.Sprintf(format, args...)}
	}

	return e.File.Errorf(e.Key+"."+key, format, args...)
}

// Located returns an error about a setting as an error about its key in the configuration. section is the section of
// the experiment that contains the setting, such as ingest or dsp, unless the error names another. Located returns
// other errors unchanged.
func (e *Entry) Located(section string, err error) error {
	bad, ok := errors.AsType[*setting.Error](err)
	if !ok {
		return err
	}

	return e.Errorf(strings.TrimSuffix(cmp.Or(bad.Section, section)+"."+bad.Key, "."), "%s", bad.Text)
}

// Project returns the folder of the experiment, and which keys of its section ingest the user wrote.
func (e *Entry) Project() setting.Project {
	return setting.Project{
		Path: e.File.Path, Dir: e.File.Dir,
		Given: func(key string) bool { return e.File.Has(e.Key + ".ingest." + key) },
	}
}

// askedSplit returns the name of the split of the command line to which a key belongs, or "" if the key belongs to none
// or to a split of the file.
func (e *Entry) askedSplit(key string) string {
	place, isOfSplit := strings.CutPrefix(key, "train.splits.")
	if !isOfSplit || len(e.Asked) == 0 {
		return ""
	}

	if splitAt(e.File.Experiments[e.index].Train.Splits, place) != "" {
		return ""
	}

	return splitAt(e.Asked, place)
}

// splitAt returns the name of the split to which a place belongs: "NAME", "NAME.test", or "CONDITION=VALUE" for a split
// with the key each. It returns "" if no such split exists. If several splits fit, it returns the longest name:
// "rpm=0.5" may be a split, or a place in the split "rpm=0".
func splitAt(splits []Split, place string) string {
	found := ""
	for _, split := range splits {
		isNamed := place == split.Name || strings.HasPrefix(place, split.Name+".")
		startsWith := func(condition string) bool { return strings.HasPrefix(place, condition+"=") }
		isOneValue := slices.ContainsFunc(split.Each, startsWith)
		if (isNamed || isOneValue) && len(split.Name) > len(found) {
			found = split.Name
		}
	}

	return found
}

// Variants returns the variants of the experiment, as the file states them.
func (e *Entry) Variants() Variants {
	if e.File == nil || len(e.File.Experiments) == 0 {
		return Variants{&e.Experiment}
	}

	return e.File.Variants(e.index)
}

// Roles returns the roles that the experiment, its variants and the splits of the command line give to columns.
func (e *Entry) Roles() condition.Roles {
	return e.Variants().Roles(&e.Experiment, e.Asked)
}

// Inventory returns the inventory of the experiment's campaign, without files.
func (e *Entry) Inventory() *campaign.Inventory {
	inventory := campaign.NewInventory(e.Ingest, e.Project())
	inventory.Settings.Exclude = e.Exclusions()
	inventory.Roles = e.Roles()
	inventory.Inputs = e.Variants().Inputs()
	inventory.Mentions = e.Mentions

	return inventory
}

// TakeNames removes the labels, which are columns of names, from the network's inputs and adds them to the things,
// whose offsets the process of the intervals models. It returns a warning that explains this, or nil if no input is a
// column of names. If TakeNames returns an error, the experiment is unchanged.
func (e *Entry) TakeNames(labels []string) ([]ingest.Warning, error) {
	across, _ := e.Across()
	numbers, names, err := experiment.NumbersAndNames(e.Train.Inputs, labels, e.Train.Honest.Base, across)
	if err != nil || len(names) == 0 {
		return nil, e.Located("train", err)
	}

	declared := e.Roles().Declared()
	isDeclared := func(name string) bool { return slices.Contains(declared, name) }
	undeclared := slices.DeleteFunc(slices.Clone(names), isDeclared)
	e.Train.Inputs = numbers
	e.Ingest.Things = slices.Concat(e.Ingest.Things, undeclared)
	text := fmt.Sprintf("%s: the calibrated predictions count what was measured of each %s; the network sees %s alone",
		e.Name, strings.Join(names, " and "), strings.Join(numbers, ", "))

	return []ingest.Warning{{Path: e.File.Path, Code: "names-as-inputs", Text: text}}, nil
}
