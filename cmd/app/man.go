package app

import (
	"fmt"
	"io"
	"strings"

	"github.com/cpuguy83/go-md2man/v2/md2man"
	"github.com/urfave/cli/v2"
)

func newManCommand(stdout io.Writer) *cli.Command {
	return &cli.Command{
		Name: "man", Usage: "print the man page, for man(1)",
		Description: "It is docs/reference/pipeline.1 of the sources too; a place for it is " +
			"~/.local/share/man/man1/pipeline.1.\n\n" +
			"Example: pipeline man\n\nExit status: 0 success, 2 usage error.",
		Action: func(c *cli.Context) error {
			if c.NArg() > 0 {
				return usage("pipeline man takes no arguments, found %q", c.Args().Slice())
			}

			_, err := io.WriteString(stdout, manPage(c.App))

			return err
		},
	}
}

// manPage is the reference of the commands for man(1). It holds no date and no version,
// so that it changes when the commands do.
func manPage(app *cli.App) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%% PIPELINE 1 \"\" doubletake \"User Commands\"\n\n# NAME\n\npipeline - %s\n\n", app.Usage)
	b.WriteString("# SYNOPSIS\n\n**pipeline** COMMAND [flags] [arguments]\n\n# DESCRIPTION\n\n" +
		"Turns raw measurements (microphone recordings, force balance time series) into triplets of a condition and two " +
		"independent outcomes, trains a network that predicts, is given one outcome and predicts again, and reports the " +
		"fit and the uncertainty on held-out conditions. " +
		"It is configured by a file, pipeline.yaml; pipeline init writes one that fits a folder.\n\n" +
		"Flags and arguments may come in any order. Results go to standard output, progress and messages to standard " +
		"error.\n\n# COMMANDS\n\n")

	for _, c := range visible(app) {
		title := "pipeline " + c.Name + " [flags] " + c.ArgsUsage
		fmt.Fprintf(&b, "### %s\n\n%s.\n\n", markdown(title), markdown(sentence(c.Usage)))

		for _, p := range strings.Split(c.Description, "\n\n") {
			if example, ok := strings.CutPrefix(p, "Example: "); ok {
				fmt.Fprintf(&b, "Example:\n\n    %s\n\n", example)
			} else if !strings.HasPrefix(p, "Exit status") {
				b.WriteString(markdown(p) + "\n\n")
			}
		}

		for _, o := range options(c) {
			value := ""
			switch {
			case len(o.choices) > 0:
				value = " " + strings.Join(o.choices, "|")
			case o.value:
				value = " VALUE"
			}

			fmt.Fprintf(&b, "**--%s**%s\n: %s\n\n", o.name, markdown(value), markdown(o.usage))
		}
	}

	b.WriteString("# EXIT STATUS\n\n0 success, 1 a stage failed, 2 usage or configuration error, 3 input data error, " +
		"130 interrupted.\n\n# FILES\n\n")

	for _, f := range [][2]string{
		{"pipeline.yaml", "the configuration; pipeline schema describes every key"},
		{"runs/report.html, runs/report.md", "the report of all experiments"},
		{"runs/EXPERIMENT/", "tables (Arrow IPC), models and metrics of an experiment"},
		{"runs/.cache/", "results by the contents they were made from; pipeline gc tidies it"},
	} {
		fmt.Fprintf(&b, "%s\n: %s\n\n", f[0], f[1])
	}

	return string(md2man.Render([]byte(b.String())))
}

// sentence begins a text with a capital.
func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// markdown takes the meaning in Markdown from the characters of a text.
func markdown(s string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "`", "\\`", "<", `\<`, "[", `\[`, "|", `\|`).Replace(s)
}
