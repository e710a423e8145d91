package hdf5

import (
	"fmt"
	"strings"
	"unicode/utf16"
)

// MATLAB 7.3 files are HDF5 files behind a block of 512 bytes. A variable is a dataset, and a struct is a group with
// its fields. A cell array is a dataset of references to objects in the group /#refs#. Attributes whose names begin
// with MATLAB_ give the class of a value. MathWorks does not document the layout.

const (
	matlabBlock = 512        // bytes of the block before the superblock
	matlabCells = "/#refs#/" // path of the group with the cells
)

// nameAllCells sets the names of the cells of all cell arrays of a MATLAB file.
func (h *recording) nameAllCells() error {
	for _, dataset := range h.f.datasets {
		if strings.HasPrefix(dataset.Path, matlabCells) {
			continue
		}

		if err := h.nameCells(dataset, h.name(dataset.Path), 0); err != nil {
			return err
		}
	}

	return nil
}

// opaqueFound is the reason why a value is not read if opaque is true.
const opaqueFound = "objects and function handles are not read: save numbers, texts (char) or structs"

// opaque reports whether an object with the given attributes is a value of MATLAB that is not an array of numbers or
// characters, a cell array or a struct.
func (h *recording) opaque(attributes Attributes) bool {
	const known = "|double|single|int8|int16|int32|int64|uint8|uint16|uint32|uint64|logical|char|cell|struct|" +
		"canonical empty|"
	if attributes.Has("MATLAB_object_decode") {
		return true
	}

	class := attributes.Text("MATLAB_class")

	return attributes.Has("MATLAB_class") && !strings.Contains(known, "|"+class+"|")
}

// unread reports whether a path lies in a group that is listed as not read.
func (h *recording) unread(path string) bool {
	for closed := range h.closed {
		if strings.HasPrefix(path, closed+"/") {
			return true
		}
	}

	return false
}

// groupUnread returns the reason why a group of a MATLAB file is not read, and "" if it is read. Groups of other files
// are always read.
func (h *recording) groupUnread(group *Group) string {
	switch {
	case !h.matlab:
		return ""
	case group.Has("MATLAB_sparse"):
		return "sparse arrays are not read: save full(…) of it"
	case h.opaque(group.Attributes):
		return opaqueFound
	}

	return ""
}

// name returns the name of the object at a path: the path, or in MATLAB files MATLAB's name.
func (h *recording) name(path string) string {
	if !h.matlab {
		return path
	}

	if n, ok := h.cells[path]; ok {
		return n
	}

	// A field of a struct within a cell has the name of the cell and the rest of the path.
	for parent := path; strings.HasPrefix(parent, matlabCells); {
		end := strings.LastIndexByte(parent, '/')
		parent = parent[:end]
		if cell, ok := h.cells[parent]; ok {
			return cell + strings.ReplaceAll(path[end:], "/", ".")
		}

		if end < len(matlabCells) {
			break
		}
	}

	return strings.ReplaceAll(strings.TrimPrefix(path, "/"), "/", ".")
}

// maxCellDepth is the deepest nesting of cell arrays whose cells get names.
const maxCellDepth = 16

// nameCells sets the names of the objects to which the cells of a cell array refer. A cell may be a cell array itself;
// nameCells then names its cells, too. It does nothing if the dataset is not a cell array, or is deeper than
// maxCellDepth. name is the name of the dataset, and depth the number of cell arrays around it.
func (h *recording) nameCells(dataset *Dataset, name string, depth int) error {
	if dataset.Text("MATLAB_class") != "cell" || dataset.Type.Class != Reference || depth > maxCellDepth {
		return nil
	}

	references, err := h.f.ReadReferences(dataset)
	if err != nil {
		return err
	}

	for i, ref := range references {
		cell := fmt.Sprintf("%s{%d}", name, i+1)
		switch x := ref.(type) {
		case *Dataset:
			if _, seen := h.cells[x.Path]; seen {
				continue
			}

			h.cells[x.Path] = cell
			if err := h.nameCells(x, cell, depth+1); err != nil {
				return err
			}
		case *Group:
			h.cells[x.Path] = cell
		}
	}

	return nil
}

// hidden reports whether a dataset of a MATLAB file is not listed: it is a cell array, whose cells are listed, or part
// of something that is listed as not read.
func (h *recording) hidden(dataset *Dataset) bool {
	if dataset.Text("MATLAB_class") == "cell" {
		return true
	}

	return strings.HasPrefix(dataset.Path, "/#subsystem#/") || h.unread(dataset.Path)
}

// charRows returns the text of a character array of MATLAB, with a line for each row. The elements are units of UTF-16
// in column-major order.
func charRows(dataset *Dataset) (string, error) {
	text, err := dataset.floats()
	if err != nil {
		return "", err
	}

	rows := 1
	if len(dataset.Dims) > 1 {
		rows = int(dataset.Dims[len(dataset.Dims)-1])
	}

	lines := make([]string, 0, rows)
	for r := range rows {
		var units []uint16
		for i := r; i < len(text); i += rows {
			units = append(units, uint16(text[i]))
		}

		lines = append(lines, string(utf16.Decode(units)))
	}

	return strings.Join(lines, "\n"), nil
}
