package app

import (
	_ "embed"
	"math"
	"path"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"doubletake/docs"
	"doubletake/pipeline"
	"doubletake/report"
	"doubletake/report/answer/export"
)

// commandsText describes the commands; its first lines state the form.
//
//go:embed commands.txt
var commandsText string

// subcommand is a command of the program.
type subcommand struct {
	name        string
	args        string // the arguments, such as "RUN [RUN]"
	usage       string // what the command is for, in one line
	description string // paragraphs of the help
	least       int    // number of arguments that it takes at least
	most        int    // number of arguments that it takes at most
	flags       []option
	do          func(*call) error // runs the command
}

// option is a flag of a command.
type option struct {
	name    string   // without hyphens
	usage   string   // its meaning
	kind    string   // the name of its kind in kinds; "" for a switch
	value   string   // the default
	choices []string // all values, if there are a few
}

// kind says which values a flag takes.
type kind struct {
	want   string  // what a message asks for
	limits *limits // the range of a number; nil if every number is allowed
}

// limits are the numbers between which a value must lie. They themselves are not allowed.
type limits struct{ above, below float64 }

// allows reports whether a value is within the limits. The library checks whether it is a number.
func (k kind) allows(value string) bool {
	if k.limits == nil {
		return true
	}

	number, _ := strconv.ParseFloat(value, 64) // 0 if it is not a number, infinite if it is too large

	return k.limits.above < number && number < k.limits.below
}

// kinds are the kinds of flags by their names in commands.txt.
var kinds = map[string]kind{
	"":        {want: "is true or false"},
	"text":    {},
	"list":    {},
	"each":    {},
	"whole":   {want: "wants a whole number"},
	"natural": {want: "wants a whole number, not negative"},
	"number":  {want: "wants a number", limits: &limits{math.Inf(-1), math.Inf(1)}},
	"share":   {want: "wants a number between 0 and 1", limits: &limits{0, 1}},
	"level":   {want: "wants a number above 0.5 and below 1", limits: &limits{0.5, 1}},
}

// init keeps the library from printing a default of 0 in the help of numbers that have no default. It lets all flags
// begin with two hyphens.
func init() {
	text := cli.FlagStringer
	cli.FlagStringer = func(f cli.Flag) string {
		line := strings.TrimSuffix(text(f), " (default: 0)")
		if !strings.HasPrefix(line, "--") {
			line = "-" + line // the library writes flags of one letter with one hyphen
		}

		return line
	}
}

// flag returns the option as a flag of the library.
func (o *option) flag() cli.Flag {
	switch o.kind {
	case "":
		return &cli.BoolFlag{Name: o.name, Usage: o.usage, DisableDefaultText: true}
	case "list":
		return &cli.StringSliceFlag{Name: o.name, Usage: o.usage}
	case "each":
		return &cli.GenericFlag{Name: o.name, Usage: o.usage, Value: &values{}}
	case "whole":
		value, _ := strconv.Atoi(o.value)
		return &cli.IntFlag{Name: o.name, Usage: o.usage, Value: value}
	case "natural":
		return &cli.Uint64Flag{Name: o.name, Usage: o.usage}
	case "number", "share", "level":
		value, _ := strconv.ParseFloat(o.value, 64)
		return &cli.Float64Flag{Name: o.name, Usage: o.usage, Value: value}
	}

	return &cli.StringFlag{Name: o.name, Usage: o.usage, Value: o.value}
}

// values collects a flag's values as they are, commas included. It implements cli.Generic.
type values []string

// Set appends a value.
func (v *values) Set(s string) error { *v = append(*v, s); return nil }

// String returns all values, with spaces in between.
func (v *values) String() string { return strings.Join(*v, " ") }

// commands returns the commands that commands.txt describes.
func commands() []*subcommand {
	words := newPlaceholders()
	do := actions()
	groups := map[string][]option{} // the flags of each section, for lines that refer to them as @NAME

	var list []*subcommand
	for _, section := range strings.Split(commandsText, "\n# ")[1:] {
		cmd := readCommand(section, words, groups)
		cmd.do = do[cmd.name]
		groups[cmd.name] = cmd.flags

		isGroup := cmd.name[0] == '@'
		if !isGroup {
			list = append(list, cmd)
		}
	}

	return list
}

