package tdms

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// property is a property of an object.
type property struct {
	name  string
	value any // a string, int64, uint64, float64, bool, complex128 or time.Time
}

// text returns the value as text.
func (p property) text() string {
	switch v := p.value.(type) {
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case time.Time:
		return v.Format(time.RFC3339Nano)
	}

	return fmt.Sprint(p.value)
}

// props are the properties of an object, in the order of the file. If the file states a property twice, the later value
// replaces the earlier one.
type props struct {
	list  []property
	index map[string]int // indices in list, by name; nil if list is empty
}

// set sets the value of a property.
func (p *props) set(name string, v any) {
	if i, ok := p.index[name]; ok {
		p.list[i].value = v
		return
	}

	if p.index == nil {
		p.index = map[string]int{}
	}

	p.index[name] = len(p.list)
	p.list = append(p.list, property{name, v})
}

// get returns the value of a property, and nil if there is none with this name.
func (p *props) get(name string) any {
	if i, ok := p.index[name]; ok {
		return p.list[i].value
	}
	return nil
}

// text returns the value of a property that is a text. It returns "" if no such property exists, or if its value is
// not a text.
func (p *props) text(name string) string {
	s, _ := p.get(name).(string)
	return s
}

// number returns the value of a property that is a number. It returns false if no such property exists, or if its
// value is not a number.
func (p *props) number(name string) (float64, bool) {
	switch x := p.get(name).(type) {
	case float64:
		return x, true
	case int64:
		return float64(x), true
	case uint64:
		return float64(x), true
	}

	return 0, false
}

// hasChanged reports whether v changes a property of a rate or a scale that had another value before. An old value of 0
// does not count, because writers begin with zeros.
func hasChanged(name string, old, v any) bool {
	x, isNumber := old.(float64)
	isUsed := name == "wf_increment" || strings.HasPrefix(name, "NI_Scale")

	return isNumber && isUsed && x != 0 && x != v
}

// start returns the time at which the channel begins: wf_start_time, plus wf_start_offset in s. It returns false if the
// channel does not state a time.
func (c *channel) start() (time.Time, bool) {
	begin, ok := c.props.get("wf_start_time").(time.Time)
	offset, _ := c.number("wf_start_offset")

	return begin.Add(time.Duration(offset * 1e9)), ok
}

// unit returns the unit that the properties of LabVIEW's waveforms state ("Predefined Properties"), and "" if there is
// none.
func (c *channel) unit() string {
	return cmp.Or(c.props.text("unit_string"), c.props.text("NI_UnitDescription"))
}

// rate returns the rate in Hz that the properties of LabVIEW's waveforms state, and 0 if there is none.
func (c *channel) rate() float64 {
	switch strings.ToLower(c.props.text("wf_xunit_string")) {
	case "", "s", "sec", "second", "seconds":
	default:
		return 0 // the increment is not a time, but a frequency, an angle, …
	}

	increment, ok := c.number("wf_increment")
	if !ok || !(increment > 0) || math.IsInf(increment, 0) || math.IsInf(1/increment, 0) {
		return 0
	}

	hz := 1 / increment

	// An increment such as 1/51200 s is not exactly a float64, so its inverse is not exactly the whole rate that was
	// meant.
	if whole := math.Round(hz); math.Abs(hz-whole) < 1e-11*whole {
		return whole
	}

	return hz
}
