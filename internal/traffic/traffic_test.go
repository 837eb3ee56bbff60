package traffic

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"tare/internal/result"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func params(kind string) Params {
	return Params{Kind: kind, Address: "127.0.0.1:0", Token: "0123456789abcdef", CPU: -1, Streams: 1, WriteSize: 1400,
		SendBuffer: -1, ReceiveBuffer: -1, Warmup: 50 * time.Millisecond, Duration: 250 * time.Millisecond}
}

// pair runs both ends of a trial.
func pair(t *testing.T, p Params) (client, server Report, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	w, err := Named(p.Kind)
	if err != nil {
		t.Fatal(err)
	}
	s, err := w.Listen(p)
	if err != nil {
		t.Fatal(err)
	}
	type answer struct {
		r   Report
		err error
	}
	served := make(chan answer, 1)
	go func() {
		r, err := s.Serve(ctx, nil)
		served <- answer{r, err}
	}()
	p.Address = fmt.Sprintf("127.0.0.1:%d", s.Port())
	client, err = w.Dial(ctx, p, nil)
	a := <-served
	return client, a.r, errors.Join(err, a.err)
}

// Whatever is sent arrives, in every shape of a trial, and the two ends agree.
func TestTotalsAgree(t *testing.T) {
	for _, kind := range []string{"tcp_stream", "tcp_rr"} {
		for _, streams := range []int{1, 4} {
			for _, reverse := range []bool{false, true} {
				p := params(kind)
				p.Streams, p.Reverse = streams, reverse
				client, server, err := pair(t, p)
				name := fmt.Sprintf("%s, %d streams, reverse %t", kind, streams, reverse)
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				if client.Sent != server.Received || server.Sent != client.Received || client.Sent+server.Sent == 0 {
					t.Errorf("%s: client sent %d and received %d, server %d and %d", name, client.Sent, client.Received, server.Sent, server.Received)
				}
				w, _ := Named(kind)
				m, series := w.Metrics(p, client, server)
				if len(series.Values) != 3 {
					t.Errorf("%s: %d intervals in 0.25 s, want 3", name, len(series.Values))
				}
				for metric, v := range m {
					known, ok := result.MetricNamed(metric)
					if !ok || v < 0 || v == 0 && known.Primary {
						t.Errorf("%s: metric %s = %g", name, metric, v)
					}
				}
			}
		}
	}
}

