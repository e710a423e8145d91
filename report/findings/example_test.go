package findings_test

import (
	"context"
	"fmt"

	"doubletake/ingest"
	"doubletake/report/findings"
)

// Warnings of many files are one sentence, and the gravest comes first.
func ExampleFindings() {
	var found findings.Findings
	found.AddFile([]ingest.Warning{{Path: "1.wav", Code: "text-column", Text: "a column is text"}})
	found.AddFile([]ingest.Warning{{Path: "2.wav", Code: "clipping", Text: "20 samples are clipped"}})
	found.AddFile([]ingest.Warning{{Path: "3.wav", Code: "clipping", Text: "9 samples are clipped"}})

	words, err := found.Words(context.Background(), findings.Effects{}, "")
	if err != nil {
		fmt.Println(err)
		return
	}

	for _, warning := range words.Warnings {
		fmt.Println(warning)
	}
	// Output:
	// 2.wav: 20 samples are clipped (and in 1 more file)
	// 1.wav: a column is text
}
