package hdf5

import (
	"fmt"
	"path"
	"strings"
	"unicode/utf16"
)

// MATLAB 7.3 files are HDF5 files behind a block of 512 bytes. A variable is a dataset, and a struct is a group with
// its fields. A cell array is a dataset of references to objects in the group /#refs#. A struct array is a group, too:
// each of its fields is a dataset of references, without a class, to the values of the field in all elements.
// Attributes whose names begin with MATLAB_ give the class of a value. MathWorks does not document the layout.

const (
	matlabBlock = 512        // bytes of the block before the superblock
	matlabCells = "/#refs#/" // path of the group with the cells
)

// cellNames names the objects of a MATLAB file to which cell arrays and fields of struct arrays refer.
type cellNames struct {
	h      *recording
	inside map[string][]*Dataset // by the path of a group, the datasets of references in it and in its subgroups
}

// nameAllCells sets the names of the cells of all cell arrays, and of the elements of all struct arrays.
func (h *recording) nameAllCells() error {
	for _, group := range h.f.groups {
		h.structs[group.Path] = group.Text("MATLAB_class") == "struct"
	}

	names := cellNames{h: h, inside: map[string][]*Dataset{}}

	for _, dataset := range h.f.datasets {
		if dataset.Type.Class != Reference {
			continue
		}

		for parent := path.Dir(dataset.Path); len(parent) > 1; parent = path.Dir(parent) {
			names.inside[parent] = append(names.inside[parent], dataset)
		}
	}

	for _, dataset := range h.f.datasets {
		if strings.HasPrefix(dataset.Path, matlabCells) {
			continue
		}

		if err := names.follow(dataset, 0); err != nil {
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
func (h *recording) name(objectPath string) string {
	if !h.matlab {
		return objectPath
	}

	if n, ok := h.cells[objectPath]; ok {
		return n
	}

	// A field of a struct within a cell has the name of the cell and the rest of the path.
	for parent := path.Dir(objectPath); strings.HasPrefix(parent, matlabCells); parent = path.Dir(parent) {
		if cell, ok := h.cells[parent]; ok {
			return cell + strings.ReplaceAll(objectPath[len(parent):], "/", ".")
		}
	}

	return strings.ReplaceAll(strings.TrimPrefix(objectPath, "/"), "/", ".")
}

// maxCellDepth is the deepest nesting of cell arrays and struct arrays whose elements get names.
const maxCellDepth = 16

// follow sets the names of the objects to which a cell array or a field of a struct array refers, and of the objects to
// which these refer in turn. It does nothing if the dataset is neither, or is deeper than maxCellDepth. depth is the
// number of arrays of references around the dataset.
func (n *cellNames) follow(dataset *Dataset, depth int) error {
	isCell := dataset.Text("MATLAB_class") == "cell"
	isArray := isCell || n.h.isFieldOfStructs(dataset)
	if dataset.Type.Class != Reference || !isArray || depth > maxCellDepth {
		return nil
	}

	references, err := n.h.f.ReadReferences(dataset)
	if err != nil {
		return err
	}

	for i, object := range references {
		name := fmt.Sprintf("%s{%d}", n.h.name(dataset.Path), i+1)
		if !isCell {
			structArray, field := path.Split(dataset.Path)
			name = fmt.Sprintf("%s(%d).%s", n.h.name(path.Clean(structArray)), i+1, field)
		}

		if err := n.give(object, name, depth); err != nil {
			return err
		}
	}

	return nil
}

// give gives a name to an object that a dataset of references at some depth refers to, and follows the references in
// the object. It does nothing if the object has a name, or is neither a dataset nor a group.
func (n *cellNames) give(object any, name string, depth int) error {
	var objectPath string
	var inside []*Dataset // of references
	switch x := object.(type) {
	case *Dataset:
		objectPath = x.Path
		inside = []*Dataset{x}
	case *Group:
		objectPath = x.Path
		inside = n.inside[x.Path]
	default:
		return nil
	}

	if _, seen := n.h.cells[objectPath]; seen {
		return nil
	}

	n.h.cells[objectPath] = name
	for _, dataset := range inside {
		if err := n.follow(dataset, depth+1); err != nil {
			return err
		}
	}

	return nil
}

// isFieldOfStructs reports whether a dataset is a field of a struct array.
func (h *recording) isFieldOfStructs(dataset *Dataset) bool {
	hasClass := dataset.Has("MATLAB_class")
	return dataset.Type.Class == Reference && !hasClass && h.structs[path.Dir(dataset.Path)]
}

// hidden reports whether a dataset of a MATLAB file is not listed: it is a cell array or a field of a struct array,
// whose elements are listed, or part of something that is listed as not read.
func (h *recording) hidden(dataset *Dataset) bool {
	if dataset.Text("MATLAB_class") == "cell" || h.isFieldOfStructs(dataset) {
		return true
	}

	return strings.HasPrefix(dataset.Path, "/#subsystem#/") || h.unread(dataset.Path)
}

// charRows returns the text of a character array of MATLAB, with a line for each row. The elements are units of UTF-16
// in column-major order.
func charRows(dataset *Dataset) (string, error) {
	codes, err := dataset.floats()
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
		for i := r; i < len(codes); i += rows {
			units = append(units, uint16(codes[i]))
		}

		lines = append(lines, string(utf16.Decode(units)))
	}

	return strings.Join(lines, "\n"), nil
}
