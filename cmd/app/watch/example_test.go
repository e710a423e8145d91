package watch_test

import (
	"fmt"
	"strings"
	"time"

	"doubletake/cmd/app/watch"
)

// Example prints the state of a work directory without a run, as the page says it.
func Example() {
	w := watch.New("runs") // a folder that does not exist
	page, err := w.Page(time.Now())
	if err != nil {
		panic(err)
	}

	_, text, _ := strings.Cut(string(page), "No run")
	text, _, _ = strings.Cut(text, "<")
	fmt.Println("No run" + text)
	// Output: No run has left a journal here.
}

// A duration is written in seconds, minutes, or hours and minutes.
func ExampleWords() {
	for _, duration := range []time.Duration{14 * time.Second, 3 * time.Minute, 130 * time.Minute} {
		fmt.Println(watch.Words(duration))
	}
	// Output:
	// 14 s
	// 3 min
	// 2 h 10 min
}
