package study

import (
	"testing"

	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
)

// A mix replaces the default of the one size, and excludes another.
func TestResponseMix(t *testing.T) {
	spec := WorkloadSpec{Kind: "http", Params: []string{"response_size"}, Optional: []string{"response_mix"}, Defaults: Workload{ResponseSize: 1 << 10}}
	w := must.Get(fill(Workload{Kind: "http", ResponseMix: "9x1KiB,1x1MiB"}, spec, Quick, false, false))(t)
	must.Equal(t, []any{quantity.Size(0), "9x1KiB,1x1MiB"}, []any{w.ResponseSize, w.ResponseMix})
	must.Equal(t, quantity.Size(1<<20), w.LargestResponse())
	w = must.Get(fill(Workload{Kind: "http"}, spec, Quick, false, false))(t)
	must.Equal(t, []quantity.Size{1 << 10, 1 << 10}, []quantity.Size{w.ResponseSize, w.LargestResponse()})
}
