package kv

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Parse reads what a command line says of several names: "blades=3,rpm=5000". A value between slashes may hold
// commas.
func Parse(text string) (list []Pair, err error) {
	for more := text != ""; more; {
		key, value, ok := strings.Cut(text, "=")
		key = strings.TrimSpace(key)
		if !ok || key == "" || strings.Contains(key, ",") {
			term, _, _ := strings.Cut(text, ",")
			return nil, fmt.Errorf("expected name=value, found %q", term)
		}

		end := 0
		if strings.HasPrefix(value, "/") {
			end = strings.Index(value[1:], "/") + 1
		}

		rest := ""
		before := value[:end]
		value, rest, more = strings.Cut(value[end:], ",")
		list, text = append(list, Pair{key, strings.TrimSpace(before + value)}), rest
	}

	return list, nil
}

// Number reads a finite number.
func Number(s string) (float64, error) {
	v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("expected a number, found %q", s)
	}

	return v, nil
}
