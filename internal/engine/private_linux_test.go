package engine_test

import (
	"testing"
	"time"

	"tare/internal/driver/drivertest"
	"tare/internal/engine"
)

func TestMain(m *testing.M) { drivertest.Main(m) }

// needEngine skips the test where no private engine can be had, and says why.
func needEngine(t *testing.T) {
	t.Helper()
	drivertest.NeedLab(t)
	if err := engine.Lacking(t.Context()); err != nil {
		t.Skip(err)
	}
}

func TestStartBoth(t *testing.T) {
	needEngine(t)
	l := drivertest.Lab(t, nil)
	began := time.Now()
	a, b, err := engine.StartBoth(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(time.Since(began))
	began = time.Now()
	if err := engine.CloseAll(a, b); err != nil {
		t.Error(err)
	}
	t.Log(time.Since(began))
}
