package reportstage_test

import (
	"fmt"

	"doubletake/pipeline/stages/reportstage"
)

// Each experiment has one task that writes its report.
func ExampleReportTask() {
	fmt.Println(reportstage.ReportTask("drone"))
	// Output: drone/report
}
