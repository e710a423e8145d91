package hdf5

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"doubletake/ingest/format/internal/arrays"
	"doubletake/ingest/format/internal/clock"
)

// unreadable returns the reason why a dataset is not read if its contents are the reason, and "" otherwise.
// ingest.Unread.Fault explains isFault.
func (h *recording) unreadable(dataset *Dataset) (reason string, isFault bool) {
	isListed := !h.matlab || !h.hidden(dataset)
	isSpectra := strings.HasPrefix(dataset.Path, "/CsmBuild/") || strings.HasPrefix(dataset.Path, "/CsmData/")
	isTransfer := slices.Contains([]string{"/Data.Real", "/Data.Imag", "/Data.SOS"}, dataset.Path)
	isMarkedEmpty := h.matlab && dataset.Has("MATLAB_empty")

	switch n := dataset.Elements(); {
	case isDimension(dataset):
		return "a netCDF dimension without values", false
	case h.benchmark && isSpectra:
		return "cross spectra of microphones, no recording", false
	case h.sofa && isTransfer:
		return "transfer functions or filters, no recording", false
	case dataset.Null || n == 0 || isMarkedEmpty:
		return "an empty dataset", false
	case h.matlab && isListed && h.opaque(dataset.Attributes):
		return opaqueFound, true
	case dataset.Type.Class == String && n > maxTexts && isListed:
		return fmt.Sprintf("a table of %d texts", n), false
	}

	return "", false
}

// benchmarkData is the path of the recording in files of the benchmark of array methods.
const benchmarkData = "/MicrophoneData/microphoneDataPa"

// role returns the role of a dataset that is not a recording (ingest.Channel.Role), and "" for a recording.
func (h *recording) role(dataset *Dataset) string {
	isMeta := strings.HasPrefix(dataset.Path, "/MetaData/") || strings.HasPrefix(dataset.Path, "/MeasurementData/")

	switch {
	case dataset.Text("CLASS") == "DIMENSION_SCALE":
		return "coordinate"
	case h.benchmark && isMeta:
		return "setting"
	case h.sofa && !slices.Contains(h.axes(dataset), "time"):
		return "setting"
	}

	return ""
}

// axes returns the names of the axes of a dataset, and nil if they have none. If a label of an axis is a name of time,
// the names are the labels. Otherwise they are the names of the scales attached to the axes. The name is "time" if the
// scale has a unit of time, or if the scale is N in a file by the SOFA conventions.
func (h *recording) axes(dataset *Dataset) []string {
	if labels, ok := dataset.Attribute("DIMENSION_LABELS"); ok && labels.Dims != nil {
		if slices.ContainsFunc(labels.texts, arrays.IsTime) {
			return labels.texts
		}
	}

	list, _ := dataset.Attribute("DIMENSION_LIST")
	names := make([]string, len(list.scales))
	for i, addr := range list.scales {
		scale, ok := h.f.objects[addr].(*Dataset)
		if !ok {
			continue
		}

		names[i] = path.Base(scale.Path)

		isSamplesOfSOFA := h.sofa && names[i] == "N"
		if clock.IsUnit(scale.Text("units")) || isSamplesOfSOFA {
			names[i] = "time"
		}
	}

	for _, name := range names {
		if name != "" {
			return names
		}
	}

	return nil
}

// benchmarkUnit returns the unit that the name of a dataset states in files of the benchmark of array methods, and ""
// if it states none.
func benchmarkUnit(path string) string {
	switch path {
	case benchmarkData:
		return "Pa"
	case "/TachoData/tachoDataV":
		return "V"
	}

	return ""
}

// isDimension reports whether a dataset is a netCDF dimension without a variable.
func isDimension(dataset *Dataset) bool {
	return strings.HasPrefix(dataset.Text("NAME"), "This is a netCDF dimension but not a netCDF variable")
}

// packing returns the packing of the numbers that the attributes of a dataset state. It returns nil and no error if the
// stored numbers are the values.
func (h *recording) packing(dataset *Dataset) (*arrays.Packing, error) {
	typ := arrays.Stored{Bits: 8 * dataset.Type.Size, Integer: dataset.Type.Class != Float, Signed: dataset.Type.Signed}

	var fill []float64
	mayMiss := h.netcdf && dataset.Type.Size > 1 // each value of a byte is valid in netCDF
	if mayMiss && dataset.st.fill != nil && dataset.Type.numeric {
		fill = []float64{dataset.Type.float(dataset.st.fill)}
	}

	return arrays.NewPacking(typ, fill, func(name string) (arrays.Numbers, bool) {
		attr, ok := dataset.Attribute(name)
		if attr.stored != nil {
			return arrays.Numbers{Values: attr.numbers(), Integer: attr.Type.Class != Float}, true
		}

		text, _ := attr.Text() // "" for a value that is not a text; "" is not a number

		return arrays.TextNumber(text), ok
	})
}
