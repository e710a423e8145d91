package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	"doubletake/ingest/hdf5"
)

// Open opens a recording, of a registered format (RegisterFormat) or of one of
// this package's. The format is told by Options.Format, else by the
// first bytes of the file: RIFF, RIFX or RF64 is WAV, \x93NUMPY is NPY, PK NPZ,
// TDSm TDMS, the level 5 header MAT, an HDF5 signature at byte 0, 512, 1024, …
// HDF5 (and MATLAB 7.3), what has no binary bytes is delimited text. Known
// formats that are not read (FLAC, Parquet, …) are refused by name.
//
// Opening a text file counts its rows but does not parse them: a ragged row or
// text in a number column is reported by Read (and therefore by Scan).
//
// Options that contradict themselves give a plain error, everything else is a
// *DataError. The caller closes the Reader.
func Open(path string, o Options) (Reader, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	st, err := os.Stat(path)
	if err != nil {
		return nil, openError(path, err)
	}
	if !st.Mode().IsRegular() {
		found := "something that is no regular file"
		if st.IsDir() {
			found = "a directory"
		}
		return nil, &DataError{Path: path, Want: "a file", Found: found}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, openError(path, err)
	}
	if x := otherFormat(o.Format, f); x != nil {
		r, err := x.open(path, f, o) // closes f
		if err != nil {
			return nil, foreignError(path, err)
		}
		return r, nil
	}
	r, err := openReader(path, f, st.Size(), f, o)
	if err != nil {
		f.Close()
		return nil, err
	}
	return r, nil
}

// openReader is Open on anything that can be read at an offset; c may be nil.
func openReader(path string, r io.ReaderAt, size int64, c io.Closer, o Options) (Reader, error) {
	if size == 0 {
		return nil, &DataError{Path: path, Want: "a recording", Found: "an empty file", Hint: "record or copy it again, or leave it out with exclude"}
	}
	format := o.Format
	if format == "" {
		var err error
		if format, err = detect(path, r, size); err != nil {
			return nil, err
		}
	}
	// Typed results are returned by way of the interface only when they are not
	// nil, so that a failed open never becomes a non-nil Reader.
	switch format {
	case "wav":
		x, err := openWAV(path, r, size, o)
		if err != nil {
			return nil, err
		}
		x.closer = c
		return x, nil
	case "npy":
		x, err := openNPY(path, r, size, o)
		if err != nil {
			return nil, err
		}
		x.closer = c
		return x, nil
	case "mat", "hdf5", "tdms", "npz":
		open := map[string]func(string, io.ReaderAt, int64, Options) (*arraysReader, error){"mat": openMAT, "hdf5": openHDF5, "tdms": openTDMS, "npz": openNPZ}[format]
		x, err := open(path, r, size, o)
		if err != nil {
			return nil, err
		}
		if c != nil {
			x.closers = append(x.closers, c)
		}
		return x, nil
	default:
		x, err := openText(path, r, size, o)
		if err != nil {
			return nil, err
		}
		x.closer = c
		return x, nil
	}
}

// Check reports options that contradict themselves or mean nothing.
func (o Options) Check() error {
	switch o.Format {
	case "", "wav", "npy", "text", "mat", "hdf5", "tdms", "npz":
	default:
		if otherFormat(o.Format, nil) != nil {
			break
		}
		return fmt.Errorf("unknown format %q: wav, npy, npz, mat, hdf5, tdms and text are read", o.Format)
	}
	switch o.Truncated {
	case "", "error", "use":
	default:
		return fmt.Errorf(`unknown value %q for truncated: "error" or "use"`, o.Truncated)
	}
	switch o.Text.Delimiter {
	case "", "comma", "semicolon", "tab", "blanks":
	default:
		return fmt.Errorf("unknown delimiter %q: comma, semicolon, tab or blanks", o.Text.Delimiter)
	}
	if o.RateHz < 0 || math.IsNaN(o.RateHz) || math.IsInf(o.RateHz, 0) {
		return fmt.Errorf("the sampling rate is %v Hz: it must be a positive number", o.RateHz)
	}
	return nil
}

// openError turns an error of the operating system into a *DataError that
// still answers errors.Is(err, fs.ErrNotExist), with the nearest names beside it.
func openError(path string, err error) error {
	e := &DataError{Path: path, Err: err}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		e.Err = pe.Err // the path is said already
	}
	if errors.Is(err, fs.ErrNotExist) {
		// Names that are like it: all that lie there would say nothing.
		base := filepath.Base(path)
		var near []string
		for _, n := range nearest(base, fileNames(filepath.Dir(path)), 3) {
			if !hidden(n) && distance(base, n) <= max(2, len(base)/3) {
				near = append(near, n)
			}
		}
		switch _, err := os.Stat(filepath.Dir(path)); {
		case len(near) > 0:
			e.Hint = "there is " + quoteList(near)
		case err != nil:
			e.Hint = fmt.Sprintf("there is no folder %q either", filepath.Dir(path))
		default:
			e.Hint = "correct the path; nothing there has a name like it"
		}
	}
	return e
}

// fileNames lists the entries of a directory, none if it cannot be read.
func fileNames(dir string) []string {
	es, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	names := make([]string, 0, len(es))
	for _, e := range es {
		names = append(names, e.Name())
	}
	return names
}

