package sums

import (
	"cmp"
	"strconv"

	"tare/internal/result"
	"tare/internal/study"
)

// Requests returns what the workloads of HTTP and gRPC send, in their order: these alone have keep_alive or tls.
func Requests(workloads []study.Workload) []result.Requests {
	var out []result.Requests
	for _, w := range workloads {
		if w.KeepAlive == "" && w.TLS == "" {
			continue
		}
		r := result.Requests{Workload: w.ID}
		add := func(key, value string) {
			if value != "" {
				r.Settings = append(r.Settings, result.Fact{Name: key, Value: value})
			}
		}
		number := func(key string, n int) {
			if n > 0 {
				add(key, strconv.Itoa(n))
			}
		}
		number("flows", w.Flows)
		number("streams", w.Streams)
		add("keep_alive", w.KeepAlive)
		add("tls", cmp.Or(w.TLS, study.Off))
		add("resumption", w.Resumption)
		add("streaming", w.Streaming)
		number("messages", w.Messages)
		if w.RequestSize > 0 {
			add("request_size", w.RequestSize.String())
		}
		if w.ResponseSize > 0 {
			add("response_size", w.ResponseSize.String())
		}
		add("response_mix", w.ResponseMix)
		number("transaction_rate", w.TransactionRate)
		out = append(out, r)
	}
	return out
}
