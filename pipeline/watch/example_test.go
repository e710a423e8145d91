package watch_test

import (
	"fmt"
	"strings"
	"time"

	"doubletake/pipeline/watch"
)

func Example() {
	w := watch.New("runs") // which nobody has made yet
	page := string(w.Page(time.Now()))
	fmt.Println(strings.Contains(page, "No run has left a journal here."))
	fmt.Println(watch.Words(130 * time.Minute))
	// Output:
	// true
	// 2 h 10 min
}
