package scaffold

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// signed are the words of angles, which an m for minus may follow: am5.
var signed = map[string]bool{
	"a": true, "alpha": true, "aoa": true, "angle": true, "theta": true, "phi": true, "beta": true,
}

// after are the words that follow their number: 2blades, 3000rpm, 10deg.
var after = map[string]string{
	"blades": "blades", "blade": "blades", "bl": "blades", "rpm": "rpm", "deg": "alpha", "degrees": "alpha", "ms": "u",
	"mps": "u",
}

// numbering are the words of numbers that name a run and say nothing of what was
// measured.
var numbering = map[string]bool{
	"run": true, "rep": true, "repeat": true, "repetition": true, "take": true, "rec": true, "recording": true,
	"test":  true,
	"trial": true, "nr": true, "no": true, "num": true, "number": true, "idx": true, "index": true, "date": true,
	"session": true, "part": true, "copy": true, "measurement": true, "meas": true, "messung": true, "day": true,
	"track": true,
	"file":  true, "audio": true, "sample": true,
}

var leading = regexp.MustCompile(`^ ?[A-Za-z]+`)

// unitAfter is the word directly after a number, or after a blank behind it, if it is one
// that follows its number.
func unitAfter(text string) string {
	w := leading.FindString(text)
	if quantity(w) == "" || w[0] == ' ' && w == text { // "B2 rpm3000" is about the number after it
		return ""
	}

	return w
}

// quantity is what a word after a number tells of it; "" of other words.
func quantity(word string) string { return after[strings.ToLower(strings.TrimSpace(word))] }

// label returns the text that names the k-th number: the word after it where that
// is a quantity's, else the text before it in the same element of the path, without
// the word that follows the number before.
func label(texts []string, k int) string {
	if w := unitAfter(texts[k+1]); w != "" {
		return quantity(w)
	}

	t := texts[k]
	if k > 0 {
		t = strings.TrimPrefix(t, unitAfter(t))
	}

	return t[strings.LastIndexByte(t, '/')+1:]
}

// isNumbering reports whether the k-th number names the run: a repeat, a take, an
// index, a date.
func isNumbering(texts, numbers []string, k int) bool {
	if unitAfter(texts[k+1]) == "" {
		if w := words.FindAllString(label(texts, k), -1); len(w) > 0 && numbering[strings.ToLower(w[len(w)-1])] {
			return true
		}
	}

	return isDate(texts, numbers, k)
}

// isCounter reports whether the k-th number counts the files: with leading zeros, another in each
// of them, in steps of one.
func isCounter(members []int, tails []string, k int) bool {
	var v []float64
	zero := false
	for _, i := range members {
		_, nums := cut(tails[i])
		zero = zero || len(nums[k]) > 1 && nums[k][0] == '0'
		v = append(v, value(nums[k]))
	}

	slices.Sort(v)
	for i := 1; i < len(v); i++ {
		if v[i] != v[i-1]+1 {
			return false
		}
	}

	return zero
}

var (
	compactDate = lazy(`^(19|20)[0-9]{2}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])$`)
	year        = lazy(`^(19|20)[0-9]{2}$`)
	twoDigits   = lazy(`^[0-5][0-9]$`)
	clock       = lazy(`^[0-2][0-9][0-5][0-9]([0-5][0-9])?$`)
)

// isDate reports whether the k-th number is part of a date or of the time after
// it: 20230411, 2023-04-11, 20230411_153012, 2023-04-11_15-30-12.
func isDate(texts, numbers []string, k int) bool {
	joins := func(i int) bool {
		return texts[i] == "-" || texts[i] == "_" || texts[i] == "." || texts[i] == "T" || texts[i] == ""
	}

	from := k
	for from > 0 && joins(from) {
		from--
	}

	for i := from; i <= k; i++ {
		dated := 0
		switch {
		case compactDate.MatchString(numbers[i]):
			dated = 1
		case year.MatchString(numbers[i]) && i+2 < len(numbers) && joins(i+1) && joins(i+2) &&
			twoDigits.MatchString(numbers[i+1]) && twoDigits.MatchString(numbers[i+2]):
			dated = 3
		default:
			continue
		}

		if k < i+dated {
			return true
		}

		// the time of day
		for j := i + dated; j <= k; j++ {
			if !clock.MatchString(numbers[j]) && !twoDigits.MatchString(numbers[j]) {
				return false
			}
		}

		return k < i+dated+3
	}

	return false
}

// value reads a number of a name; m in front is a minus sign.
func value(number string) float64 {
	if rest, minus := strings.CutPrefix(number, "m"); minus {
		number = "-" + rest
	}

	v, _ := strconv.ParseFloat(number, 64)

	return v
}
