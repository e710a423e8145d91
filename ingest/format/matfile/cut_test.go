package matfile

import (
	"bytes"
	"encoding/json"
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/ingesttest"
)

// libsndfile claims 8 bytes too many for its last array. Witness: scipy reads the files
// (testdata/make_sound.py). An array whose numbers are not all there is not read.
func TestTruncated(t *testing.T) {
	truth := map[string][][]float64{}
	if err := json.Unmarshal(ingesttest.Testdata(t, "sound.json"), &truth); err != nil || len(truth) != 5 {
		t.Fatal(truth, err)
	}

	for name, want := range truth {
		b := ingesttest.Testdata(t, name)
		r, err := Format.Open(ingesttest.Source(b), ingest.Options{})
		ingesttest.WantDataError(t, r, err, "byte 200: expected an element of ", "truncated: use")

		if r, err = Format.Open(ingesttest.Source(b), ingest.Options{Truncated: "use"}); err != nil {
			t.Fatal(name, err)
		}

		info := r.Info()
		if len(info.Channels) != 2 || info.Channels[0].RateHz != 48000 || ingesttest.Codes(info.Warnings) != "truncated" {
			t.Fatalf("%s: %+v", name, info)
		}

		for c, x := range ingesttest.ReadAll(t, r) {
			ingesttest.Equal(t, x, want[c])
		}

		last := bytes.TrimRight(b, "\x00") // PCM_U8 ends in zeros that pad it
		r, err = Format.Open(ingesttest.Source(last[:len(last)-1]), ingest.Options{Truncated: "use"})
		ingesttest.WantDataError(t, r, err, "wavedata")
	}
}
