package app

import (
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/urfave/cli/v2"

	"doubletake/docs"
)

// newHelpCommand prints documents; arrange sends the help of commands elsewhere.
func newHelpCommand(stdout io.Writer) *cli.Command {
	return &cli.Command{
		Name: "help", Usage: "show the help of a command, or a document of the program", ArgsUsage: "[COMMAND|TOPIC]",
		Description: "Topics are the documents of the sources: " + topics() + ".\n\n" +
			"Example: pipeline help idea\n\nExit status: 0 success, 2 usage error.",
		Action: func(c *cli.Context) error {
			page, ok := docs.FindPage(c.Args().First())
			if !ok || c.NArg() > 1 {
				return usage("pipeline help takes a command or a topic, found %q", c.Args().Slice())
			}

			columns := 80
			if n := width(stdout); n > 0 {
				columns = min(max(n, 40), 100)
			}

			text := page.Text(columns)
			if c.App.Command(page.Name) != nil {
				text += fmt.Sprintf("\nThe command of this name: pipeline %s --help\n", page.Name)
			}

			if _, err := io.WriteString(stdout, text); err != nil {
				return fmt.Errorf("print %s: %w", page.Path, err)
			}

			return nil
		},
	}
}

// topics are the names of the documents.
func topics() string {
	var names []string
	for _, p := range docs.Paths() {
		names = append(names, strings.TrimSuffix(path.Base(p), ".md"))
	}

	return strings.Join(names, ", ")
}
