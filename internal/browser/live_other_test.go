//go:build !linux

package browser

import "testing"

func testLive(t *testing.T, _ browser) { t.Skip("labs are made on Linux only") }
