package ingest

import (
	"fmt"
	"strconv"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/ingest/spelling"
)

// FindChannel returns the index of the channel a user means: by its exact name,
// by its name in any letter case, by its header with the unit
// ("Time (s)"), or by its number from 1. An unknown or ambiguous name is a
// *fault.Error that lists the names there are.
func FindChannel(info Info, name string) (int, error) {
	name = strings.TrimSpace(name)

	names := make([]string, len(info.Channels))
	for i, c := range info.Channels {
		names[i] = c.Name
	}

	header := func(c Channel) string {
		for _, a := range c.Attributes {
			if a.Name == "header" {
				return a.Value
			}
		}

		return ""
	}

	for _, same := range []func(c Channel) bool{
		func(c Channel) bool { return c.Name == name },
		func(c Channel) bool { return strings.EqualFold(c.Name, name) },
		func(c Channel) bool { h := header(c); return h != "" && strings.EqualFold(h, name) },
	} {
		at := -1
		for i, c := range info.Channels {
			if !same(c) {
				continue
			}

			if at >= 0 {
				return 0, &fault.Error{
					Path: info.Path, Found: fmt.Sprintf("channels %d and %d are both named %q", at+1, i+1, c.Name),
					Hint: "name the channel by its number",
				}
			}

			at = i
		}

		if at >= 0 {
			return at, nil
		}
	}

	if n, err := strconv.Atoi(name); err == nil && n >= 1 && n <= len(names) {
		return n - 1, nil
	}

	for _, u := range info.Unread {
		if u.Name == name {
			return 0, &fault.Error{Path: info.Path, Place: u.Name, Found: u.Reason}
		}
	}

	// A path may be cut at its front where only one channel ends so.
	at, n := -1, 0
	for i, c := range info.Channels {
		if rest, ok := strings.CutSuffix(c.Name, name); ok && name != "" && rest != "" &&
			strings.ContainsAny(rest[len(rest)-1:], "/.") {
			at, n = i, n+1
		}
	}

	if n == 1 {
		return at, nil
	}

	e := &fault.Error{
		Path: info.Path, Want: fmt.Sprintf("a channel %q", name), Found: "only " + fault.Quoted(names),
		Hint: "name one of these in the configuration, or correct the header",
	}

	if near := spelling.Nearest(name, names, 1); len(near) > 0 && spelling.Distance(near[0], name) <= 2 && len(name) > 2 {
		e.Hint = fmt.Sprintf("is %q meant?", near[0])
	}

	return 0, e
}

// AttributeNumber finds a number a file states about itself: an attribute of the file
// or of a group ("/Table1@alpha"), a single number among its arrays
// ("opp_jprop.vInf"), or an element of one ("opp.RPS_M1[2]"), by its name or,
// where only one fits, by the end of it.
func AttributeNumber(info Info, name string) (float64, error) {
	var hits []Attribute
	for _, a := range info.Attributes {
		if a.Name == name {
			hits = []Attribute{a}
			break
		}

		if rest, ok := strings.CutSuffix(strings.ToLower(a.Name), strings.ToLower(name)); ok &&
			(rest == "" || strings.ContainsAny(rest[len(rest)-1:], "/.@")) {
			hits = append(hits, a)
		}
	}

	if len(hits) == 0 {
		known := make([]string, 0, len(info.Attributes))
		for _, a := range info.Attributes {
			known = append(known, a.Name)
		}

		e := &fault.Error{Path: info.Path, Want: fmt.Sprintf("an attribute %q", name), Found: "none of that name"}
		if len(known) == 0 {
			e.Found = "a file without attributes"
		} else if near := spelling.Nearest(name, known, 3); len(near) > 0 {
			e.Hint = "there is " + fault.Quoted(near)
		}

		return 0, e
	}

	if len(hits) > 1 {
		var found []string
		for _, a := range hits {
			found = append(found, a.Name)
		}

		return 0, &fault.Error{
			Path: info.Path, Want: fmt.Sprintf("one attribute %q", name), Found: fault.Quoted(found),
			Hint: "write its full name",
		}
	}

	v, err := strconv.ParseFloat(strings.Trim(strings.TrimSpace(hits[0].Value), "[]"), 64)
	if err != nil || !finite(v) {
		return 0, &fault.Error{
			Path: info.Path, Place: "attribute " + hits[0].Name, Want: "a number",
			Found: strconv.Quote(fault.Clip(hits[0].Value)),
		}
	}

	return v, nil
}
