package tool

import (
	"tare/internal/result"
	"tare/internal/traffic"
)

// datagrams returns what one direction sent and received over the whole trial.
func datagrams(from, to traffic.Report) (sent, received int64) {
	if from.Datagrams == nil || to.Datagrams == nil {
		return 0, 0
	}
	return from.Datagrams.Total().Sent, to.Datagrams.Total().Received
}

// loss returns the loss ratio (RFC 7680: 0 to 1), nil if it is unknown.
func loss(from, to traffic.Report) *float64 {
	sent, received := datagrams(from, to)
	if sent <= 0 || received > sent {
		return nil
	}
	ratio := float64(sent-received) / float64(sent)
	return &ratio
}

// datagramMetrics returns the metrics of a UDP workload run by a tool.
func datagramMetrics(p traffic.Params, client, server traffic.Report) (map[string]float64, *result.Series) {
	if p.Both() {
		return bothMetrics(client, server)
	}
	from, to := client, server
	if p.Reverse() {
		from, to = server, client
	}
	m := map[string]float64{}
	put(m, "goodput", to.Window.Received, to)
	put(m, "offered_load", from.Window.Sent, from)
	if l := loss(from, to); l != nil {
		m["loss_ratio"] = *l
	}
	if _, received := datagrams(from, to); received > 0 && to.Tool != nil && to.Tool.Name != ntttcpName {
		m["reordered_ratio"] = float64(traffic.Count(to.Datagrams.Reordered)) / float64(received)
	}
	return m, goodputSeries(to.Window.Series, to)
}

func bothMetrics(client, server traffic.Report) (map[string]float64, *result.Series) {
	m := map[string]float64{}
	put(m, "goodput_forward", server.Window.Received, server)
	put(m, "goodput_reverse", client.Window.Received, client)
	if f, ok := m["goodput_forward"]; ok {
		if r, ok := m["goodput_reverse"]; ok {
			m["goodput"] = f + r
		}
	}
	if f, r := loss(client, server), loss(server, client); f != nil && r != nil {
		sf, rf := datagrams(client, server)
		sr, rr := datagrams(server, client)
		m["loss_ratio"] = float64(sf+sr-rf-rr) / float64(sf+sr)
	}
	n := min(len(client.Window.Series), len(server.Window.Series))
	sum := make([]float64, n)
	for i := range sum {
		sum[i] = client.Window.Series[i] + server.Window.Series[i]
	}
	return m, goodputSeries(sum, server)
}

func put(m map[string]float64, name string, bytes int64, r traffic.Report) {
	if r.Window.Seconds > 0 {
		m[name] = float64(bytes) * 8 / r.Window.Seconds
	}
}

func goodputSeries(bytesPerSecond []float64, r traffic.Report) *result.Series {
	bits := make([]float64, len(bytesPerSecond))
	for i, v := range bytesPerSecond {
		bits[i] = v * 8
	}
	return &result.Series{Metric: "goodput", Interval: r.Window.Interval, Values: bits}
}
