package existing_test

import (
	"testing"

	"tare/internal/testkit/drivertest"
)

func TestMain(m *testing.M) { drivertest.MainInNamespaces(m) }
