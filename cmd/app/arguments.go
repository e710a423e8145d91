package app

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"doubletake/docs"
	"doubletake/ingest/spelling"
	"doubletake/internal/lists"
)

// call is a command with what its line gives.
type call struct {
	*cli.Context
	ctx            context.Context
	args           []string
	stdout, stderr io.Writer
}

// arrange puts flags before arguments, because the library stops looking for flags at the first argument:
// `pipeline run FILE --stage train` would silently drop --stage. What is no flag, argument or value
// of a flag is a *pipeline.UsageError.
func arrange(list []*subcommand, words []string) ([]string, error) {
	if len(words) == 0 {
		return nil, nil
	}

	name, rest := words[0], words[1:]
	switch name {
	case "-h", "--help":
		return []string{"--help"}, nil
	case "--version", "-version":
		name, rest = "version", nil
	case "help", "h":
		if len(rest) == 0 || rest[0] == "help" {
			return []string{"--help"}, nil
		}

		name = "help"
		if _, ok := docs.FindPage(rest[0]); !ok {
			name, rest = rest[0], []string{"--help"}
		}
	}

	if cmd := find(list, name); cmd != nil {
		return cmd.arrange(rest)
	}

	if why := former[name]; why != "" {
		return nil, usage("pipeline %s went in 0.2.0: %s", name, why)
	}

	names := lists.Each(list, func(c *subcommand) string { return c.name })
	known := strings.Join(names, ", ")
	if strings.HasPrefix(name, "-") {
		return nil, usage("expected a command before %s: pipeline COMMAND [flags] [FILE]; the commands are %s", name, known)
	}

	return nil, usage("unknown command %q%s; the commands are %s", name, hint(name, names), known)
}

// former are commands, flags and values of flags of earlier versions, with what takes their place.
var former = map[string]string{
	"completion":             "shells complete the names of files, pipeline help lists commands and flags",
	"predict --details":      "--csv has the parts of the variance, --json and the page have the left-out groups",
	"predict --calibrated":   "the calibrated prediction needs no flag",
	"suggest --config":       "--cost and --budget state what measurements cost",
	"suggest --by":           "candidates are ranked by what the split has: its calibrated process, model, or networks",
	"plot --xlim":            "draw the CSV beside the figure with other limits",
	"plot --ylim":            "draw the CSV beside the figure with other limits",
	"plot --polar":           "the page draws directivities in polar coordinates (Explore, Polar view) and saves them",
	"exec --index":           "--task names a task, --part takes a share of a stage",
	"inspect --calibrator":   "pipeline check examines the recordings of ingest: {calibration: {calibrator: …}}",
	"export --format mat":    "MATLAB reads csv and parquet (readtable, parquetread)",
	"export --format npz":    "NumPy and pandas read csv, pandas parquet too",
	"tasks --format torque":  "nobody could try it; pbs writes scripts for OpenPBS and PBS Professional",
	"tasks --format dot":     "json has the needs of each task",
	"tasks --format mermaid": "json has the needs of each task",
}

// arrange does so with the words of a command. Everything after "--" is an argument.
func (cmd *subcommand) arrange(words []string) ([]string, error) {
	flags, args := []string{cmd.name}, []string{"--"}
	for i := 0; i < len(words); i++ {
		w := words[i]
		if w == "--" {
			args = append(args, words[i+1:]...)
			break
		}

		if !strings.HasPrefix(w, "-") {
			args = append(args, w)
			continue
		}

		key, value, has := strings.Cut(strings.TrimLeft(w, "-"), "=")
		if key == "help" || key == "h" {
			return []string{cmd.name, "--help"}, nil
		}

		if w == "-" || isNumber(w) {
			return nil, usage("%q begins with \"-\" but is no flag of pipeline %s; if a file is meant, write ./%s", w, cmd.name,
				w)
		}

		o, err := cmd.option(w, key)
		if err != nil {
			return nil, err
		}

		if o.kind == "" && !has {
			value = "true"
		} else if !has {
			if i++; i == len(words) {
				return nil, usage("--%s of pipeline %s wants a value, found the end of the line", key, cmd.name)
			}

			if value = words[i]; strings.HasPrefix(value, "-") && !isNumber(value) {
				return nil, usage("--%s of pipeline %s wants a value, found %s; if that is the value, write --%s=%s", key, cmd.name,
					value, key, value)
			}
		}

		if err := cmd.check(o, value); err != nil {
			return nil, err
		}

		flags = append(flags, "--"+key+"="+value)
	}

	return append(flags, args...), nil
}

