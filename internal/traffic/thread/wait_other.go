//go:build !linux

package thread

import "time"

func waited() (time.Duration, bool) { return 0, false }
