package runner

import (
	"testing"
	"time"

	"tare/internal/testkit/must"
)

// A step that the set-up before had and this one lacks is unknown, and a removal belongs to the set-up after it.
func TestStepsOfOneSetUp(t *testing.T) {
	had := map[string]time.Duration{"ADD": 1, "enforced": time.Second}
	has := map[string]time.Duration{"ADD": 1, "enforced": time.Second, "DEL": 2 * time.Second}
	must.Equal(t, map[string]float64{"ADD": 3, "DEL": 2}, steps(had, has, map[string]time.Duration{"ADD": 3 * time.Second}))
	must.True(t, steps(had, had, nil) == nil, "there is no step")
}
