package sums_test

import (
	"testing"

	"tare/internal/analysis/sums"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/testkit/must"
)

// What is sent is told of workloads of HTTP and gRPC only, with TLS off where a study does not set it.
func TestRequestsOf(t *testing.T) {
	must.Equal(t, []result.Requests{
		{Workload: "a", Settings: []result.Fact{{Name: "flows", Value: "2"}, {Name: "keep_alive", Value: "off"}, {Name: "tls", Value: "on"}, {Name: "resumption", Value: "on"}, {Name: "response_size", Value: "1KiB"}}},
		{Workload: "b", Settings: []result.Fact{{Name: "streams", Value: "10"}, {Name: "tls", Value: "off"}, {Name: "request_size", Value: "3"}, {Name: "response_size", Value: "16KiB"}, {Name: "transaction_rate", Value: "500"}}},
	}, sums.Requests([]study.Workload{
		{ID: "a", Kind: "http", Flows: 2, KeepAlive: study.Off, TLS: study.On, Resumption: study.On, ResponseSize: 1 << 10},
		{ID: "c", Kind: "tcp_rr", Flows: 2, ResponseSize: 1},
		{ID: "b", Kind: "http2", TLS: study.Off, Streams: 10, RequestSize: 3, ResponseSize: 16 << 10, TransactionRate: 500},
	}))
}
