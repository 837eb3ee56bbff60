package studyfile_test

import (
	"strings"
	"testing"
	"time"

	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/study/studyfile"
	"tare/internal/testkit/must"
	"tare/internal/testkit/studytest"
)

// The reader's network is read from a study as a whole and alone, and changes nothing that decides what results are.
func TestNetwork(t *testing.T) {
	const rest = "modes: [host]\nworkloads: [tcp_rr]\n"
	for src, want := range map[string]string{
		"network: {rtt: 0s}":                      "network.rtt",
		"network: {rtt: 2m}":                      "1m",
		"network: {rtt: 300us, like: web1}":       "ssh://[user@]name[:port]",
		"network: {like: ssh://web1}":             "a study measures no round trip",
		"network: {rtt: 300us, like: ssh://web1}": "",
	} {
		s, err := studyfile.Decode("x.yaml", []byte(rest+src+"\n"), studytest.Catalog())
		if err == nil {
			s, err = study.Resolve(s, studytest.Catalog())
		}
		alone := studyfile.NetworkOf([]byte(rest + src + "\n"))
		if want != "" {
			must.Fail(t, err, strings.TrimPrefix(want, "network."))
			must.True(t, alone.RTT == 0, "%s: %+v is read alone", src, alone)
			continue
		}
		must.Do(t, err)
		must.Equal(t, study.Network{RTT: quantity.Duration(300 * time.Microsecond), Like: "ssh://web1"}, s.Network)
		must.Equal(t, s.Network, alone)
		other := s
		other.Network = study.Network{}
		must.Equal(t, 0, len(study.Differences(s, other)))
	}
}
