package netns_test

import (
	"testing"

	"tare/internal/driver/drivertest"
	"tare/internal/driver/netns"
)

func TestMain(m *testing.M) { drivertest.Main(m) }

func TestConformance(t *testing.T) { drivertest.Conformance(t, netns.Driver{}) }
