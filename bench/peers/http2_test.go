package peers

import (
	"testing"

	"tare/internal/testkit/must"
)

func TestH2loadRate(t *testing.T) {
	const finished = "finished in 1.00s, 211342.00 req/s, 218.66MB/s\n"
	const requests = "requests: 211342 total, 211352 started, 211342 done, 211342 succeeded, 0 failed, 0 errored, 0 timeout\n"
	must.Equal(t, 211342.0, must.Get(h2loadRate("starting benchmark...\n\n"+finished+requests+"status codes: 211342 2xx\n"))(t))
	for text, why := range map[string]string{
		"":       "no rate",
		finished: "no rate",
		finished + "requests: 10 total, 10 started, 10 done, 9 succeeded, 1 failed, 0 errored, 0 timeout\n": "h2load had errors: requests: 10 total",
		finished + "requests: 0 total, 10 started, 0 done, 0 succeeded, 0 failed, 0 errored, 0 timeout\n":   "h2load had errors",
	} {
		_, err := h2loadRate(text)
		must.Fail(t, err, why)
	}
}
