package tool

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/traffic"
	"tare/internal/traffic/workloads"
)

// workload is one kind of traffic made by a tool. It is never traffic.Sliced:
// a process cannot be driven in turns, so its trials run all at once.
type workload struct {
	tool Tool
	kind string
}

// The bounds of what a process may take beyond its traffic.
const (
	listenTimeout = 10 * time.Second // until the server listens
	endTimeout    = 5 * time.Second  // until the server has ended behind the client
)

func (w workload) Spec() traffic.Spec {
	spec := traffic.Spec{Title: w.kind + " by " + w.tool.Name, WorkloadSpec: study.WorkloadSpec{Kind: w.kind}}
	if built, err := workloads.Named(w.kind); err == nil {
		spec.WorkloadSpec = built.Spec().WorkloadSpec
	}
	spec.Directions = slices.Clone(w.tool.Directions)
	return spec
}

// Listen starts the tool's server and returns when it listens.
func (w workload) Listen(p traffic.Params) (traffic.Server, error) {
	s, err := w.listen(p)
	if err != nil {
		return nil, fmt.Errorf("listen with %s: %w", w.tool.Name, err)
	}
	return s, nil
}

func (w workload) listen(p traffic.Params) (*server, error) {
	j, err := w.job(p, atServer)
	if err != nil {
		return nil, err
	}
	if j.port != 0 && w.tool.Name == ntttcpName {
		return nil, fmt.Errorf("this path fixes port %d, and ntttcp needs the one below it too: weigh a mode without a published port", j.port)
	}
	if j.port == 0 {
		if j.port, err = freePort(p.Address, w.tool.Name == ntttcpName); err != nil {
			return nil, err
		}
	}
	run, err := w.start(j)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), listenTimeout)
	defer cancel()
	if err := run.proc.waitListening(ctx, run.job.port, w.kind == udpStream && w.tool.Name == iperf2Name); err != nil {
		out := run.proc.end()
		run.close()
		return nil, preferToolError(err, run.job, w.tool, out)
	}
	return &server{run}, nil
}

// preferToolError prefers what a tool that has ended says to the bare fact.
func preferToolError(err error, j job, t Tool, out output) error {
	if _, said := t.read(j, out); said != nil {
		return fmt.Errorf("%w: %w", err, said)
	}
	return err
}

// server is a tool's server that listens.
type server struct{ *running }

func (s *server) Port() uint16 { return s.job.port }

// Serve waits until the tool's server has ended, which it does behind its client.
func (s *server) Serve(ctx context.Context, peer traffic.Peer) (traffic.Report, error) {
	defer s.close()
	late, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-late.Done():
			return
		case <-peer: // a nil one never comes
		}
		select {
		case <-late.Done():
		case <-time.After(endTimeout):
			cancel(fmt.Errorf("it had not ended %s behind its client", endTimeout))
		}
	}()
	return s.report(late)
}

// Dial runs the tool's client.
func (w workload) Dial(ctx context.Context, p traffic.Params, _ traffic.Peer) (traffic.Report, error) {
	j, err := w.job(p, atClient)
	if err != nil {
		return traffic.Report{}, fmt.Errorf("dial with %s: %w", w.tool.Name, err)
	}
	run, err := w.start(j)
	if err != nil {
		return traffic.Report{}, fmt.Errorf("dial with %s: %w", w.tool.Name, err)
	}
	defer run.close()
	return run.report(ctx)
}

// job checks what the tool could not do at all, and finds the tool.
func (w workload) job(p traffic.Params, s side) (job, error) {
	addr, err := netip.ParseAddrPort(p.Address)
	if err != nil {
		return job{}, err
	}
	j := job{Params: p, side: s, port: addr.Port(), ipv6: addr.Addr().Is6() && !addr.Addr().Is4In6(), host: addr.Addr().Unmap().String()}
	if addr.Addr().IsUnspecified() {
		j.host = ""
	}
	if err := w.checkSupported(j); err != nil {
		return job{}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), listenTimeout)
	defer cancel()
	if j.build, err = w.tool.find(ctx); err != nil {
		return job{}, err
	}
	if want := max(p.SendBuffer, p.ReceiveBuffer); want > 0 {
		j.grantedBuffer = min(want, grantedBufferSize(want))
	}
	return j, nil
}

