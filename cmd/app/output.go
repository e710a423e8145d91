package app

import (
	"encoding/json"
	"fmt"
	"io"

	"doubletake/ingest"
)

// warn prints warnings about a configuration or its files.
func (c *call) warn(warnings []ingest.Warning) {
	for _, warning := range warnings {
		fmt.Fprintf(c.stderr, "warning: %s: %s\n", warning.Path, warning.Text)
	}
}

// emit writes a document. The message of an error begins with action, such as "write report".
func emit(w io.Writer, action string, document []byte) error {
	if _, err := w.Write(document); err != nil {
		return fmt.Errorf("%s: %w", action, err)
	}
	return nil
}

// printJSON prints a value as indented JSON.
func printJSON(w io.Writer, value any) error {
	document, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("print JSON: %w", err)
	}

	_, err = fmt.Fprintf(w, "%s\n", document)

	return err
}

// printNotes prints remarks that limit how far a result can be trusted.
func printNotes(stderr io.Writer, notes []string) {
	for _, note := range notes {
		fmt.Fprintln(stderr, "note: "+note)
	}
}

// raw returns the stream of a printer, for files whose bytes are not text.
func raw(w io.Writer) io.Writer {
	if p, ok := w.(*printer); ok {
		return p.w
	}
	return w
}
