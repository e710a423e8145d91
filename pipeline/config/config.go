// Package config reads pipeline.yaml: its types with the documentation of every
// key, strict decoding with positions, validation, and the JSON Schema made
// from the same types. It knows no stage: what a key means for the data is said
// where it is used, what a key may hold is said here.
package config

// File is a whole pipeline.yaml.
type File struct {
	Version     int          `key:"version" doc:"format of this file; 1"`
	Workdir     string       `key:"workdir" doc:"folder for everything the pipeline writes, relative to this file"`
	Kernels     string       `key:"kernels" doc:"numeric kernels: auto takes the fastest this machine has; portable gives the same bytes on any machine; avx2 and avx512 insist on one set" enum:"auto|portable|avx2|avx512"`
	Executor    Executor     `key:"executor" doc:"what run --executor slurm asks of a cluster"`
	Experiments []Experiment `key:"experiments" doc:"the experiments, by name"`

	Path  string         // the file as the user named it
	Dir   string         // its folder; relative paths in the file start there
	where map[string]pos // position of every key read
	lines []string
}

// Experiment is one entry of experiments.
type Experiment struct {
	Name   string
	Ingest Ingest `key:"ingest" doc:"which files, and what is in them"`
	DSP    DSP    `key:"dsp" doc:"how a recording becomes triplets (x, y1, y2)"`
	Train  Train  `key:"train" doc:"the network, its training and the held-out splits"`
}

// Ingest says which files are read and what their channels and conditions are.
type Ingest struct {
	Files          []string      `key:"files" doc:"recordings: one or more globs, relative to this file"`
	Exclude        []string      `key:"exclude" doc:"globs of files to leave out"`
	Simulate       *Simulate     `key:"simulate" doc:"make a simulated campaign instead of reading files"`
	Table          *Table        `key:"table" doc:"a table that already holds pairs of repeated measurements: a path, or a mapping with the columns named"`
	Data           string        `key:"data" doc:"what the data are; everything made from simulated data is called so" enum:"measured|simulated"`
	Conditions     string        `key:"conditions" doc:"CSV with the columns file[,channel][,row0,row1] and one column per condition"`
	Pattern        string        `key:"pattern" doc:"conditions from the file name, e.g. naca0012_a{alpha_deg}_u{u_inf_m_s}.csv"`
	Constants      []NamedNumber `key:"constants" doc:"conditions that are the same for every recording, e.g. blades: 2"`
	Format         string        `key:"format" doc:"format of the files; empty: found out from their content" enum:"|wav|npy|npz|mat|hdf5|tdms|arrow|text"`
	RateHz         float64       `key:"rate_hz" doc:"sampling rate in Hz where the files do not state it"`
	Truncated      string        `key:"truncated" doc:"a file shorter than its header claims is an error, or what is there is used" enum:"error|use"`
	Attributes     []NamedString `key:"attributes" doc:"conditions from what the files say of themselves: an attribute, a single number among the arrays, or @NAME, an attribute of the channel"`
	Sidecar        *Sidecar      `key:"sidecar" doc:"conditions from a YAML (or JSON) file beside each recording: its ending, e.g. .yaml, or a mapping that names the numbers"`
	Inside         []NamedString `key:"inside" doc:"conditions from a table inside the files (MAT, HDF5, NPZ, TDMS): condition: array, with a value for each channel used, or with row0 and row1 among them for each interval of samples"`
	Arrays         Arrays        `key:"arrays" doc:"for files of named arrays (MAT, HDF5, TDMS, NPZ) that name their attributes otherwise than is customary"`
	Text           Text          `key:"text" doc:"for delimited text that does not explain itself"`
	ThetaFrom      string        `key:"theta_from" doc:"where the data count theta_deg from: the rotor plane (0 in it, as METHOD and the tables have it), or the axis (0 on the inflow's side of it, 90 in the plane, 180 downstream), which is turned into 90 - theta_deg" enum:"plane|axis"`
	Channels       []string      `key:"channels" doc:"channels to use, by name or number from 1; empty: all"`
	Columns        []NamedString `key:"columns" doc:"which column is what: lift_n, drag_n (wind axes) or fx_n, fz_n (body axes), or any outcome name"`
	Units          []NamedString `key:"units" doc:"units of columns the files do not state, by outcome name"`
	Axes           string        `key:"axes" doc:"axes of the balance: wind, or body (Fx aft, Fz up; turned by alpha_deg)" enum:"wind|body"`
	Tachometer     *Tachometer   `key:"tachometer" doc:"a channel that counts the shaft's revolutions: it wins over the conditions' rpm and over track"`
	Balance        *Balance      `key:"balance" doc:"a balance that records voltages: its matrix, its tare, the flow beside it"`
	Calibration    *Calibration  `key:"calibration" doc:"how microphone samples become Pa; without it levels are re full scale"`
	Background     *Background   `key:"background" doc:"recordings without the source under test: their level behind each harmonic is stored beside it, never subtracted"`
	OnBadRecording string        `key:"on_bad_recording" doc:"a bad recording stops the run; skip leaves it out and lists it in the report; warn leaves out only what is bad of it (a channel, an interval, what a cut file lacks) and says so" enum:"fail|skip|warn"`
}