// start runs the command if the number of arguments is right.
func (cmd *subcommand) start(c *call) error {
	if n := len(c.args); n < cmd.least || n > cmd.most {
		if cmd.most == 0 {
			return usage("pipeline %s takes no arguments, found %q", cmd.name, c.args)
		}

		return usage("pipeline %s takes %s, found %q", cmd.name, cmd.args, c.args)
	}

	if c.Bool("json") && c.Bool("csv") {
		return usage("pipeline %s: --json and --csv exclude each other", cmd.name)
	}

	return cmd.do(c)
}

func isNumber(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil
}

func hint(s string, known []string) string {
	if n := spelling.Meant(s, known); n != "" {
		return fmt.Sprintf(", did you mean %q?", n)
	}
	return ""
}

// option returns the flag of a name; word has it as it was written.
func (cmd *subcommand) option(word, name string) (*option, error) {
	var known []string
	for i := range cmd.flags {
		if cmd.flags[i].name == name {
			return &cmd.flags[i], nil
		}
		known = append(known, cmd.flags[i].name)
	}

	if why := former[cmd.name+" --"+name]; why != "" {
		return nil, usage("--%s of pipeline %s went with version 0.2: %s", name, cmd.name, why)
	}

	near := "pipeline " + cmd.name + " --help lists them"
	if n := spelling.Meant(name, append(known, "help")); n != "" {
		near = fmt.Sprintf("did you mean --%s?", n)
	}

	word, _, _ = strings.Cut(word, "=")

	return nil, usage("unknown flag %s of pipeline %s; %s", word, cmd.name, near)
}

// check reports a value that the flag does not take.
func (cmd *subcommand) check(o *option, value string) error {
	set := flag.NewFlagSet(cmd.name, flag.ContinueOnError)
	err := cmp.Or(o.flag().Apply(set), set.Set(o.name, value))
	kind := kinds[o.kind]
	v, _ := strconv.ParseFloat(value, 64)

	switch {
	case err != nil || kind.from < kind.to && !(kind.from < v && v < kind.to):
		return usage("--%s of pipeline %s %s, found %q", o.name, cmd.name, kind.want, value)
	case value == "":
		return usage("--%s of pipeline %s wants a value, found nothing after =", o.name, cmd.name)
	case o.kind == "text" && len(o.choices) > 0 && !slices.Contains(o.choices, value):
		near := hint(value, o.choices)
		if why := former[cmd.name+" --"+o.name+" "+value]; why != "" {
			near = ", which went with version 0.2: " + why
		}

		return usage("--%s of pipeline %s wants %s, found %q%s", o.name, cmd.name, strings.Join(o.choices, ", "), value, near)
	}

	return nil
}

// arg is the argument of that number from 0, "" without one.
func (c *call) arg(i int) string {
	if i < len(c.args) {
		return c.args[i]
	}
	return ""
}

// file is the FILE, pipeline.yaml without one.
func (c *call) file() string {
	if len(c.args) > 0 {
		return c.args[0]
	}
	return "pipeline.yaml"
}

// experiments returns the names given with --experiment. Commas separate names,
// except within the name of a variant, where they separate its settings.
func (c *call) experiments() []string {
	var out []string
	for _, s := range c.StringSlice("experiment") {
		last := len(out) - 1
		if last >= 0 && strings.Contains(out[last], "/") && strings.Contains(s, "=") && !strings.Contains(s, "/") {
			out[last] += "," + s
			continue
		}

		out = append(out, s)
	}

	return out
}
