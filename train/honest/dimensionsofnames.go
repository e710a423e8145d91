package honest

import (
	"doubletake/ingest/units"
	"doubletake/train/form"
	"doubletake/train/triplets"
)

// DimensionOf returns the dimension of a quantity by its unit, or by the unit that its name states. It returns the zero
// Dimension if the unit is unknown or not mechanical: angles, temperatures, electric quantities and plain numbers stay
// as they are in a form without dimensions.
func DimensionOf(q triplets.Quantity) form.Dimension {
	if q.Name == "blades" {
		return form.Dimension{Count: true}
	}

	unit, err := units.Parse(q.Unit)
	if q.Unit == "" || err != nil {
		var known bool
		unit, known = units.OfName(q.Name)
		if !known {
			return form.Dimension{}
		}
	}

	d := unit.Dimension
	isMechanical := d.Current == 0 && d.Temperature == 0 && d.Angle == 0
	if d == (units.Dimension{}) || !isMechanical {
		return form.Dimension{}
	}

	return form.Dimension{Mass: int(d.Mass), Length: int(d.Length), Time: int(d.Time), Known: true}
}

// IsRate reports whether the name of a condition states the unit of a speed or of a rate. The effect of such a
// condition depends on its ratio to another value, not on the difference.
func IsRate(name string) bool {
	unit, known := units.OfName(name)
	if !known {
		return false
	}

	for _, text := range []string{"m/s", "1/s"} {
		rate, err := units.Parse(text)
		if err == nil && rate.Dimension == unit.Dimension {
			return true
		}
	}

	return false
}