// Simulate describes a simulated campaign; keys that do not belong to the campaign are errors.
type Simulate struct {
	Campaign  string    `key:"campaign" doc:"which campaign: the sound of rotors, an airfoil on a force balance, or the paper's toy" enum:"rotor|airfoil|toy"`
	Seed      uint64    `key:"seed" doc:"seed of the campaign" default:"0"`
	RateHz    float64   `key:"rate_hz" doc:"sampling rate in Hz (rotor 10240, airfoil 1000)"`
	DurationS float64   `key:"duration_s" doc:"length of each recording in s (rotor 8, airfoil 10)"`
	Encoding  string    `key:"encoding" doc:"rotor: sample format of the WAV files; pcm16 if not given" enum:"|pcm16|float32"`
	Blades    []int     `key:"blades" doc:"rotor: blade counts (2, 3, 4, 5)"`
	RPM       []float64 `key:"rpm" doc:"rotor: shaft speeds in 1/min (2000 to 9000 by 500)"`
	ThetaDeg  []float64 `key:"theta_deg" doc:"rotor: microphone angles in degrees from the rotor plane (-60 to 60 by 10)"`
	AlphaDeg  []float64 `key:"alpha_deg" doc:"airfoil: angles of attack in degrees (-11 to 11 by 0.5)"`
	SpeedMS   []float64 `key:"u_inf_m_s" doc:"airfoil: free-stream speeds in m/s (4.7, 7.3, 9.1, 11.9, 14.1)"`
	Triplets  int       `key:"triplets" doc:"toy: number of triplets (1000)"`
	Gamma     float64   `key:"gamma" doc:"toy: noise amplitude γ of the paper (1.5)"`
}

// Table describes a file that already holds pairs.
type Table struct {
	File     string        `key:"file" doc:"the table"`
	Inputs   []string      `key:"inputs" doc:"columns that are conditions; empty: all that are no outcome"`
	Y1       []string      `key:"y1" doc:"columns of the first outcomes; empty: those ending in _1"`
	Y2       []string      `key:"y2" doc:"columns of the second outcomes; empty: those ending in _2"`
	Repeats  []string      `key:"repeats" doc:"columns of single measurements instead of y1 and y2: rows of equal condition are paired"`
	Outcomes []string      `key:"outcomes" doc:"names of the outcomes; empty: from the columns"`
	Run      string        `key:"run" doc:"column that tells the run; empty: rows of equal condition form a run"`
	Units    []NamedString `key:"units" doc:"units by condition or outcome name"`
	Pairs    string        `key:"pairs" doc:"how the pairs came about: both from one run, from repeated runs, or drawn from a known law" enum:"same-run|repeat-run|synthetic"`
}

// Text guides the reader of delimited text.
type Text struct {
	Delimiter string   `key:"delimiter" doc:"between columns; empty: found out" enum:"|comma|semicolon|tab|blanks"`
	Columns   []string `key:"columns" doc:"column names when the file has no header"`
	Time      string   `key:"time" doc:"column or array with the time in s; empty: the one whose name says so"`
}

// Arrays names the attributes of files that hold named arrays.
type Arrays struct {
	RateAttribute   string `key:"rate_attribute" doc:"attribute, or single number among the arrays, with the sampling rate in Hz"`
	PeriodAttribute string `key:"period_attribute" doc:"attribute, or single number among the arrays, with the sampling period in s; empty: ChannelInformationSamplingPeriod, wf_increment, dt and the like"`
	UnitAttribute   string `key:"unit_attribute" doc:"attribute of a channel with its unit"`
}

