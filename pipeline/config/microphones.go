package config

import "doubletake/ingest/setting"

func validateMicrophones(m *setting.Microphones, key string, fail failFunc) {
	fail.when(m.File == "", key, "expected file: the table of the microphones")
}
