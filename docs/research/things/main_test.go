package main

import "testing"

func TestRun(t *testing.T) {
	if err := run("runs", 1, 3, 9100, 1.2); err != nil {
		t.Fatal(err)
	}
}
