package app

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"doubletake/docs"
)

// runHelp prints a document. If a command has the same name, it prints the help of the command first. It never gets the
// name of a command without a document: arrange has turned `help COMMAND` into `COMMAND --help`.
func runHelp(c *call) error {
	page, ok := docs.FindPage(c.arg(0))
	if !ok {
		return usage("pipeline help takes a command or a topic, found %q", c.args)
	}

	text := page.Text
	if find(commands(), page.Name) != nil {
		if err := cli.ShowCommandHelp(c.Context, page.Name); err != nil {
			return fmt.Errorf("print the help of %s: %w", page.Name, err)
		}

		text = "\nDOCUMENT:\n\n" + text
	}

	return emit(c.stdout, "print "+page.Path, []byte(text))
}
