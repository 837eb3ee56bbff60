package traffic

import "tare/internal/result"

// Distributions are those of the durations of which a trial has percentiles among its
// metrics: round trips, times to connect and to the first byte, one-way delays. An
// external tool tells none.
func Distributions(p Params, client, server Report, metrics map[string]float64) []result.Distribution {
	receiver := server
	if p.Reverse {
		receiver = client
	}
	own := []struct {
		of   string
		hist *Distribution
	}{{"rtt", client.Window.RTT}, {"connect", client.Window.Connect}, {"first_byte", client.Window.FirstByte}}
	if d := receiver.Datagrams; d != nil {
		own = append(own, []struct {
			of   string
			hist *Distribution
		}{{"delay", d.Delay}, {"delay_variation", d.Variation}}...)
	}
	var out []result.Distribution
	for _, d := range own {
		if _, known := metrics[d.of+"_p50"]; !known {
			continue
		}
		if found := result.Distribute(d.of, d.hist.durations()); found != nil {
			out = append(out, *found)
		}
	}
	return out
}

// durations are the recorded durations, in seconds and as coarse as the histogram, with
// how many there are of each.
func (d *Distribution) durations() map[float64]int64 {
	out := map[float64]int64{}
	if d.Count() == 0 {
		return out
	}
	for _, bar := range d.hist.Distribution() {
		if bar.Count > 0 {
			out[float64(bar.To)/1e9] += bar.Count
		}
	}
	return out
}
