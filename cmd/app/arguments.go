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
)

// call is one use of a command: its flags, arguments and streams.
type call struct {
	*cli.Context                   // the flags
	ctx            context.Context // is cancelled if the user interrupts the program
	args           []string
	stdout, stderr io.Writer
}

// arrange returns the words of a command line with the flags before the arguments, because the library stops looking
// for flags at the first argument: `pipeline run FILE --stage train` would silently drop --stage. Without words it
// returns none, and the library prints the help of the program. It returns a *pipeline.UsageError for a word that is
// not a command, a flag, the value of a flag or an argument.
func arrange(list []*subcommand, words []string) ([]string, error) {
	if len(words) == 0 {
		return []string{}, nil
	}

	name := words[0]
	rest := words[1:]
	switch {
	case isHelpFlag(name), name == "help", name == "h":
		return arrangeHelp(list, rest)
	case name == "--version", name == "-version":
		name = "version"
	}

	if cmd := find(list, name); cmd != nil {
		return cmd.arrange(rest)
	}

	if strings.HasPrefix(name, "-") {
		return nil, usage("expected a command before %s: pipeline COMMAND [flags] [FILE]; the commands are %s", name,
			strings.Join(namesOf(list), ", "))
	}

	return nil, unknownWord(list, "command", name)
}

// arrangeHelp returns the words that print help. The given words follow the word help: at most one command or topic,
// and flags that ask for help. `help budget` prints the help of the command budget and the document budget, and
// `help budget --help` the help alone.
func arrangeHelp(list []*subcommand, words []string) ([]string, error) {
	topics := slices.DeleteFunc(slices.Clone(words), isHelpFlag)
	if len(topics) > 1 {
		return nil, usage("pipeline help takes one command or topic, found %s", strings.Join(topics, " "))
	}

	if len(topics) == 0 || topics[0] == "help" {
		return []string{"--help"}, nil
	}

	cmd := find(list, topics[0])
	_, isDocument := docs.FindPage(topics[0])
	hasFlag := len(topics) < len(words)
	switch {
	case isDocument && (cmd == nil || !hasFlag):
		return find(list, "help").arrange(topics)
	case cmd != nil:
		return cmd.arrange([]string{"--help"})
	}

	return nil, unknownWord(list, "command or topic", topics[0])
}

// unknownWord returns the error about a word that is not a command, with the command that it is most like.
func unknownWord(list []*subcommand, kind, word string) error {
	names := namesOf(list)

	return usage("unknown %s %q%s (the commands are %s)", kind, word, spelling.DidYouMean(word, names),
		strings.Join(names, ", "))
}

// namesOf returns the names of commands.
func namesOf(list []*subcommand) []string {
	var names []string
	for _, cmd := range list {
		names = append(names, cmd.name)
	}

	return names
}

// isHelpFlag reports whether a word asks for help.
func isHelpFlag(word string) bool { return word == "--help" || word == "-help" || word == "-h" }

// arrange returns the name of the command, its flags as --NAME=VALUE, "--", and its arguments. In words, everything
// after "--" is an argument. It returns a *pipeline.UsageError for a wrong flag or value.
func (cmd *subcommand) arrange(words []string) ([]string, error) {
	flags := []string{cmd.name}
	args := []string{"--"}
	for i := 0; i < len(words); i++ {
		word := words[i]
		if word == "--" {
			args = append(args, words[i+1:]...)
			break
		}

		if !strings.HasPrefix(word, "-") {
			args = append(args, word)
			continue
		}

		key, value, assigned := strings.Cut(strings.TrimLeft(word, "-"), "=")
		if key == "help" || key == "h" {
			return []string{cmd.name, "--help"}, nil
		}

		if word == "-" || isNumber(word) {
			return nil, usage("%q begins with \"-\" but is not a flag of pipeline %s; if a file is meant, write ./%s", word,
				cmd.name, word)
		}

		option, err := cmd.option(word, key)
		if err != nil {
			return nil, err
		}

		if option.kind == "" && !assigned {
			value = "true"
		} else if !assigned {
			i++
			value, err = cmd.nextValue(key, words[i:])
			if err != nil {
				return nil, err
			}
		}

		if err := cmd.check(option, value); err != nil {
			return nil, err
		}

		flags = append(flags, "--"+key+"="+value)
	}

	return append(flags, args...), nil
}

