package format

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/fault"
)

// recognise returns the format with the given name or, if the name is empty, the format that fits the file. head is the
// beginning of the file. recognise returns an error if no format fits.
func recognise(src ingest.Source, head []byte, name string) (*ingest.Format, error) {
	if name != "" {
		return &formats[slices.Index(Names(), name)], nil
	}

	for i, f := range formats {
		for _, magic := range f.Magic {
			if bytes.HasPrefix(head, []byte(magic)) {
				return &formats[i], nil
			}
		}
	}

	for i, f := range formats {
		if f.Detect != nil && f.Detect(head, src) {
			return &formats[i], nil
		}
	}

	if err := refuse(src.Path, head); err != nil {
		return nil, err
	}

	return &formats[slices.IndexFunc(formats, isRest)], nil
}

// isRest reports whether a format is the format of files that fit no other format: text.
func isRest(f ingest.Format) bool { return f.Magic == nil && f.Detect == nil }

// isMATLAB4 reports whether a file begins with a matrix of a MAT-file of level 4 (MathWorks, "MAT-File Format", level
// 4). It has five numbers of 4 bytes and a name that ends with a zero byte:
//
//	 0  type MOPT: M is 0 for little-endian and 1 for big-endian, O is 0, P the format of numbers, T full, text or sparse
//	 4  rows
//	 8  columns
//	12  1 if the matrix has an imaginary part, 0 otherwise
//	16  length of the name
//	20  name
func isMATLAB4(head []byte) bool {
	if len(head) < 22 {
		return false
	}

	var order binary.ByteOrder = binary.LittleEndian

	machine := uint32(0)
	if order.Uint32(head) > 9999 { // a type has four decimal digits
		order = binary.BigEndian
		machine = 1
	}

	kind := order.Uint32(head)
	isType := kind/1000 == machine && kind%1000 <= 52 && kind%10 <= 2
	imaginary := order.Uint32(head[12:])
	if !isType || imaginary > 1 {
		return false
	}

	n := order.Uint32(head[16:])
	if n < 2 || int64(n) > int64(len(head)-20) {
		return false
	}

	name := head[20 : 20+n]

	return bytes.IndexByte(name, 0) == int(n)-1 && !ingest.Binary(name[:n-1])
}

// refuse returns the error of a file that fits no format. It returns nil if the file is text.
func refuse(path string, head []byte) error {
	if err := ingest.Foreign(path, head); err != nil {
		return err
	}

	if isMATLAB4(head) {
		return fault.At(path, "byte 0", "", "format MAT of level 4, which is not read",
			"save it in MATLAB with save -v7, by scipy with format='5', or name a program: reader: [program]")
	}

	isUTF16 := bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff"))
	if isUTF16 || !ingest.Binary(head) {
		return nil
	}

	text := bytes.TrimRight(head, "\x00")
	if len(text) < len(head)-1 && !ingest.Binary(text) {
		return fault.At(path, "byte 0", "a recording", fmt.Sprintf("zeros from byte %d on", len(text)),
			"the file was not written to its end: copy or record it again, or leave it out with exclude under ingest")
	}

	ending := strings.ToLower(filepath.Ext(path))
	begins := head[:min(8, len(head))]
	if name, hint := ingest.UnreadEnding(ending); name != "" {
		return fault.At(path, "byte 0", "",
			fmt.Sprintf("format %s by its name, which is not read (it begins %q)", name, begins), hint)
	}

	hint := Titles() + " are read"
	for _, f := range formats {
		if !isRest(f) && slices.Contains(f.Endings, ending) {
			hint = "the name ends in " + ending + ", the content is another format: is the file damaged?"
		}
	}

	return fault.At(path, "byte 0", "", fmt.Sprintf("binary data of unknown format (it begins %q)", begins), hint)
}
