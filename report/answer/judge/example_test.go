package judge_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"doubletake/report/answer/judge"
	"doubletake/report/pairs"
)

// A line through the origin is judged by three pairs.
func Example() {
	dir, err := os.MkdirTemp("", "judge")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	predictions := filepath.Join(dir, "line.csv")
	measured := filepath.Join(dir, "pairs.csv")
	for path, text := range map[string]string{
		measured:    "alpha_deg,cl_1,cl_2\n0,0.01,0.02\n4,0.43,0.44\n8,0.85,0.84\n",
		predictions: "alpha_deg,cl,cl_low,cl_high\n0,0,-0.05,0.05\n4,0.4,0.35,0.45\n8,0.8,0.75,0.85\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			fmt.Println(err)
			return
		}
	}

	e, err := judge.Judge(context.Background(), judge.Options{
		Predictions: predictions, Against: pairs.FromPath(measured), Level: 0.95,
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	t := e.Splits[0].Network[0]
	fmt.Printf("%s: error %.4f, %.0f %% inside, %s\n", t.Outcome, t.RMSE, 100*t.Inside, t.Grade())
	// Output:
	// cl: error 0.0337, 100 % inside, undecided
}
