package view

import (
	"testing"

	"tare/internal/testkit/reports"
)

// A report of distributions that somebody edited can be written.
func TestEditedDistributions(t *testing.T) {
	in := reports.WithECDFs()
	for i := range in.Run.ECDFs {
		in.Run.ECDFs[i].Counts = in.Run.ECDFs[i].Counts[:3]
	}
	everything(in)
}
