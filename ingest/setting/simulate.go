package setting

// Simulate describes a simulated campaign; keys that do not belong to the campaign are errors.
type Simulate struct {
	// the sound of rotors, an airfoil on a force balance, or the paper's toy
	Campaign string `key:"campaign" enum:"rotor|airfoil|toy"`

	// seed of the campaign
	Seed uint64 `key:"seed" default:"0"`

	// sampling rate in Hz (rotor 10240, airfoil 1000)
	RateHz float64 `key:"rate_hz"`

	// length of each recording in s (rotor 8, airfoil 10)
	DurationS float64 `key:"duration_s"`

	// rotor: sample format of the WAV files (pcm16)
	Encoding string `key:"encoding" enum:"|pcm16|float32"`

	// rotor: blade counts (2, 3, 4, 5)
	Blades []int `key:"blades"`

	// rotor: shaft speeds in 1/min (2000 to 9000 by 500)
	RPM []float64 `key:"rpm"`

	// rotor: microphone angles in degrees from the rotor plane (-60 to 60 by 10)
	ThetaDeg []float64 `key:"theta_deg"`

	// airfoil: angles of attack in degrees (-11 to 11 by 0.5)
	AlphaDeg []float64 `key:"alpha_deg"`

	// airfoil: free-stream speeds in m/s (4.7, 7.3, 9.1, 11.9, 14.1)
	SpeedMS []float64 `key:"u_inf_m_s"`

	// toy: number of triplets (1000)
	Triplets int `key:"triplets"`

	// toy: noise amplitude γ of the paper (1.5)
	Gamma float64 `key:"gamma"`
}
