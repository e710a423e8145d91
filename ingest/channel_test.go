package ingest_test

import (
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/ingesttest"
)

func TestFindChannel(t *testing.T) {
	info := ingest.Info{Path: "x", Channels: []ingest.Channel{
		{Name: "Fx"},
		{Name: "FX"},
		{Name: "Time", Attributes: []ingest.Attribute{{"header", "Time (s)"}}},
		{Name: "2"},
		{Name: "D"},
		{Name: "D"},
	}}

	for name, want := range map[string]int{"Fx": 0, "FX": 1, "time": 2, "Time (s)": 2, "2": 3, "3": 2, "6": 5} {
		if got, err := ingest.FindChannel(info, name); got != want || err != nil {
			t.Errorf("%s: %d, %v; want %d", name, got, err, want)
		}
	}

	for name, want := range map[string]string{
		"fx": "channels 1 and 2", "d": "channels 5 and 6", "Fzz": "only",
		"7": "only", "0": "only", "Tiem": `is "Time" meant`,
	} {
		got, err := ingest.FindChannel(info, name)
		ingesttest.WantDataError(t, got, err, want)
	}
}
