package setting

// Microphones is the table of the microphones, with a row for each channel.
type Microphones struct {
	// the table
	File string `key:"file" path:"yes" short:"yes"`

	// headers of its columns by name, e.g. {channel: Kanal, theta_deg: "Winkel [°]"}. Usual headers of channels,
	// sensitivities, gains, and angles to the axis or to the rotor plane are known in several languages without it
	Columns []NamedString `key:"columns"`
}
