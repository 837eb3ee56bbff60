package udp

import (
	"testing"

	"tare/internal/study"
	"tare/internal/testkit/must"
	"tare/internal/traffic"
)

// The packet rate is that of the datagrams that arrived in time; where IP may fragment them, it is unknown.
func TestPacketRate(t *testing.T) {
	t.Parallel()
	received := traffic.Report{}
	received.Window.Seconds, received.Window.Received = 2, 36*5000
	p := traffic.Params{}
	p.PayloadSize, p.Fragment = 36, study.Off
	m, _ := stream{}.Metrics(p, traffic.Report{}, received)
	must.Equal(t, 2500.0, m["packet_rate"])
	p.Fragment = study.On
	m, _ = stream{}.Metrics(p, traffic.Report{}, received)
	if _, known := m["packet_rate"]; known || m["goodput"] != 36*5000*4 {
		t.Errorf("with fragments: %v", m)
	}
}
