package mat4

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/ingesttest"
)

func Example() {
	src, err := ingest.OpenSource("testdata/scipy.mat")
	if err != nil {
		log.Fatal(err)
	}
	r, err := Format.Open(src, ingest.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	fmt.Println(r.Info().Encoding)
	for _, a := range r.Info().Attributes {
		fmt.Println(a.Name, a.Value)
	}
	for _, c := range r.Info().Channels[:3] {
		fmt.Println(c.Name, c.RateHz, c.Samples)
	}
	// Output:
	// MATLAB level 4, little-endian
	// rpm 3000
	// note wing 12
	// x[1] 512 17
	// x[2] 512 17
	// x[3] 512 17
}

func openBytes(b []byte, o ingest.Options) (ingest.Reader, error) {
	return Format.Open(ingesttest.Source(b), o)
}

// Witness: scipy.io.loadmat read the files (testdata/make.py).
func TestTruth(t *testing.T) {
	truth := map[string]map[string][]float64{}
	if err := json.Unmarshal(ingesttest.Testdata(t, "truth.json"), &truth); err != nil {
		t.Fatal(err)
	}
	for name, want := range truth {
		b := ingesttest.Testdata(t, name)
		for i := range 3 { // the sparse one is not read
			delete(want, fmt.Sprintf("eye[%d]", i+1))
		}
		if !Format.Detect(b[:min(1024, len(b))], ingesttest.Source(b)) {
			t.Errorf("%s is not detected", name)
		}
		r, err := openBytes(b, ingest.Options{})
		if err != nil {
			t.Fatal(err)
		}
		cs := r.Info().Channels
		if len(cs) != len(want) {
			t.Errorf("%s: %d channels, want %d", name, len(cs), len(want))
		}
		for i, c := range cs {
			x := make([]float64, c.Samples)
			if n, err := r.Read([]int{i}, 0, [][]float64{x}); n != len(x) || err != nil {
				t.Fatal(n, err)
			}
			if want[c.Name] == nil {
				t.Fatalf("%s: channel %s", name, c.Name)
			}
			ingesttest.Equal(t, x, want[c.Name])
		}
		if u := r.Info().Unread; name == "sparse.mat" && (len(u) != 1 || !u[0].Fault || u[0].Name != "eye") {
			t.Errorf("%+v", u)
		}
		_ = r.Close()
	}
}

func TestRefused(t *testing.T) {
	b := ingesttest.Testdata(t, "big.mat")
	put := func(at int, v ...byte) []byte {
		b := bytes.Clone(b)
		copy(b[at:], v)
		return b
	}
	for _, c := range []struct {
		b    []byte
		want string
	}{
		{b[:100], "byte 0: expected the matrix d, found 78 of 408 bytes"},
		{b[:10], "byte 0: expected a matrix's header of 20 bytes, found 10 bytes"},
		{put(2, 0x07, 0xD0), "byte 0: expected a matrix's type (numbers of IEEE 754), found 2000"},
		{put(15, 2), "byte 0: expected 0 or 1 for an imaginary part, found 2"},
		{put(19, 0), "byte 0: expected a name of 1 to 64 bytes, found 0"},
		{put(20, '!'), "byte 0: expected a name of letters, digits and _"},
	} {
		r, err := openBytes(c.b, ingest.Options{})
		ingesttest.WantDataError(t, r, err, c.want)
	}
	r, err := openBytes(b[:len(b)-4], ingest.Options{Truncated: "use", RateHz: 4000})
	if err != nil {
		t.Fatal(err)
	}
	i := r.Info()
	if len(i.Channels) != 15 || ingesttest.Codes(i.Warnings) != "truncated" || i.Channels[0].RateHz != 4000 {
		t.Errorf("%d channels, %v, %v Hz", len(i.Channels), i.Warnings, i.Channels[0].RateHz)
	}
	for _, head := range []string{
		"\x00\x00\x00\x00 any text of numbers", "RIFF\x00\x00\x00\x00WAVEfmt \x00\x00\x00\x00", "time,Fx\n0,1\n0.1,2\n",
	} {
		if Format.Detect([]byte(head), ingesttest.Source([]byte(head))) {
			t.Errorf("%q was taken for a MAT-file", head)
		}
	}
}

// FuzzMAT4 reads any bytes: no panic, errors that are data errors, memory bounded.
func FuzzMAT4(f *testing.F) { ingesttest.Fuzz(f, Format, "testdata/*.mat", 1<<13) }
