package app

import (
	"fmt"
	"strconv"
	"strings"

	"doubletake/docs"
	"doubletake/ingest/spelling"

	"github.com/urfave/cli/v2"
)

// arrange puts flags before positional arguments, because the library stops
// looking for flags at the first positional: `pipeline run FILE --stage train`
// would silently drop --stage. It also replaces messages of the library that are
// poor or missing: unknown commands and flags (with the nearest known name),
// missing values, values of the wrong type, and words that begin with "-" but
// are no flag. Everything after "--" is positional.
func arrange(app *cli.App, args []string) ([]string, error) {
	if len(args) == 0 {
		return args, nil
	}

	switch args[0] {
	case "-h", "--help":
		return []string{"--help"}, nil
	case "--version", "-version":
		return []string{"version"}, nil
	case "help", "h":
		if len(args) == 1 || args[1] == "help" {
			return []string{"--help"}, nil
		}

		if _, ok := docs.FindPage(args[1]); ok {
			return append([]string{"help"}, args[1:]...), nil
		}

		cmd, err := findCommand(app, args[1])
		if err != nil {
			return nil, err
		}

		return []string{cmd.Name, "--help"}, nil
	}

	cmd, err := findCommand(app, args[0])
	if err != nil {
		return nil, err
	}

	var flags, rest []string
	for i := 1; i < len(args); i++ {
		a := args[i]
		if a == "--" {
			rest = append(rest, args[i+1:]...)
			break
		}

		if !strings.HasPrefix(a, "-") {
			rest = append(rest, a)
			continue
		}

		key, value, has := strings.Cut(strings.TrimLeft(a, "-"), "=")
		if key == "help" || key == "h" {
			return []string{cmd.Name, "--help"}, nil
		}

		if a == "-" || isNumber(a) {
			return nil, usage("%q begins with \"-\" but is no flag of pipeline %s; if a file is meant, write ./%s", a, cmd.Name,
				a)
		}

		flag, err := findFlag(cmd, a, key)
		if err != nil {
			return nil, err
		}

		if _, isBool := flag.(*cli.BoolFlag); isBool {
			if has && value != "true" && value != "false" {
				return nil, usage("--%s of pipeline %s is true or false, found %q", key, cmd.Name, value)
			}

			flags = append(flags, a)
			continue
		}

		if !has {
			if i+1 == len(args) {
				return nil, usage("--%s of pipeline %s wants a value, found the end of the line", key, cmd.Name)
			}

			i++
			if value = args[i]; strings.HasPrefix(value, "-") && !isNumber(value) {
				return nil, usage("--%s of pipeline %s wants a value, found %s; if that is the value, write --%s=%s", key, cmd.Name,
					value, key, value)
			}
		}

		if err := checkValue(cmd, flag, key, value); err != nil {
			return nil, err
		}

		flags = append(flags, "--"+key+"="+value)
	}

	out := append([]string{cmd.Name}, flags...)
	if len(rest) > 0 {
		out = append(append(out, "--"), rest...)
	}

	return out, nil
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

func findCommand(app *cli.App, name string) (*cli.Command, error) {
	var names []string
	for _, c := range app.Commands {
		if c.HasName(name) {
			return c, nil
		}
		names = append(names, c.Name)
	}

	list := strings.Join(names, ", ")
	if strings.HasPrefix(name, "-") {
		return nil, usage("expected a command before %s: pipeline COMMAND [flags] [FILE]; the commands are %s", name, list)
	}

	return nil, usage("unknown command %q%s; the commands are %s", name, hint(name, names), list)
}

func findFlag(cmd *cli.Command, arg, key string) (cli.Flag, error) {
	var known []string
	for _, f := range cmd.Flags {
		for _, n := range f.Names() {
			if n == key {
				return f, nil
			}
			known = append(known, n)
		}
	}

	near := ""
	if n := spelling.Meant(key, known); n != "" {
		near = fmt.Sprintf("; did you mean --%s?", n)
	} else {
		near = "; pipeline " + cmd.Name + " --help lists them"
	}

	arg, _, _ = strings.Cut(arg, "=")

	return nil, usage("unknown flag %s of pipeline %s%s", arg, cmd.Name, near)
}

// checkValue reports a value that is no number where one is wanted.
func checkValue(cmd *cli.Command, flag cli.Flag, key, value string) error {
	want := ""

	var err error
	switch flag.(type) {
	case *cli.IntFlag:
		want = "a whole number"
		_, err = strconv.ParseInt(value, 0, 64)
	case *cli.Uint64Flag:
		want = "a whole number, not negative"
		_, err = strconv.ParseUint(value, 0, 64)
	case *cli.Float64Flag:
		want = "a number"
		_, err = strconv.ParseFloat(value, 64)
	default:
		if value == "" {
			return usage("--%s of pipeline %s wants a value, found nothing after =", key, cmd.Name)
		}
	}

	if err != nil {
		return usage("--%s of pipeline %s wants %s, found %q", key, cmd.Name, want, value)
	}

	return nil
}

// fileArgument returns the one positional argument, a configuration file.
func fileArgument(c *cli.Context) (string, error) {
	switch c.NArg() {
	case 0:
		return "pipeline.yaml", nil
	case 1:
		return c.Args().First(), nil
	}

	return "", usage("pipeline %s takes one FILE, found %q", c.Command.Name, c.Args().Slice())
}

// onFile is the action of a command that takes one FILE.
func onFile(do func(c *cli.Context, file string) error) cli.ActionFunc {
	return func(c *cli.Context) error {
		file, err := fileArgument(c)
		if err != nil {
			return err
		}

		return do(c, file)
	}
}

// experimentNames returns the names given with --experiment. Commas separate names,
// except within the name of a variant, where they separate its settings.
func experimentNames(c *cli.Context) []string {
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
