package app

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format"
	"doubletake/pipeline/config"
	"doubletake/pipeline/locate"
	"doubletake/report"
	"doubletake/report/answer/inspect"
	"doubletake/report/answer/predict"
)

// runInspect prints what a file contains: a recording, a table, a model or something else.
func runInspect(c *call) error {
	options := ingest.Options{RateHz: c.Float64("rate"), Format: c.String("format"), Truncated: c.String("truncated")}
	if err := format.Check(options); err != nil {
		return usage("%v", err)
	}

	find := locate.Path
	if filepath.Ext(c.arg(0)) == "" { // the name of a result; files of data have an ending
		find = locate.Result
	}

	path, err := find(c.arg(0))
	if err != nil {
		return err
	}

	description, err := c.describe(path, options)
	if err != nil {
		return unlessConfiguration(path, "a recording, a table or a result, such as runs/EXPERIMENT,", err)
	}

	if err := checkInspected(description, c.String("channel"), c.Bool("values")); err != nil {
		return err
	}

	drawn := noChannel
	if name := c.String("channel"); name != "" {
		drawn, err = findChannel(description, name)
		if err != nil {
			return err
		}
	}

	if c.Bool("values") {
		description.Table.AddValues()
	}

	if c.Bool("json") {
		return printJSON(c.stdout, description)
	}

	printInspection(c.stdout, description, drawn)

	return nil
}

// describe describes the file at path, which the command's argument names. Models come from the session, which reads
// them once.
func (c *call) describe(path string, options ingest.Options) (*inspect.Description, error) {
	models, err := inspect.Models(path, func() (*predict.Models, error) { return c.shared().open(c.arg(0)) })
	if models != nil || err != nil {
		return models, err
	}

	return inspect.File(c.ctx, path, options)
}

// checkInspected returns an error if a flag does not apply to the kind of the file: only a recording has channels, and
// only a table has columns whose values are listed.
func checkInspected(description *inspect.Description, channel string, values bool) error {
	if channel != "" && description.Recording == nil {
		return usage("--channel selects a channel of a recording; %s is a %s", description.Path, description.Kind)
	}

	if values && description.Table == nil {
		return usage("--values lists the values of a table; %s is a %s", description.Path, description.Kind)
	}

	return nil
}

// unlessConfiguration returns the error to print after a file of data could not be read with err. If the file looks
// like a configuration, which has no data, it is an error that says what to name instead. Otherwise it is err.
func unlessConfiguration(path, instead string, err error) error {
	if !config.IsYAML(path) || !exists(path) {
		return err
	}

	return usage("%s: this looks like a configuration; name %s instead, or validate it with pipeline check %[1]s", path,
		instead)
}

// findChannel returns the index of the channel of a recording that has a name.
func findChannel(description *inspect.Description, name string) (int, error) {
	info := ingest.Info{Path: description.Path}
	for _, channel := range description.Recording.Channels {
		info.Channels = append(info.Channels, ingest.Channel{Name: channel.Name})
	}

	return ingest.FindChannel(info, name)
}

const (
	// maxListed is the number of channels, attributes or other things that are printed.
	maxListed = 40
	// maxTableValues is the number of first values of a column that are printed.
	maxTableValues = 3
	// maxCellRunes is the greatest length of a cell that lists such values.
	maxCellRunes = 60
	// noChannel stands for the index of a channel that the user did not name.
	noChannel = -1
)

// firstOf returns the elements of a list that are printed.
func firstOf[T any](list []T) []T { return list[:min(maxListed, len(list))] }

// printRest prints how many elements firstOf leaves out. The format has one verb for this number and the noun.
func printRest[T any](w io.Writer, list []T, noun, format string) {
	if rest := len(list) - maxListed; rest > 0 {
		fmt.Fprintf(w, format, fault.Plural(int64(rest), noun))
	}
}

// printInspection prints the description of a file. drawn is the index of the channel whose spectrum is drawn, or
// noChannel.
func printInspection(w io.Writer, description *inspect.Description, drawn int) {
	fmt.Fprintf(w, "%s: %s, %s\n", description.Path, description.Kind, fault.Plural(description.Bytes, "byte"))

	switch {
	case description.Recording != nil:
		printRecording(w, description.Recording, drawn)
	case description.Table != nil:
		printTable(w, description.Table)
	case description.Model != nil:
		printModel(w, description)
	}

	for _, warning := range description.Warnings {
		fmt.Fprintln(w, "warning:", warning)
	}
}

// number returns a number as a text, or a dash if it is NaN, which means that it is not known.
func number[T ~float64](value T) string {
	if math.IsNaN(float64(value)) {
		return "–"
	}
	return fault.Digits(float64(value), 5)
}

// positive returns a rate or a duration as a text, or a dash if it is 0, which means that it is not known.
func positive(value float64) string {
	if value == 0 {
		return "–"
	}
	return fault.Digits(value, 8)
}

// count returns a whole number as a text.
func count(n int64) string { return strconv.FormatInt(n, 10) }

