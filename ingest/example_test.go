package ingest_test

import (
	"context"
	"fmt"
	"log"

	"doubletake/ingest"
)

func ExampleOpen() {
	r, err := ingest.Open("testdata/truth/savetxt_g.csv", ingest.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	info := r.Info()
	fmt.Println(info.Format, info.Encoding)
	for _, c := range info.Channels {
		fmt.Println(c.Name, c.Unit, c.Samples)
	}
	// Output:
	// text comma separated
	// Fx N 37
	// Fy N 37
	// Fz N 37
	// Mx N m 37
}

func ExampleScan() {
	r, err := ingest.Open("testdata/truth/scipy_i16.wav", ingest.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	run := ingest.Run{Row1: -1, Recordings: []ingest.Recording{{ID: "mic 2", Channels: []int{1}}}}
	stats, warnings, err := ingest.Scan(context.Background(), r, run)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(stats), stats[0].Samples, stats[0].Max < 1, len(warnings))
	// Output: 1 37 true 0
}

func ExamplePattern_Match() {
	p, err := ingest.ParsePattern("Speed{setting}/angle{alpha_deg}.txt")
	if err != nil {
		log.Fatal(err)
	}
	v, ok := p.Match("data/Speed2/angle-3.5.txt")
	fmt.Println(v, ok)
	_, ok = p.Match("data/Speed4/force.txt")
	fmt.Println(ok)
	// Output:
	// map[alpha_deg:-3.5 setting:2] true
	// false
}

func ExampleCalibration_Factor() {
	// A recorder with ±10 V full scale, a microphone of 50 mV/Pa.
	c := ingest.Calibration{FullScaleV: 10, Reading: "peak", SensitivityVPerPa: 0.05}
	factor, unit, err := c.Factor("full-scale")
	fmt.Println(factor, unit, err)
	_, _, err = ingest.Calibration{SensitivityVPerPa: 0.05}.Factor("full-scale")
	fmt.Println(err)
	// Output:
	// 200 Pa <nil>
	// calibration: samples are a fraction of full scale: sensitivity_v_per_pa needs full_scale_v beside it
}

func ExampleDataError() {
	_, err := ingest.Open("testdata/truth/sox_alaw.wav", ingest.Options{})
	fmt.Println(err)
	// Output: testdata/truth/sox_alaw.wav: byte 20: expected PCM or IEEE float samples, found format 0x0006 (A-law) (convert the file to PCM, e.g. with sox or ffmpeg)
}
