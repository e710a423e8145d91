package scaffold_test

import (
	"fmt"
	"os"
	"path/filepath"

	"doubletake/cmd/app/scaffold"
)

func ExampleLook() {
	dir, err := os.MkdirTemp("", "wing")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	for name, lift := range map[string]string{"a0_u9.5.csv": "0.1", "a4_u9.5.csv": "0.8", "a8_u9.5.csv": "1.5"} {
		text := "lift_n,drag_n\n" + lift + ",0.1\n1.6,0.2\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			fmt.Println(err)
			return
		}
	}

	r, err := scaffold.Look(dir)
	if err != nil {
		fmt.Println(err)
		return
	}

	for _, n := range r.Notes {
		fmt.Println(n)
	}
	// Output:
	// 3 text files; the first, a0_u9.5.csv: comma separated, 2 channels of 2 samples
	// the names: input: alpha_deg
	// the names: remark (the same everywhere): u_inf_m_s
}
