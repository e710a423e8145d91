package config

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest/spelling"
)

// Suggest is what measurements cost, for pipeline suggest.
type Suggest struct {
	// what a change of a condition costs, and as repeat every measurement, e.g. {blades: 60 min, rpm: 1 min,
	// repeat: 2 min}: times in s, min, h or d, or all numbers without unit; what is not named costs nothing
	Cost []NamedString `key:"cost"`

	// what a session may cost, e.g. 4 h
	Budget string `key:"budget"`
}

// Prices are costs that were read, of times in minutes.
type Prices struct {
	Of     map[string]float64 // by condition, or repeat
	Timed  bool
	Budget float64 // 0: not stated
}

// Prices reads the costs of conditions. An error begins with the key.
func (s Suggest) Prices(conditions []string) (p Prices, err error) {
	p.Of = map[string]float64{}
	names := append(slices.Clone(conditions), "repeat")
	timed, plain, sum := "", "", 0.0
	read := func(key, text string) (v float64) {
		v, unit, e := amount(text)
		switch {
		case e != nil && err == nil:
			err = badPrice(key, "%v", e)
		case unit:
			timed = key
		case v > 0:
			plain = key
		}

		return v
	}

	for _, c := range s.Cost {
		if !slices.Contains(names, c.Name) {
			return p, badPrice("cost", "expected repeat or one of %s, found %q%s", strings.Join(conditions, ", "), c.Name,
				spelling.DidYouMean(c.Name, names))
		}

		p.Of[c.Name] = read("cost."+c.Name, c.Value)
		sum += p.Of[c.Name]
	}

	if s.Budget != "" {
		p.Budget = read("budget", s.Budget)
	}

	switch p.Timed = timed != ""; {
	case err != nil:
	case timed != "" && plain != "":
		err = badPrice(plain, "expected times or numbers without unit, found both, there and at %s", timed)
	case len(s.Cost) > 0 && sum == 0:
		err = badPrice("cost", "expected a cost above zero, found none")
	case s.Budget != "" && p.Budget == 0:
		err = badPrice("budget", "expected a budget above zero, found %q", s.Budget)
	}

	return p, err
}

// amount reads a number, or a time, which is returned in minutes.
func amount(text string) (v float64, timed bool, err error) {
	number := strings.TrimRight(strings.TrimSpace(text), "abcdefghijklmnopqrstuvwxyz ")
	unit := strings.TrimSpace(strings.TrimSpace(text)[len(number):])
	minutes, known := map[string]float64{"": 1, "s": 1. / 60, "min": 1, "h": 60, "d": 24 * 60}[unit]
	v, err = strconv.ParseFloat(number, 64)
	if err != nil || !known || v < 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return 0, false, fmt.Errorf("expected a number, or a time in s, min, h or d, found %q", text)
	}

	return v * minutes, unit != "", nil
}

// priceError is a price that is none, and its key below suggest.
type priceError struct{ key, text string }

func (e *priceError) Error() string { return e.key + ": " + e.text }

func badPrice(key, format string, args ...any) error {
	return &priceError{key, fmt.Sprintf(format, args...)}
}

func (s Suggest) validate(e *Experiment, key string, fail failFunc) {
	if _, err := s.Prices(e.Train.Inputs); err != nil {
		var e *priceError
		errors.As(err, &e)
		fail(key+"."+e.key, "%s", e.text)
	}
}