// foreign lists the magics of formats we know of but do not read. Text formats
// must not be mistaken for one, so a magic of plain letters counts only if the
// head of the file holds control bytes that no text has (binary below).
var foreign = []struct {
	at     int
	magic  string
	binary bool
	name   string
	hint   string
}{
	{0, "MATLAB 7.3", false, "MATLAB 7.3 without its HDF5 part", "is the file cut short?"},
	{0, "fLaC", true, "FLAC", "decode it to WAV"},
	{0, "OggS", true, "Ogg", "decode it to WAV"},
	{0, "ID3", true, "MP3", "MP3 alters spectra; record as WAV"},
	{0, "\xff\xfb", false, "MP3", "MP3 alters spectra; record as WAV"},
	{0, "\xff\xf3", false, "MP3", "MP3 alters spectra; record as WAV"},
	{0, "\xff\xf2", false, "MP3", "MP3 alters spectra; record as WAV"},
	{0, "\x1f\x8b", false, "gzip", "unpack it"},
	{0, "7z\xbc\xaf\x27\x1c", false, "7-zip", "unpack it"},
	{0, "BZh", true, "bzip2", "unpack it"},
	{0, "\xfd7zXZ\x00", false, "xz", "unpack it"},
	{0, "\x28\xb5\x2f\xfd", false, "zstd", "unpack it"},
	{0, "FORM", true, "AIFF", "convert it to WAV"},
	{0, "caff", true, "CAF", "convert it to WAV"},
	{0, ".snd", true, "AU", "convert it to WAV"},
	{0, "wvpk", true, "WavPack", "decode it to WAV"},
	{0, "riff\x2e\x91\xcf\x11", false, "Wave64", "convert it to WAV or RF64"},
	{0, "ARROW1", true, "Arrow", "a program that registers it reads it"},
	{0, "PAR1", true, "Parquet", ""},
	{0, "\xd0\xcf\x11\xe0", false, "Excel (.xls)", "save it as CSV"},
	{0, "\x80\x02", false, "Python pickle", "save the array with numpy.save(…, allow_pickle=False)"},
	{0, "\x80\x03", false, "Python pickle", "save the array with numpy.save(…, allow_pickle=False)"},
	{0, "\x80\x04", false, "Python pickle", "save the array with numpy.save(…, allow_pickle=False)"},
	{0, "\x80\x05", false, "Python pickle", "save the array with numpy.save(…, allow_pickle=False)"},
	{0, "%PDF", false, "PDF", ""},
}

// detect names the format of a file by its first bytes.
func detect(path string, r io.ReaderAt, size int64) (string, error) {
	head := make([]byte, min(size, 1024))
	n, err := r.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", &DataError{Path: path, Place: "byte 0", Err: fmt.Errorf("read: %w", err)}
	}
	head = head[:n]
	switch {
	case bytes.HasPrefix(head, []byte("RIFF")), bytes.HasPrefix(head, []byte("RF64")),
		bytes.HasPrefix(head, []byte("RIFX")), bytes.HasPrefix(head, []byte("BW64")):
		return "wav", nil
	case bytes.HasPrefix(head, []byte(npyMagic)):
		return "npy", nil
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return "npz", nil
	case bytes.HasPrefix(head, []byte("TDSm")) && hasControl(head):
		return "tdms", nil
	case len(head) >= 128 && (string(head[124:128]) == "\x00\x01IM" || string(head[124:128]) == "\x01\x00MI"), bytes.HasPrefix(head, []byte("MATLAB 5.0 MAT-file")):
		return "mat", nil
	case hdf5.IsHDF5(r, size):
		return "hdf5", nil
	}
	binary := hasControl(head)
	for _, m := range foreign {
		if len(head) >= m.at+len(m.magic) && string(head[m.at:m.at+len(m.magic)]) == m.magic && (binary || !m.binary) {
			return "", &DataError{Path: path, Place: fmt.Sprintf("byte %d", m.at), Found: fmt.Sprintf("format %s not supported yet", m.name), Hint: m.hint}
		}
	}
	if bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff")) {
		return "", &DataError{Path: path, Place: "byte 0", Want: "text in UTF-8 or ASCII", Found: "UTF-16", Hint: "save it as UTF-8"}
	}
	if binary {
		hint := "WAV, NPY, NPZ, MAT, HDF5, TDMS and delimited text are read"
		switch ext := strings.ToLower(filepath.Ext(path)); ext {
		case ".mat":
			hint = "is it MATLAB level 4? save it with save -v7"
		case ".wav", ".npy", ".npz", ".h5", ".hdf5", ".tdms":
			hint = "the name says " + ext + ", the content does not: is the file damaged?"
		}
		return "", &DataError{Path: path, Place: "byte 0", Found: fmt.Sprintf("binary data of unknown format (it begins %q)", head[:min(8, len(head))]), Hint: hint}
	}
	return "text", nil
}

// hasControl reports whether b holds bytes that do not occur in text.
func hasControl(b []byte) bool {
	for _, c := range b {
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' && c != '\f' && c != '\v' && c != 0x1a {
			return true
		}
	}
	return false
}

// checkRate merges the rate a file states with the one the user states.
// tolerance is relative.
func checkRate(path, place string, file, user, tolerance float64) (float64, error) {
	if user == 0 || file == 0 {
		return max(file, user), nil
	}
	if math.Abs(file-user) > tolerance*file {
		return 0, &DataError{
			Path: path, Place: place, Want: fmt.Sprintf("a rate of %g Hz as configured", user),
			Found: fmt.Sprintf("%g Hz", file), Hint: "leave the rate out: the file states it",
		}
	}
	return file, nil
}
