package app

import (
	"fmt"
	"io"
	"strings"

	"doubletake/docs"
)

// runHelp prints a document; read sends the help of commands elsewhere.
func runHelp(c *call) error {
	page, ok := docs.FindPage(c.arg(0))
	if !ok {
		return usage("pipeline help takes a command or a topic, found %q", c.args)
	}

	text := page.Text
	if find(commands(), page.Name) != nil {
		text += fmt.Sprintf("\nThe command of this name: pipeline %s --help\n", page.Name)
	}

	return emit(c.stdout, "print "+page.Path, []byte(text))
}

func runMan(c *call) error {
	_, err := io.WriteString(c.stdout, manPage())
	return err
}

// roff takes the meaning in roff from the characters of a text.
var roff = strings.NewReplacer(`\`, `\\`, "-", `\-`, "\n.", "\n\\&.", "\n'", "\n\\&'").Replace

// manPage is the reference of the commands for man(1). It holds no date and no version,
// so that it changes when the commands do.
func manPage() string {
	b := &strings.Builder{}
	b.WriteString(`.nh
.TH PIPELINE 1 "" doubletake "User Commands"
.SH NAME
pipeline \- ` + about + `
.SH SYNOPSIS
\fBpipeline\fP COMMAND [flags] [arguments]
.SH DESCRIPTION
Turns raw measurements (microphone recordings, force balance time series) into triplets of a condition and two
independent outcomes, trains a network that predicts, is given one outcome and predicts again, and reports the fit and
the uncertainty on held\-out conditions. It is configured by a file, pipeline.yaml; pipeline init writes one that fits a
folder.
.PP
Flags and arguments may come in any order. Results go to standard output, progress and messages to standard error.
.SH COMMANDS
`)

	item := func(head, text string) { fmt.Fprintf(b, ".TP\n%s\n%s\n", head, roff(text)) }
	for _, c := range commands() {
		fmt.Fprintf(b, ".SS %s\n%s.\n", roff(c.line()), roff(sentence(c.usage)))
		c.paragraphs(func(line string) { fmt.Fprintf(b, ".PP\nExample:\n.PP\n.EX\n%s\n.EE\n", roff(line)) },
			func(text string) { fmt.Fprintf(b, ".PP\n%s\n", roff(text)) })

		for _, o := range c.flags {
			value := ""
			switch {
			case len(o.choices) > 0:
				value = " " + strings.Join(o.choices, "|")
			case o.kind != "":
				value = " VALUE"
			}

			item(`\fB\-\-`+roff(o.name)+`\fP`+roff(value), o.usage)
		}
	}

	fmt.Fprintf(b, ".SH EXIT STATUS\n%s\n.SH FILES\n", statuses)
	item("pipeline.yaml", "the configuration; pipeline schema describes every key")
	item("runs/report.html, runs/report.md", "the report of all experiments")
	item("runs/EXPERIMENT/", "tables (Arrow IPC), models and metrics of an experiment")
	item("runs/.cache/", "results by the contents they were made from; pipeline gc tidies it")

	return b.String()
}

// sentence begins a text with a capital.
func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
