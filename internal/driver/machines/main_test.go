package machines_test

import (
	"testing"

	"tare/internal/driver/drivertest"
)

func TestMain(m *testing.M) { drivertest.Main(m) }
