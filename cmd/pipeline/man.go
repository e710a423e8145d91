package main

import (
	"fmt"
	"io"
	"strings"

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

// manPage is the reference of the commands in the macros of man(7). It holds no
// date and no version, so that it changes when the commands do.
func manPage(app *cli.App) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line(`.\" made from the definitions of the commands: pipeline man`)
	line(`.TH PIPELINE 1 "" doubletake "User Commands"`)
	line(".SH NAME\npipeline \\- %s", roff(app.Usage))
	line(".SH SYNOPSIS\n.B pipeline\n.I COMMAND\n[flags] [arguments]")
	line(".SH DESCRIPTION")
	line("%s", roff("Turns raw measurements (microphone recordings, force balance time series) into triplets of a "+
		"condition and two independent outcomes, trains a network "+
		"that predicts, is given one outcome and predicts again, and reports the fit and the uncertainty on "+
		"held-out conditions. "+
		"It is configured by a file, pipeline.yaml; pipeline init writes one that fits a folder."))
	line(".PP\n%s", roff("Flags and arguments may come in any order. Results go to standard output, progress and "+
		"messages to standard error."))
	line(".SH COMMANDS")
	for _, c := range visible(app) {
		line(".SS %s", roff(strings.TrimSpace("pipeline "+c.Name+" [flags] "+c.ArgsUsage)))
		line("%s", roff(sentence(c.Usage)+"."))
		for _, p := range strings.Split(c.Description, "\n\n") {
			if example, ok := strings.CutPrefix(p, "Example: "); ok {
				line(".PP\nExample:\n.PP\n.RS 4\n.nf\n%s\n.fi\n.RE", roff(example))
			} else if p != "" && !strings.HasPrefix(p, "Exit status") {
				line(".PP\n%s", roff(strings.ReplaceAll(p, "\n", " ")))
			}
		}
		for _, o := range options(c) {
			value := ""
			switch {
			case len(o.choices) > 0:
				value = " \\fI" + roff(strings.Join(o.choices, "|")) + "\\fR"
			case o.value:
				value = " \\fIVALUE\\fR"
			}
			line(".TP\n\\fB%s\\fR%s\n%s", roff("--"+o.name), value, roff(o.usage))
		}
	}
	line(".SH EXIT STATUS")
	for _, s := range exitStatuses {
		line(".TP\n.B %d\n%s", s.code, roff(s.meaning))
	}
	line(".SH FILES")
	for _, f := range [][2]string{
		{"pipeline.yaml", "the configuration; pipeline schema describes every key"},
		{"runs/report.html, runs/report.md", "the report of all experiments"},
		{"runs/EXPERIMENT/", "tables (Arrow IPC), models and metrics of an experiment"},
		{"runs/.cache/", "results by the contents they were made from; pipeline gc tidies it"},
	} {
		line(".TP\n.I %s\n%s", roff(f[0]), roff(f[1]))
	}
	return b.String()
}

// exitStatuses are what run returns; explain gives errors theirs.
var exitStatuses = []struct {
	code    int
	meaning string
}{
	{0, "success"},
	{1, "a stage failed"},
	{2, "usage or configuration error"},
	{3, "input data error"},
	{130, "interrupted"},
}

// sentence begins a text with a capital.
func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// roff escapes a text for a line of man(7): backslashes, hyphens that are typed
// as such, characters beyond ASCII, and a control character at the beginning.
func roff(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\\':
			b.WriteString(`\e`)
		case r == '-':
			b.WriteString(`\-`)
		case r == '\'':
			b.WriteString(`\(aq`)
		case r == '^':
			b.WriteString(`\(ha`)
		case r == '~':
			b.WriteString(`\(ti`)
		case r == '`':
			b.WriteString(`\(ga`)
		case r > 126:
			fmt.Fprintf(&b, `\[u%04X]`, r)
		default:
			b.WriteRune(r)
		}
	}
	t := b.String()
	if strings.HasPrefix(t, ".") {
		t = `\&` + t
	}
	return t
}