// nextValue returns the first of the words that follow a flag without "=", which is its value.
func (cmd *subcommand) nextValue(key string, words []string) (string, error) {
	if len(words) == 0 {
		return "", usage("--%s of pipeline %s wants a value, found the end of the line%s", key, cmd.name,
			cmd.valueOf(key))
	}

	value := words[0]
	if strings.HasPrefix(value, "-") && !isNumber(value) {
		return "", usage("--%s of pipeline %s wants a value, found %s; if that is the value, write --%s=%s", key, cmd.name,
			value, key, value)
	}

	return value, nil
}

// valueOf returns the end of a message about a missing value: the flag as the command's example has it, or the values
// that the flag takes. It returns a pointer to the help if there is neither.
func (cmd *subcommand) valueOf(key string) string {
	var words []string
	cmd.paragraphs(func(line string) { words = strings.Fields(line) }, func(string) {})
	if i := slices.Index(words, "--"+key); i >= 0 && i+1 < len(words) {
		return fmt.Sprintf("; write e.g. --%s %s", key, words[i+1])
	}

	for _, flag := range cmd.flags {
		if flag.name == key && len(flag.choices) > 0 {
			return "; write one of " + strings.Join(flag.choices, ", ")
		}
	}

	return fmt.Sprintf("; pipeline %s --help explains the flag", cmd.name)
}

// start runs the command. It returns a *pipeline.UsageError if the number of arguments is wrong, or if two formats are
// asked for.
func (cmd *subcommand) start(c *call) error {
	if count := len(c.args); count < cmd.least || count > cmd.most {
		if cmd.most == 0 {
			return usage("pipeline %s takes no argument, found %s; leave it out", cmd.name, strings.Join(c.args, " "))
		}

		found := strings.Join(c.args, " ")
		if count == 0 {
			found = "no argument"
		}

		return usage("pipeline %s takes %s, found %s; pipeline %s --help shows an example", cmd.name, cmd.args, found,
			cmd.name)
	}

	given := slices.DeleteFunc([]string{"json", "csv", "tex"}, func(format string) bool { return !c.Bool(format) })
	if len(given) > 1 {
		return usage("pipeline %s: --%s and --%s exclude each other", cmd.name, given[0], given[1])
	}

	return cmd.do(c)
}

// isNumber reports whether a text is a number, such as -3.
func isNumber(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil
}

// option returns the flag with a name, or a *pipeline.UsageError that suggests a flag. word is the flag as the user
// wrote it.
func (cmd *subcommand) option(word, name string) (*option, error) {
	var known []string
	for i := range cmd.flags {
		if cmd.flags[i].name == name {
			return &cmd.flags[i], nil
		}
		known = append(known, cmd.flags[i].name)
	}

	near := "pipeline " + cmd.name + " --help lists them"
	if meant := spelling.Meant(name, append(known, "help")); meant != "" {
		near = fmt.Sprintf("did you mean --%s?", meant)
	}

	word, _, _ = strings.Cut(word, "=")

	return nil, usage("unknown flag %s of pipeline %s; %s", word, cmd.name, near)
}

// check returns an error if the flag does not take the value.
func (cmd *subcommand) check(o *option, value string) error {
	set := flag.NewFlagSet(cmd.name, flag.ContinueOnError)
	err := cmp.Or(o.flag().Apply(set), set.Set(o.name, value))
	kind := kinds[o.kind]

	switch {
	case err != nil || !kind.allows(value):
		return usage("--%s of pipeline %s %s, found %q", o.name, cmd.name, kind.want, value)
	case value == "":
		return usage("--%s of pipeline %s wants a value, found an empty one", o.name, cmd.name)
	case o.kind == "text" && len(o.choices) > 0 && !slices.Contains(o.choices, value):
		return usage("--%s of pipeline %s wants %s, found %q%s", o.name, cmd.name, strings.Join(o.choices, ", "), value,
			spelling.DidYouMean(value, o.choices))
	}

	return nil
}

// arg returns argument i, counted from 0, or "" if there are fewer.
func (c *call) arg(i int) string {
	if i < len(c.args) {
		return c.args[i]
	}
	return ""
}

// file returns the argument FILE, or pipeline.yaml if it is not given.
func (c *call) file() string {
	if len(c.args) > 0 {
		return c.args[0]
	}
	return "pipeline.yaml"
}

// experiments returns the names given with --experiment. Commas separate names,
// except within the name of a variant, where they separate its settings.
func (c *call) experiments() []string {
	var names []string
	for _, part := range c.StringSlice("experiment") {
		last := len(names) - 1
		afterVariant := last >= 0 && strings.Contains(names[last], "/")
		if afterVariant && strings.Contains(part, "=") && !strings.Contains(part, "/") {
			names[last] += "," + part
			continue
		}

		names = append(names, part)
	}

	return names
}