// readCommand reads a section of commands.txt: a command, or a group of flags, whose name begins with @. groups has the
// flags of the groups before it.
func readCommand(section string, words placeholders, groups map[string][]option) *subcommand {
	cmd := &subcommand{}
	head, rest, _ := strings.Cut(section, "\n")
	cmd.name, cmd.args, _ = strings.Cut(head, " ")
	cmd.usage, rest, _ = strings.Cut(rest, "\n\n")
	cmd.countArguments()

	var text []string
	for line := range strings.Lines(rest) {
		line = strings.TrimSuffix(line, "\n")
		flag, isFlag := strings.CutPrefix(line, "  ")
		switch {
		case !isFlag:
			text = append(text, line)
		case flag[0] == '@':
			cmd.flags = append(cmd.flags, groups[flag]...)
		default:
			form, meaning, _ := strings.Cut(flag, ": ")
			cmd.flags = append(cmd.flags, readOption(words.inForm.Replace(form), words.inProse.Replace(meaning)))
		}
	}

	cmd.description = strings.TrimSpace(words.inProse.Replace(strings.Join(text, "\n")))

	return cmd
}

// placeholders replace words of commands.txt such as {stages} by the lists for which they stand.
type placeholders struct {
	inForm  *strings.Replacer // within the form of a flag: a|b|c
	inProse *strings.Replacer // elsewhere: a, b, c
}

// topics returns the names of the documents, which pipeline help shows.
func topics() []string {
	names := docs.Paths()
	for i, name := range names {
		names[i] = strings.TrimSuffix(path.Base(name), ".md")
	}

	return names
}

// newPlaceholders returns the placeholders with the lists of this program and its extensions.
func newPlaceholders() placeholders {
	var inForm, inProse []string
	for name, values := range map[string][]string{
		"stages": pipeline.Stages(), "executors": pipeline.Executors(), "schedulers": pipeline.Schedulers(),
		"exports": export.Formats(), "plots": report.PlotFormats(), "topics": topics(),
	} {
		inForm = append(inForm, "{"+name+"}", strings.Join(values, "|"))
		inProse = append(inProse, "{"+name+"}", strings.Join(values, ", "))
	}

	return placeholders{inForm: strings.NewReplacer(inForm...), inProse: strings.NewReplacer(inProse...)}
}

// countArguments sets how many arguments the command takes: [NAME] may be left out, and NAME… may be repeated. Flags
// that the command requires, and their values, do not count.
func (cmd *subcommand) countArguments() {
	words := strings.Fields(cmd.args)
	for i, arg := range words {
		isFlag := strings.HasPrefix(arg, "--")
		isValue := i > 0 && strings.HasPrefix(words[i-1], "--")
		if isFlag || isValue {
			continue
		}

		cmd.most++
		if !strings.HasPrefix(arg, "[") {
			cmd.least++
		}

		if strings.HasSuffix(strings.TrimSuffix(arg, "]"), "…") {
			cmd.most = math.MaxInt
		}
	}
}

// readOption reads the form of a flag, --NAME [KIND] [CHOICES] [= DEFAULT], and returns the flag with its meaning.
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

// find returns the command with the given name, or nil if there is none.
func find(list []*subcommand, name string) *subcommand {
	for _, cmd := range list {
		if cmd.name == name {
			return cmd
		}
	}

	return nil
}

// line returns the synopsis of the command.
func (cmd *subcommand) line() string {
	return strings.TrimSpace("pipeline " + cmd.name + " [flags] " + cmd.args)
}

// paragraphs calls example for each example of the description, and text for each other paragraph, in order. It skips
// the exit status, which a page states once for all commands.
func (cmd *subcommand) paragraphs(example func(line string), text func(paragraph string)) {
	for _, paragraph := range strings.Split(cmd.description, "\n\n") {
		line, isExample := strings.CutPrefix(paragraph, "Example: ")
		switch {
		case isExample:
			example(line)
		case paragraph != "" && !strings.HasPrefix(paragraph, "Exit status"):
			text(paragraph)
		}
	}
}

const (
	// about says what the program is for.
	about = "turn raw measurements into models that state their own uncertainty"
	// statuses lists the exit statuses.
	statuses = "0 success, 1 a stage failed, 2 usage or configuration error, 3 input data error, 130 interrupted."
)
