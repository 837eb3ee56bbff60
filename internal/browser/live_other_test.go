//go:build !linux

package browser

import (
	"testing"

	"tare/internal/testkit/testneed"
)

func testLive(t *testing.T, _ browser) {
	testneed.Missing(t, testneed.Labs, "they are created on Linux only")
}
