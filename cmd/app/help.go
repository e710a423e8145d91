package app

import (
	"fmt"

	"doubletake/docs"
)

// runHelp prints a document. It never gets the name of a command without a document: arrange has turned `help COMMAND`
// into `COMMAND --help`.
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
