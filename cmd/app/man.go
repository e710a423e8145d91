package app

import (
	"fmt"
	"io"
	"strings"
)

// runMan prints the manual page.
func runMan(c *call) error {
	_, err := io.WriteString(c.stdout, manPage())
	return err
}

// roff returns a text with escapes, so that none of its characters has a meaning in roff.
var roff = strings.NewReplacer(`\`, `\\`, "-", `\-`, "\n.", "\n\\&.", "\n'", "\n\\&'").Replace

// manPage returns the reference of the commands for man(1). It contains neither a date nor a version,
// so it changes only when the commands change.
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

	for _, cmd := range commands() {
		cmd.writeMan(b)
	}

	fmt.Fprintf(b, ".SH EXIT STATUS\n%s\n.SH FILES\n", statuses)
	writeManItem(b, "pipeline.yaml", "the configuration; pipeline schema describes every key")
	writeManItem(b, "runs/report.html, runs/report.md", "the report of all experiments")
	writeManItem(b, "runs/EXPERIMENT/", "tables (Arrow IPC), models and metrics of an experiment")
	writeManItem(b, "runs/.cache/", "results by the contents they were made from; pipeline gc tidies it")

	return b.String()
}

// writeMan writes the section of a command: its synopsis, its description and its flags.
func (cmd *subcommand) writeMan(w io.Writer) {
	fmt.Fprintf(w, ".SS %s\n%s.\n", roff(cmd.line()), roff(sentence(cmd.usage)))

	example := func(line string) { fmt.Fprintf(w, ".PP\nExample:\n.PP\n.EX\n%s\n.EE\n", roff(line)) }
	paragraph := func(text string) { fmt.Fprintf(w, ".PP\n%s\n", roff(text)) }
	cmd.paragraphs(example, paragraph)

	for _, flag := range cmd.flags {
		value := ""
		switch {
		case len(flag.choices) > 0:
			value = " " + strings.Join(flag.choices, "|")
		case flag.kind != "":
			value = " VALUE"
		}

		writeManItem(w, `\fB\-\-`+roff(flag.name)+`\fP`+roff(value), flag.usage)
	}
}

// writeManItem writes an item of a list. The head may have commands of roff; the text may not.
func writeManItem(w io.Writer, head, text string) { fmt.Fprintf(w, ".TP\n%s\n%s\n", head, roff(text)) }

// sentence returns a text, which begins with a letter of ASCII, with a capital.
func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