// Calibration is the chain from samples to pascal.
type Calibration struct {
	Unit              string  `key:"unit" doc:"unit of the samples as they are: Pa, or full-scale" enum:"|Pa|full-scale"`
	FullScaleV        float64 `key:"full_scale_v" doc:"voltage of a full-scale sample in V"`
	Reading           string  `key:"reading" doc:"whether that voltage is a peak or an rms value" enum:"|peak|rms"`
	SensitivityVPerPa float64 `key:"sensitivity_v_per_pa" doc:"microphone sensitivity in V/Pa"`
	GainDB            float64 `key:"gain_db" doc:"amplifier gain in dB between microphone and recorder" default:"0"`
	PaPerUnit         float64 `key:"pa_per_unit" doc:"pascal per sample unit, instead of the chain"`

	Calibrator *Calibrator `key:"calibrator" doc:"a sound calibrator's recording with the same chain and gain, instead of the chain's numbers"`
}

// DSP says how a recording becomes triplets.
type DSP struct {
	Triplets     string        `key:"triplets" doc:"construction of (y1, y2): random-samples and split-halves of a balance run, split-half-spectrum of a microphone recording, repeats of a condition, or the pairs of a table as they are" enum:"random-samples|split-halves|split-half-spectrum|repeats|table"`
	Couples      bool          `key:"couples" doc:"use each first outcome twice (y2 := y1): the covariance then estimates the total variance"`
	Segments     int           `key:"segments" doc:"spectra: segments per half, without overlap"`
	Window       string        `key:"window" doc:"spectra: window (periodic)" enum:"hann"`
	Harmonics    int           `key:"harmonics" doc:"spectra: harmonics of the blade passing frequency"`
	Tolerance    float64       `key:"tolerance" doc:"spectra: half-width of the search around a harmonic, relative to its frequency: 0.03 is 3 %"`
	MinBins      int           `key:"min_bins" doc:"spectra: smallest half-width of the search in bins"`
	Amplitude    string        `key:"amplitude" doc:"spectra: band sums the bins of a line above the floor, peak takes the largest bin, synchronous averages over the shaft's angle by the tachometer" enum:"band|peak|synchronous"`
	Output       string        `key:"output" doc:"spectra: dB re 20 uPa when calibrated (dBFS when not), or the mean square" enum:"dB|power"`
	Speed        string        `key:"speed" doc:"spectra: refine the conditions' rpm on the lines of each half, or take it as it is" enum:"refine|nominal"`
	Track        *Track        `key:"track" doc:"spectra: find the shaft speed in the sound"`
	EmergenceDB  float64       `key:"emergence_db" doc:"spectra: a line at least so many dB above the floor is emergent; the level of a weaker one is marked as an upper bound"`
	Censored     string        `key:"censored" doc:"spectra: recordings with a line that is not emergent are kept and flagged, or dropped and counted" enum:"keep|drop"`
	Distance     *Distance     `key:"distance" doc:"spectra: levels are normalised from one distance to another (20 lg r/r0)"`
	Samples      int           `key:"samples" doc:"random-samples: triplets per run; twice as many samples are drawn"`
	ChordM       float64       `key:"chord_m" doc:"balance: chord in m; with span_m forces become coefficients"`
	SpanM        float64       `key:"span_m" doc:"balance: span in m"`
	DensityKgM3  float64       `key:"density_kg_m3" doc:"balance: air density in kg/m3"`
	TemperatureC float64       `key:"temperature_c" doc:"balance: air temperature in °C, with pressure_pa instead of the density"`
	PressurePa   float64       `key:"pressure_pa" doc:"balance: static pressure in Pa"`
	Within       []NamedNumber `key:"within" doc:"repeats: conditions are equal within these tolerances, e.g. {rpm: 20}; a condition not named must be equal"`
	Seed         uint64        `key:"seed" doc:"random-samples: seed of the draw" default:"0"`
}

// Track finds the shaft speed in the sound.
type Track struct {
	RangeHz []float64 `key:"range_hz" doc:"shaft frequency from, to in Hz (rev/s)"`
}

// Distance normalises levels.
type Distance struct {
	FromM float64 `key:"from_m" doc:"distance of the microphones in m"`
	ToM   float64 `key:"to_m" doc:"distance the levels are given for in m"`
}

// Train says what is learned from the triplets.
type Train struct {
	Inputs      []string  `key:"inputs" doc:"conditions the network sees"`
	Outcomes    []string  `key:"outcomes" doc:"quantities it predicts; empty: all"`
	Model       Model     `key:"model" doc:"the network"`
	Loss        Loss      `key:"loss" doc:"the loss"`
	Optimizer   Optimizer `key:"optimizer" doc:"the optimiser"`
	Standardise bool      `key:"standardise" doc:"inputs and outcomes to zero mean and unit deviation of the training split"`
	Seeds       int       `key:"seeds" doc:"trainings per split"`
	Seed        uint64    `key:"seed" doc:"the first seed; the others follow" default:"0"`
	Estimate    Estimate  `key:"estimate" doc:"how the covariance of two answers is computed"`
	Compare     []string  `key:"compare" doc:"further methods trained on the same splits, for the comparison table: ensemble, mc-dropout, zigzag, gp"`
	Members     int       `key:"members" doc:"compare: networks of an ensemble"`
	Calibration float64   `key:"calibration" doc:"share of the training runs set aside to recalibrate the uncertainties, e.g. 0.2; 0: none" default:"0"`
	Splits      []Split   `key:"splits" doc:"train/test rules by name: what is held out"`
}