func (w workload) checkSupported(j job) error {
	direction := study.Forward
	switch {
	case j.Both:
		direction = study.Both
	case j.Reverse:
		direction = study.Reverse
	}
	switch {
	case !slices.Contains(w.tool.Directions, direction):
		return fmt.Errorf("it knows no direction %s, only %s", direction, strings.Join(w.tool.Directions, ", "))
	case j.Streams < 1:
		return errors.New("at least 1 stream is needed")
	case j.Duration <= 0:
		return errors.New("the timed window has no length")
	case j.Offload:
		return errors.New("UDP offload is only for the built-in generator: set offload to off")
	case j.udp() && j.PayloadSize < 1:
		return errors.New("the payload of a datagram has no size")
	case j.side == atClient && j.port == 0:
		return fmt.Errorf("%s names no port", j.Address)
	case j.SendBuffer > 0 && j.ReceiveBuffer > 0 && j.SendBuffer != j.ReceiveBuffer:
		return fmt.Errorf("it sets both buffers to one size: make send_buffer and receive_buffer alike, not %d and %d", j.SendBuffer, j.ReceiveBuffer)
	}
	return nil
}

// running is one end of a trial under way.
type running struct {
	tool   Tool
	job    job
	args   []string
	proc   *proc
	before kernelCount
}

func (w workload) start(j job) (*running, error) {
	folder, err := os.MkdirTemp("", "tare-tool-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for what %s writes: %w", w.tool.Name, err)
	}
	j.folder = folder
	run := &running{tool: w.tool, job: j}
	if run.args, err = w.tool.command(j); err == nil {
		run.before = readKernel()
		run.proc, err = start(j.CPU, j.build.path, run.args)
	}
	if err != nil {
		os.RemoveAll(folder)
		return nil, err
	}
	return run, nil
}

func (r *running) close() {
	r.proc.end()
	os.RemoveAll(r.job.folder)
}

// report waits for the end of the process and reads what it saw.
func (r *running) report(ctx context.Context) (traffic.Report, error) {
	rep, err := r.finish(ctx)
	if err != nil {
		return traffic.Report{}, fmt.Errorf("%s %s: %w", r.tool.Name, r.job.side, err)
	}
	return rep, nil
}

func (r *running) finish(ctx context.Context) (traffic.Report, error) {
	out, err := r.proc.wait(ctx)
	if err != nil {
		return traffic.Report{}, err
	}
	out.file = readFolder(r.job.folder)
	saw, err := r.tool.read(r.job, out)
	if err != nil {
		return traffic.Report{}, err
	}
	rep, err := saw.report(r.job)
	if err != nil {
		return traffic.Report{}, err
	}
	drain(ctx, r.job.port)
	readKernel().since(r.before).setUpperBound(&rep, r.job)
	rep.Notes = append(rep.Notes, r.job.notes()...)
	if words := strings.TrimSpace(string(out.stderr)); words != "" {
		first, _, _ := strings.Cut(words, "\n")
		rep.Notes = append(rep.Notes, traffic.Note{Code: NoteStderr, Text: fmt.Sprintf("%s %s: %.200s", r.tool.Name, r.job.side, first)})
	}
	rep.Tool = &traffic.ToolRun{
		Name: r.tool.Name, Version: r.job.build.version, Command: append([]string{r.tool.executable}, r.args...),
		Output: truncateOutput(append(slices.Clone(out.stdout), out.file...)), Lost: saw.lost(),
	}
	return rep, nil
}

// maxKeptOutput is how much of a tool's output a report keeps.
const maxKeptOutput = 64 << 10

// truncateOutput is an output, its middle left out where it is long: the head says how the
// tool ran, the tail has its totals.
func truncateOutput(out []byte) string {
	const gap = "\n... left out ...\n"
	if len(out) <= maxKeptOutput {
		return strings.ToValidUTF8(string(out), "?")
	}
	half := (maxKeptOutput - len(gap)) / 2
	return strings.ToValidUTF8(string(out[:half])+gap+string(out[len(out)-half:]), "?")
}

// Metrics are those of the built-in workload where its reports mean the same:
// for TCP. A tool's datagrams are counted over the whole trial.
func (w workload) Metrics(p traffic.Params, client, server traffic.Report) (map[string]float64, *result.Series) {
	if w.kind == tcpStream {
		if built, err := workloads.Named(w.kind); err == nil {
			return built.Metrics(p, client, server)
		}
	}
	return datagramMetrics(p, client, server)
}
