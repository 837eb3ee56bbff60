package engine_test

import (
	"testing"

	"tare/internal/driver/drivertest"
	"tare/internal/engine"
	"tare/internal/lab"
)

// needEngine skips the test where no private engine can be had, and says why.
func needEngine(t *testing.T) {
	t.Helper()
	drivertest.NeedLab(t)
	if err := engine.Lacking(t.Context()); err != nil {
		t.Skip(err)
	}
}

// bothEngines starts the engines of a lab. They end with the test, before the lab.
func bothEngines(t *testing.T, l *lab.Lab) (a, b *engine.Private) {
	t.Helper()
	a, b, err := engine.StartBoth(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.CloseAll(a, b); err != nil {
			t.Error(err)
		}
	})
	return a, b
}