// printRecording prints the attributes and channels of a recording. It draws the spectrum of the channel drawn, or of
// the first channel that has one if drawn is noChannel. Without a spectrum it prints the first samples of channels.
func printRecording(w io.Writer, recording *inspect.Recording, drawn int) {
	fmt.Fprintf(w, "%s, %s\n", recording.Format, recording.Encoding)

	for _, attribute := range firstOf(recording.Attributes) {
		fmt.Fprintf(w, "  %s: %s\n", attribute.Name, strings.ReplaceAll(attribute.Value, "\n", "; "))
	}

	printRest(w, recording.Attributes, "more attribute", "  … and %s (--json lists all)\n")

	fmt.Fprintln(w)
	printChannels(w, firstOf(recording.Channels))
	printRest(w, recording.Channels, "more channel", "… and %s (--json lists all)\n")

	for _, unread := range firstOf(recording.Unread) {
		fmt.Fprintf(w, "not read: %s: %s\n", unread.Name, unread.Reason)
	}

	printRest(w, recording.Unread, "more part", "… and %s not read\n")

	if drawn == noChannel {
		drawn = slices.IndexFunc(recording.Channels, func(c inspect.Channel) bool { return c.Spectrum != nil })
	}

	if drawn == noChannel || recording.Channels[drawn].Spectrum == nil {
		printSamples(w, recording)
		return
	}

	drawSpectrum(w, recording.Channels[drawn])
}

// printChannels prints a table of channels.
func printChannels(w io.Writer, channels []inspect.Channel) {
	listing := report.Listing{Heads: []string{
		"#", "channel", "unit", "rate Hz", "samples", "duration s", "min", "max", "mean (DC)", "rms", "clipped", "constant",
		"not finite",
	}}

	for i, channel := range channels {
		unit := channel.Unit
		switch {
		case unit == "":
			unit = "–"
		case channel.Converted != "":
			unit += " (" + channel.Converted + ")"
		}

		name := channel.Name
		if channel.Role != "" {
			name += " (" + channel.Role + ")"
		}

		listing.Add(strconv.Itoa(i+1), name, unit, positive(channel.RateHz), count(channel.Samples),
			positive(channel.DurationS), number(channel.Min), number(channel.Max), number(channel.DC), number(channel.RMS),
			count(channel.Clipped), count(channel.Constant), count(channel.NaN))
	}

	listing.Write(w, width(w))
}

// printSamples prints the first samples of the channels that are listed, and how many channels are left out.
func printSamples(w io.Writer, recording *inspect.Recording) {
	listing := report.Listing{Heads: []string{"channel"}}
	for _, channel := range firstOf(recording.Channels) {
		cells := []string{channel.Name}
		for i, sample := range channel.First {
			cells = append(cells, number(sample))
			if len(listing.Heads) < len(cells) {
				listing.Heads = append(listing.Heads, strconv.Itoa(i+1))
			}
		}

		listing.Add(cells...)
	}

	fmt.Fprintln(w, "\nfirst samples:")
	listing.Write(w, width(w))
	printRest(w, recording.Channels, "more channel", "… and of %s (--json lists all)\n")
}

// printTable prints the metadata and the columns of a table.
func printTable(w io.Writer, table *inspect.Table) {
	fmt.Fprintf(w, "%s, %s\n", fault.Plural(int64(table.Rows), "row"), fault.Plural(int64(len(table.Columns)), "column"))

	for _, entry := range table.Metadata {
		if !strings.HasPrefix(entry.Key, "config:") {
			fmt.Fprintf(w, "  %s: %s\n", entry.Key, entry.Value)
		}
	}

	fmt.Fprintln(w)
	listing := report.Listing{Heads: []string{
		"column", "type", "unit", "missing", "distinct", "min", "max", "mean", "first values",
	}}

	for _, column := range table.Columns {
		first := strings.Join(column.First[:min(maxTableValues, len(column.First))], ", ")
		if runes := []rune(first); len(runes) > maxCellRunes {
			first = string(runes[:maxCellRunes-1]) + "…"
		}

		// Some descriptions end with a remark on where the unit comes from, which is printed beside the unit.
		unit := cmp.Or(column.Unit, "–")
		for _, remark := range []string{"converted from ", "derived: "} {
			if i := strings.Index(column.Description, remark); i >= 0 {
				unit += " (" + column.Description[i:] + ")"
			}
		}

		listing.Add(column.Name, column.Type, unit, strconv.Itoa(column.Missing), strconv.Itoa(column.Distinct),
			number(column.Min), number(column.Max), number(column.Mean), first)
	}

	listing.Write(w, width(w))
}

// printModel prints the inputs and outcomes of a model and what it was trained on.
func printModel(w io.Writer, description *inspect.Description) {
	model := description.Model
	fmt.Fprintf(w, "experiment %s, split %s, seed %d: held out %s; %s data, %s pairs, %s\n\n",
		model.Experiment, model.Split, model.Seed, model.HeldOut, model.Data, model.Pairs,
		fault.Plural(int64(model.Triplets), "training triplet"))
	listing := report.Listing{Heads: []string{"", "name", "unit", "trained from", "to"}}
	for _, input := range model.Inputs {
		listing.Add("input", input.Name, input.Unit, fmt.Sprint(input.Min), fmt.Sprint(input.Max))
	}

	for _, outcome := range model.Outcomes {
		listing.Add("outcome", outcome.Name, outcome.Unit)
	}

	listing.Write(w, width(w))
}
