// Package wire is the protocol between a controller and an agent: one JSON object per line over the
// agent's stdin and stdout.
package wire

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"tare/internal/observe"
	"tare/internal/observe/netstack"
	"tare/internal/result"
	"tare/internal/traffic"
)

// Version is the version of the protocol. Both sides are usually the same binary, so any difference
// is refused. Progress messages need no new version: an agent that does not know them sends none,
// and they are only sent on request.
const Version = 8

// MaxLine bounds the size of a message in bytes.
const MaxLine = 4 << 20

// Hello is the agent's first line.
type Hello struct {
	Agent int    `json:"tare_agent"` // Version
	Build string `json:"build"`
	ID    string `json:"id,omitempty"` // see agentfile.ID
	PID   int    `json:"pid"`
}

// Op is the operation that a request asks for.
type Op string

// The operations.
const (
	OpListen     Op = "listen" // be the server of a trial; the reply comes when the port is open
	OpDial       Op = "dial"   // be the client of a trial; the reply is the report, or comes when ready for slices
	OpSlice      Op = "slice"  // run the dialled trial for Request.Slice; the reply comes at its end
	OpReport     Op = "report" // end a served or sliced trial; the reply is the report
	OpPeerReport Op = "ended"  // the other endpoint has finished; Request.Report is its report
	OpAbort      Op = "abort"  // cancel the current trial
	OpEventBegin Op = "event"  // the event of the dialled trial begins when the reply has come
	OpEventEnd   Op = "after"  // the event of the dialled trial is over

	OpLinks       Op = "links"    // read the devices; the reply also has the local address from which Request.Address is dialled
	OpProbeListen Op = "answer"   // listen for probes; the reply comes when the port is open
	OpProbeResult Op = "answered" // stop listening for probes; the reply comes when the port is closed, with an error if no probe arrived
	OpProbe       Op = "knock"    // dial until the other agent answers; the reply is the address that it saw
	OpSeek        Op = "seek"     // begin a request each millisecond until one is answered; the reply has when that was
	OpLapse       Op = "lapse"    // begin requests until none is answered any more; the reply comes with the first answer
	OpLapsed      Op = "lapsed"   // the reply comes when that search has ended, and has when the first one began that was not answered

	OpRead Op = "read" // read the counters of the agent's network stack, never while a trial is timed
	OpCPU  Op = "cpu"  // read the CPU times of the agent's machine, never while a trial is timed; the reply has Boot, CPU and Clock
)

// Request is a line to the agent. Params is for OpListen and OpDial.
type Request struct {
	ID     uint64          `json:"id"`
	Op     Op              `json:"op"`
	Params *traffic.Params `json:"params,omitempty"`
	Slice  time.Duration   `json:"slice,omitempty"`
	Report *traffic.Report `json:"report,omitempty"`

	Address string        `json:"address,omitempty"`
	Probe   *Probe        `json:"knock,omitempty"`
	Path    *PathProbe    `json:"path,omitempty"`
	Wait    time.Duration `json:"wait,omitempty"` // longest time for a probe
}

// Reply is a line from the agent: an error or the result of the request.
type Reply struct {
	ID     uint64          `json:"id"`
	Error  string          `json:"error,omitempty"`
	Port   uint16          `json:"port,omitempty"`
	Report *traffic.Report `json:"report,omitempty"`
	// Attempts are the connections that a trial had tried when it failed: Error says why.
	Attempts *result.Attempts `json:"attempts,omitempty"`
	Held     *traffic.Held    `json:"held,omitempty"` // after the warm-up and each slice of a trial in slices

	Links  []Link  `json:"links,omitempty"`
	From   string  `json:"from,omitempty"` // the local address from which Request.Address is dialled
	Out    string  `json:"out,omitempty"`  // the device by which packets to Request.Address leave; empty if unknown
	Probe  *Probe  `json:"knock,omitempty"`
	Sought *Sought `json:"sought,omitempty"`
	// Refused is how many connections and datagrams without the token arrived at a port for probes.
	Refused int `json:"refused,omitempty"`

	Reading *netstack.Reading `json:"reading,omitempty"`
	Boot    string            `json:"boot,omitempty"`  // agents with the same one share a kernel
	CPU     *observe.CPUTimes `json:"cpu,omitempty"`   // of the agent's machine
	Clock   time.Duration     `json:"clock,omitempty"` // when CPU was read, since the agent's start

	Machine *Machine   `json:"machine,omitempty"`
	Time    *time.Time `json:"time,omitempty"` // the machine's time of day
	Path    *PathProbe `json:"path,omitempty"` // the result of a probe of the path

	Congestions *Congestions `json:"congestions,omitempty"`
	ProxyMode   string       `json:"proxy_mode,omitempty"`

	// Progress is the progress of the trial that the request began. A line with it is not the reply
	// to the request, which follows separately.
	Progress *traffic.Progress `json:"progress,omitempty"`
}

// Reader reads messages.
type Reader struct{ r *bufio.Reader }

// NewReader returns a Reader of messages from r.
func NewReader(r io.Reader) *Reader { return &Reader{bufio.NewReaderSize(r, 64<<10)} }

// Read decodes the next line into v. It returns io.EOF at the end of the stream, and an error for a
// line that is truncated, too long or not a message.
func (r *Reader) Read(v any) error {
	var line []byte
	for {
		part, err := r.r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > MaxLine:
			return fmt.Errorf("message longer than %d bytes", MaxLine)
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(line) > 0:
			return io.ErrUnexpectedEOF
		case err != nil:
			return err
		}
		break
	}
	if err := json.Unmarshal(line, v); err != nil {
		return fmt.Errorf("read message %.80q: %w", line, err)
	}
	return nil
}

// Write encodes v as one line.
func Write(w io.Writer, v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode message: %w", err)
	}
	if _, err := w.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("send message: %w", err)
	}
	return nil
}
