package app

import (
	_ "embed"
	"math"
	"path"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"doubletake/docs"
	"doubletake/internal/lists"
	"doubletake/pipeline"
	"doubletake/report"
)

// commandsText describes the commands; its first lines state the form.
//
//go:embed commands.txt
var commandsText string

// subcommand is one of the program's.
type subcommand struct {
	name, args, usage, description string
	least, most                    int // of arguments
	flags                          []option
	do                             func(*call) error
}

// option is a flag of a command.
type option struct {
	name, usage string
	kind        string   // "" of a switch
	value       string   // where it is not given
	choices     []string // all values, where there are a few
}

// kinds of flags, with the values they take. A number is above from and below to.
var kinds = map[string]struct {
	want     string
	from, to float64
}{
	"": {want: "is true or false"}, "text": {}, "list": {}, "each": {},
	"whole":   {want: "wants a whole number"},
	"natural": {want: "wants a whole number, not negative"},
	"number":  {"wants a number", math.Inf(-1), math.Inf(1)},
	"share":   {"wants a number between 0 and 1", 0, 1},
	"level":   {"wants a number above 0.5 and below 1", 0.5, 1},
}

// A number without a default has none in the help, where the library would print 0.
func init() {
	text := cli.FlagStringer
	cli.FlagStringer = func(f cli.Flag) string { return strings.TrimSuffix(text(f), " (default: 0)") }
}

// flag is the library's flag of an option.
func (o *option) flag() cli.Flag {
	switch o.kind {
	case "":
		return &cli.BoolFlag{Name: o.name, Usage: o.usage, DisableDefaultText: true}
	case "list":
		return &cli.StringSliceFlag{Name: o.name, Usage: o.usage}
	case "each":
		return &cli.GenericFlag{Name: o.name, Usage: o.usage, Value: &values{}}
	case "whole":
		n, _ := strconv.Atoi(o.value)
		return &cli.IntFlag{Name: o.name, Usage: o.usage, Value: n}
	case "natural":
		return &cli.Uint64Flag{Name: o.name, Usage: o.usage}
	case "number", "share", "level":
		v, _ := strconv.ParseFloat(o.value, 64)
		return &cli.Float64Flag{Name: o.name, Usage: o.usage, Value: v}
	}

	return &cli.StringFlag{Name: o.name, Usage: o.usage, Value: o.value}
}

// values collects a flag's values as they are, commas included.
type values []string

func (v *values) Set(s string) error { *v = append(*v, s); return nil }
func (v *values) String() string     { return strings.Join(*v, " ") }

// commands are those of commands.txt.
func commands() []*subcommand {
	topics := docs.Paths()
	for i, p := range topics {
		topics[i] = strings.TrimSuffix(path.Base(p), ".md")
	}

	var inSpec, inProse []string
	for name, list := range map[string][]string{
		"stages": pipeline.Stages(), "executors": pipeline.Executors(), "schedulers": pipeline.Schedulers(),
		"exports": exportFormats(), "plots": report.PlotFormats(), "topics": topics,
	} {
		inSpec = append(inSpec, "{"+name+"}", strings.Join(list, "|"))
		inProse = append(inProse, "{"+name+"}", strings.Join(list, ", "))
	}

	spec, prose := strings.NewReplacer(inSpec...), strings.NewReplacer(inProse...)
	groups, do := map[string][]option{}, actions()

	var out []*subcommand
	for _, section := range strings.Split(commandsText, "\n# ")[1:] {
		head, rest, _ := strings.Cut(section, "\n")
		usage, rest, _ := strings.Cut(rest, "\n\n")
		c := &subcommand{usage: usage}
		c.name, c.args, _ = strings.Cut(head, " ")
		c.do = do[c.name]

		for _, w := range strings.Fields(c.args) {
			if c.most++; !strings.HasPrefix(w, "[") {
				c.least++
			}
			if strings.HasSuffix(strings.Trim(w, "]"), "…") {
				c.most = math.MaxInt
			}
		}

		var text []string
		for line := range strings.Lines(rest) {
			line = strings.TrimSuffix(line, "\n")
			switch flag := strings.TrimPrefix(line, "  "); {
			case flag == line:
				text = append(text, line)
			case flag[0] == '@':
				c.flags = append(c.flags, groups[flag]...)
			default:
				form, meaning, _ := strings.Cut(flag, ": ")
				c.flags = append(c.flags, readOption(spec.Replace(form), prose.Replace(meaning)))
			}
		}

		c.description = strings.TrimSpace(prose.Replace(strings.Join(text, "\n")))
		if groups[c.name] = c.flags; c.name[0] != '@' {
			out = append(out, c)
		}
	}

	return out
}

// readOption reads --NAME [KIND] [CHOICES] [= DEFAULT].
func readOption(form, meaning string) option {
	form, value, _ := strings.Cut(form, " = ")
	words := strings.Fields(form)
	o := option{name: strings.TrimPrefix(words[0], "--"), usage: meaning, value: value}

	for _, w := range words[1:] {
		if _, ok := kinds[w]; ok {
			o.kind = w
		} else {
			o.choices = strings.Split(w, "|")
		}
	}

	if len(o.choices) > 0 && o.kind == "" {
		o.kind = "text"
	}

	return o
}

// find returns the command of a name, nil if there is none.
func find(list []*subcommand, name string) *subcommand {
	c, _ := lists.Find(list, func(c *subcommand) bool { return c.name == name })
	return c
}

// line is the form of a command's line.
func (cmd *subcommand) line() string {
	return strings.TrimSpace("pipeline " + cmd.name + " [flags] " + cmd.args)
}

// paragraphs are the description's, with the examples, and without the exit status, which all
// commands have in common on a page.
func (cmd *subcommand) paragraphs(example func(line string), text func(paragraph string)) {
	for _, p := range strings.Split(cmd.description, "\n\n") {
		if line, ok := strings.CutPrefix(p, "Example: "); ok {
			example(line)
		} else if p != "" && !strings.HasPrefix(p, "Exit status") {
			text(p)
		}
	}
}

const (
	about    = "turn raw measurements into models that state their own uncertainty"
	statuses = "0 success, 1 a stage failed, 2 usage or configuration error, 3 input data error, 130 interrupted."
)
