package tool

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"tare/internal/result"
	"tare/internal/traffic"
	"tare/internal/traffic/http1"
	"tare/internal/traffic/workloads"
	"tare/internal/warning"
)

// asks reports whether a tool of that name is a client of the built-in server.
func asks(name string) bool {
	t, err := Named(name)
	return err == nil && t.asks
}

// url is what a client asks for.
func (j job) url() string {
	return "http://" + net.JoinHostPort(j.host, strconv.Itoa(int(j.port))) + "/"
}

// tag is the header field with which the server answers, in lower case, as HTTP/2 writes it.
func (j job) tag() string {
	return strings.ToLower(http1.TagField) + ": " + http1.RequestTag(j.Token)
}

// connections is how many connections a client keeps open, and together how many requests each has in progress.
func (j job) connections() (n, together int) {
	if j.Kind == http2Kind {
		return max(j.Flows, 1), j.Streams
	}
	return j.Streams, 1
}

// answer opens the server of the built-in workload.
func (w workload) answer(p traffic.Params) (traffic.Server, error) {
	if _, err := w.endpoint(p, atServer); err != nil {
		return nil, fmt.Errorf("listen for %s: %w", w.tool.Name, err)
	}
	built, err := workloads.Named(w.kind)
	if err != nil {
		return nil, err
	}
	p.Tool = ""
	s, err := built.Listen(p)
	if err != nil {
		return nil, err
	}
	return answering{s, w.tool.probes}, nil
}

// answering is a built-in server whose client is a tool.
type answering struct {
	traffic.Server
	probes int
}

// Serve is that of the built-in server, without the connections of the tool that have no request.
func (s answering) Serve(ctx context.Context, peer traffic.Peer) (traffic.Report, error) {
	r, err := s.Server.Serve(ctx, peer)
	r.Refused = max(0, r.Refused-s.probes)
	return r, err
}

// answers is what a client of requests counted, in one form for all tools.
type answers struct {
	whole, seconds float64 // of the run, and of its timed window: s
	answered       int64   // whole responses of the window that are no errors
	failed         []failed
}

// failed is how many requests failed in one way.
type failed struct {
	n   int64
	how string
}

// maxAnswers bounds a count of responses, far above what a trial can have: with the largest size of a response their bytes fit.
const maxAnswers = 1e11

// requests reads a count of requests.
func requests(digits, of string) (int64, error) {
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || n > maxAnswers {
		return 0, fmt.Errorf("its output has %.40s %s, which is impossible", digits, of)
	}
	return n, nil
}

func (a answers) lost() *int64 { return nil }

// failures returns how many requests failed, with the kinds that occurred.
func (a answers) failures() (n int64, kinds string) {
	var parts []string
	for _, f := range a.failed {
		if f.n > 0 {
			n += f.n
			parts = append(parts, fmt.Sprintf("%d %s", f.n, f.how))
		}
	}
	return n, strings.Join(parts, ", ")
}

// report creates the report of the client. What it received are the bodies of its responses: tools count other bytes, too, or
// round them. How much it sent is not known; Check compares its responses with those that the server has sent.
func (a answers) report(j job) (traffic.Report, error) {
	lost, kinds := a.failures()
	switch {
	case a.answered == 0 && lost == 0:
		return traffic.Report{}, errors.New("it had no response")
	case a.answered == 0:
		return traffic.Report{}, fmt.Errorf("it had no response without an error: %s", kinds)
	case a.seconds <= 0 || a.whole < a.seconds:
		return traffic.Report{}, fmt.Errorf("its output is of a window of %g s in %g s, which is impossible", a.seconds, a.whole)
	}
	connections, together := j.connections()
	body := a.answered * int64(j.ResponseSize)
	r := traffic.Report{
		End:         result.End{CPU: j.Pinned(), Received: body},
		Connections: connections, Messages: a.answered, Together: together, Traffic: a.whole,
		Window: traffic.Window{Seconds: a.seconds, Received: body, Messages: a.answered, Failed: lost},
	}
	if lost > 0 {
		r.Notes = append(r.Notes, warning.NewNote(warning.LostExchanges, "%d of %d requests failed: %s", lost, lost+a.answered, kinds))
	}
	return r, nil
}

// answerMetrics are those of the built-in workload that a rate and a share of failures give. There is no series.
func answerMetrics(kind string, p traffic.Params, client, server traffic.Report) (map[string]float64, *result.Series) {
	built, err := workloads.Named(kind)
	if err != nil {
		return nil, nil
	}
	m, _ := built.Metrics(p, client, server)
	return m, nil
}

// checkAnswers returns an error if the tool counts more responses than the trial's server has sent: something else answered, or the
// tool counts wrongly.
func checkAnswers(client, server traffic.Report) error {
	if client.Messages > server.Messages {
		return fmt.Errorf("%s reports %d responses, but the server of the trial sent %d: something on the path answers in its place",
			client.Tool.Name, client.Messages, server.Messages)
	}
	return nil
}