// Driven in slices, a trial has its full window, a value for each slice, and
// nothing of it is lost.
func TestSlices(t *testing.T) {
	for _, w := range []Workload{tcpStream{fastest()}, tcpRR{fastest()}} {
		for _, reverse := range []bool{false, true} {
			p := params(w.Spec().Kind)
			p.Reverse, p.Slice, p.Rounds = reverse, 50*time.Millisecond, 4
			s, err := w.Listen(p)
			if err != nil {
				t.Fatal(err)
			}
			type answer struct {
				r   Report
				err error
			}
			served := make(chan answer, 1)
			go func() {
				r, err := s.Serve(t.Context(), nil)
				served <- answer{r, err}
			}()
			p.Address = fmt.Sprintf("127.0.0.1:%d", s.Port())
			session, err := w.(Sliced).Open(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			for range p.Rounds {
				if err := session.Slice(t.Context(), p.Slice); err != nil {
					t.Fatal(err)
				}
			}
			client := session.Close()
			a := <-served
			if a.err != nil {
				t.Fatal(a.err)
			}
			name := fmt.Sprintf("%s, reverse %t", p.Kind, reverse)
			if client.Sent != a.r.Received || a.r.Sent != client.Received || client.Sent+a.r.Sent == 0 {
				t.Errorf("%s: client sent %d and received %d, server %d and %d", name, client.Sent, client.Received, a.r.Sent, a.r.Received)
			}
			m, series := w.Metrics(p, client, a.r)
			if len(series.Values) != 4 || series.Interval < 0.0399 || series.Interval > 0.0401 {
				t.Errorf("%s: series %+v, want 4 values of 40 ms", name, series)
			}
			var sum float64
			for _, v := range series.Values {
				sum += v / 4
			}
			if want := m[series.Metric]; sum < want*0.999 || sum > want*1.001 || want == 0 {
				t.Errorf("%s: the series gives %g, the metric is %g", name, sum, want)
			}
		}
	}
}

// The mean of the series is the metric.
func TestSeriesAddsUp(t *testing.T) {
	for _, kind := range []string{"tcp_stream", "tcp_rr"} {
		p := params(kind)
		client, server, err := pair(t, p)
		if err != nil {
			t.Fatal(err)
		}
		w, _ := Named(kind)
		m, series := w.Metrics(p, client, server)
		sum := series.Values[0]*0.1 + series.Values[1]*0.1 + series.Values[2]*0.05
		if mean, want := sum/0.25, m[series.Metric]; mean < want*0.999 || mean > want*1.001 {
			t.Errorf("%s: the series gives %g, the metric is %g", kind, mean, want)
		}
	}
}

// Strangers on the data port are turned away and never counted.
func TestStrangers(t *testing.T) {
	for _, kind := range []string{"tcp_stream", "tcp_rr"} {
		p := params(kind)
		w, _ := Named(kind)
		s, err := w.Listen(p)
		if err != nil {
			t.Fatal(err)
		}
		addr := fmt.Sprintf("127.0.0.1:%d", s.Port())
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		served := make(chan Report, 1)
		go func() {
			r, err := s.Serve(ctx, nil)
			if err != nil {
				t.Error(err)
			}
			served <- r
		}()
		for _, says := range []string{"fedcba9876543210", "GET / HTTP/1.1\r\n\r\n", ""} {
			c, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Write([]byte(says)); err != nil {
				t.Fatal(err)
			}
			defer c.Close() // the silent one stays, and must not hold up the trial
		}
		p.Address = addr
		client, err := w.Dial(ctx, p, nil)
		if err != nil {
			t.Fatal(err)
		}
		r := <-served
		if r.Refused != 3 || r.Received != client.Sent {
			t.Errorf("%s: refused %d, received %d of %d", kind, r.Refused, r.Received, client.Sent)
		}
	}
}

// A sender that goes away before the window is over ends the trial with a reason.
func TestSenderGone(t *testing.T) {
	p := params("tcp_stream")
	p.Duration = time.Minute
	s, err := tcpStream{fastest()}.Listen(p)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() {
		_, err := s.Serve(t.Context(), nil)
		served <- err
	}()
	c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", s.Port()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write([]byte(p.Token)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	c.Close()
	if err := <-served; err == nil || !strings.Contains(err.Error(), "the sender stopped after") {
		t.Errorf("got %v", err)
	}
}

// A receiver that goes away does too.
func TestReceiverGone(t *testing.T) {
	p := params("tcp_stream")
	p.Duration, p.Reverse = time.Minute, true
	s, err := tcpStream{fastest()}.Listen(p)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() {
		_, err := s.Serve(t.Context(), nil)
		served <- err
	}()
	c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", s.Port()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write([]byte(p.Token)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	c.Close()
	if err := <-served; err == nil || !strings.Contains(err.Error(), "send: ") {
		t.Errorf("got %v", err)
	}
}

// A trial that is given up ends both ends at once.
func TestGivenUp(t *testing.T) {
	for _, kind := range []string{"tcp_stream", "tcp_rr"} {
		p := params(kind)
		p.Duration = time.Minute
		w, _ := Named(kind)
		ctx, cancel := context.WithCancelCause(t.Context())
		s, err := w.Listen(p)
		if err != nil {
			t.Fatal(err)
		}
		served := make(chan error, 1)
		go func() {
			_, err := s.Serve(ctx, nil)
			served <- err
		}()
		why := errors.New("enough")
		time.AfterFunc(100*time.Millisecond, func() { cancel(why) })
		p.Address = fmt.Sprintf("127.0.0.1:%d", s.Port())
		_, err = w.Dial(ctx, p, nil)
		serr := <-served
		// To the server of tcp_rr, a client that gives up has simply finished.
		if err == nil || serr == nil && kind != "tcp_rr" {
			t.Errorf("%s: given up, but the client gave %v and the server %v", kind, err, serr)
		}
	}
}

func TestBook(t *testing.T) {
	p := Params{Warmup: time.Second, Duration: 250 * time.Millisecond}
	b := newBook(p)
	for _, e := range []struct {
		at time.Duration
		n  int64
	}{{0, 1}, {999 * time.Millisecond, 2}, {time.Second, 4}, {1099 * time.Millisecond, 8}, {1100 * time.Millisecond, 16}, {1249 * time.Millisecond, 32}, {1250 * time.Millisecond, 64}} {
		b.add(e.at, e.n)
	}
	if b.total != 127 || b.window != 60 || !slices.Equal(b.slots, []int64{12, 16, 32}) {
		t.Errorf("%+v", b)
	}
	if diff := cmp.Diff([]float64{240, 320, 1280}, series(p, []*book{b, b})); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
}

// Nothing booked is lost: the window is the sum of its intervals, whatever the
// times.
func TestBookAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBook(Params{
			Warmup:   time.Duration(rapid.Int64Range(0, int64(time.Second)).Draw(t, "warmup")),
			Duration: time.Duration(rapid.Int64Range(int64(time.Millisecond), int64(2*time.Second)).Draw(t, "duration")),
		})
		var total int64
		for _, at := range rapid.SliceOf(rapid.Int64Range(0, int64(4*time.Second))).Draw(t, "times") {
			b.add(time.Duration(at), 3)
			total += 3
		}
		var sum int64
		for _, n := range b.slots {
			sum += n
		}
		if b.total != total || b.window != sum {
			t.Fatalf("total %d of %d, window %d of %d", b.total, total, b.window, sum)
		}
	})
}

// Every workload has what the study file and the reports need of it.
func TestRegistry(t *testing.T) {
	for _, w := range All() {
		s := w.Spec()
		if s.Kind == "" || s.Title == "" || len(s.Params) == 0 {
			t.Errorf("spec %+v", s)
		}
		for _, profile := range []string{"quick", "standard", "paper"} {
			if l := s.Lengths[profile]; l.Duration <= 0 {
				t.Errorf("%s has no length in profile %s", s.Kind, profile)
			}
		}
	}
	if _, err := Named("tcp_nothing"); err == nil {
		t.Error("an unknown workload was found")
	}
}