// Model is the network.
type Model struct {
	Hidden        []int   `key:"hidden" doc:"widths of the hidden layers"`
	Dropout       float64 `key:"dropout" doc:"probability of dropping a hidden unit"`
	Feedback      string  `key:"feedback" doc:"how 'no outcome yet' is told to the network" enum:"drop-weights|constant|flag"`
	FeedbackValue float64 `key:"feedback_value" doc:"constant: the value, in standardised units" default:"0"`
}

// Loss is the loss of two answers.
type Loss struct {
	Beta  float64 `key:"beta" doc:"exponent of the beta-NLL; 0 is the plain negative log likelihood"`
	Pairs string  `key:"pairs" doc:"which of a pair's outcomes is fed back: each in turn, one at random in every epoch, or the first" enum:"symmetrised|swap|plain"`
}

// Optimizer is Adam and its schedule.
type Optimizer struct {
	Name         string  `key:"name" doc:"the optimiser" enum:"adam"`
	LearningRate float64 `key:"learning_rate" doc:"step size"`
	WeightDecay  float64 `key:"weight_decay" doc:"decoupled weight decay (AdamW): each step multiplies the weights by 1 - learning_rate*weight_decay" default:"0"`
	Batch        int     `key:"batch" doc:"triplets per step"`
	Epochs       int     `key:"epochs" doc:"passes over the training triplets"`
	Schedule     string  `key:"schedule" doc:"the step size is constant, or falls to zero along a cosine over the epochs" enum:"constant|cosine"`
}

// Estimate is how E|cov| is sampled.
type Estimate struct {
	Samples int    `key:"samples" doc:"Monte-Carlo samples of the paper's estimator"`
	Sampler string `key:"sampler" doc:"how they are drawn: pairs of opposite noise, or independently (the paper's, biased upwards)" enum:"antithetic|plain"`
}

// Split is one rule of what is held out.
type Split struct {
	Name   string
	Test   Rule     `key:"test" doc:"the held-out test set: a value, list, {min, max} or {near, within} per condition; all must hold"`
	Each   []string `key:"each" doc:"instead of test: conditions; one split for each value of each of them, named condition=value. splits: {each: blades} is short for it"`
	Blocks int      `key:"blocks" doc:"each: hold out so many blocks of neighbouring values instead of single values, named condition=from:to; 0: single values" default:"0"`
}

// NamedNumber is one entry of a mapping from names to numbers, in file order.
type NamedNumber struct {
	Name  string
	Value float64
}

// NamedString is one entry of a mapping from names to strings, in file order.
type NamedString struct{ Name, Value string }

// Default values; what is not set here is zero.
func defaultFile() File {
	return File{Version: 1, Workdir: "runs", Kernels: "auto", Executor: Executor{Slurm{Retries: 2, RetryMem: 1}}}
}

func defaultExperiment() Experiment {
	return Experiment{
		Ingest: Ingest{Truncated: "error", Axes: "wind", ThetaFrom: "plane", OnBadRecording: "fail", Data: "measured"},
		DSP: DSP{
			Segments: 8, Window: "hann", Harmonics: 5, Tolerance: 0.03, MinBins: 2, Amplitude: "band", Output: "dB",
			Speed: "refine", EmergenceDB: 6, Censored: "keep", Samples: 250,
		},
		Train: Train{
			Model:       Model{Hidden: []int{64, 64}, Dropout: 0.05, Feedback: "drop-weights"},
			Loss:        Loss{Beta: 0.5, Pairs: "symmetrised"},
			Optimizer:   Optimizer{Name: "adam", LearningRate: 1e-3, Batch: 32, Epochs: 500, Schedule: "constant"},
			Standardise: true, Seeds: 5, Members: 5,
			Estimate: Estimate{Samples: 1000, Sampler: "antithetic"},
		},
	}
}

// setDefaults is called on a nested optional section before it is read.
func (t *Table) setDefaults() { t.Pairs = "same-run" }

// Find returns the value of name, and whether it is there.
func Find(list []NamedString, name string) (string, bool) {
	for _, e := range list {
		if e.Name == name {
			return e.Value, true
		}
	}
	return "", false
}
