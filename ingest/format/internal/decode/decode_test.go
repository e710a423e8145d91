package decode_test

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"

	"doubletake/ingest/format/internal/decode"
)

// parseSize raises the error of a text that is not a number, several calls deep.
func parseSize(text string) int {
	size := decode.Get(strconv.Atoi(text))
	if size < 0 {
		decode.Raise(errors.New("a negative size"))
	}

	return size
}

// readSize is the exported function of the decoder: it returns the error that parseSize raises.
func readSize(text string) (size int, err error) {
	defer decode.Catch(&err)

	return parseSize(text), nil
}

func Example() {
	for _, text := range []string{"12", "-1", "x"} {
		size, err := readSize(text)
		fmt.Println(size, err)
	}
	// Output:
	// 12 <nil>
	// 0 a negative size
	// 0 strconv.Atoi: parsing "x": invalid syntax
}

// call returns the error that do raises.
func call(do func()) (err error) {
	defer decode.Catch(&err)
	do()

	return nil
}

// A raised error comes back as the same value, and nothing is raised for nil.
func TestRaise(t *testing.T) {
	assert.Same(t, io.ErrUnexpectedEOF, call(func() { decode.Raise(io.ErrUnexpectedEOF) }))
	assert.NotPanics(t, func() { decode.Raise(nil) })
}

// Other panics pass through Catch unchanged.
func TestOtherPanics(t *testing.T) {
	assert.PanicsWithValue(t, "own", func() { _ = call(func() { panic("own") }) })
}

// If a raise escapes its package, the panic still has the message and the cause.
func TestEscaped(t *testing.T) {
	defer func() {
		err, ok := recover().(error)
		assert.True(t, ok, "the panic is an error")
		assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
		assert.EqualError(t, err, "unexpected EOF")
	}()

	decode.Raise(io.ErrUnexpectedEOF)
}
