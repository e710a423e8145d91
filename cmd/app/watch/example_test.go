package watch_test

import (
	"fmt"
	"strings"
	"time"

	"doubletake/cmd/app/watch"
)

// Example shows a work directory without a run, and a duration in words.
func Example() {
	w := watch.New("runs") // a folder that does not exist
	page, err := w.Page(time.Now())
	if err != nil {
		panic(err)
	}

	fmt.Println(strings.Contains(string(page), "No run has left a journal here."))
	fmt.Println(watch.Words(130 * time.Minute))
	// Output:
	// true
	// 2 h 10 min
}
