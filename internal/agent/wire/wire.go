// Package wire is what a controller and an agent say to each other: one JSON
// object a line over the agent's stdin and stdout.
package wire

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"tare/internal/observe/netstack"
	"tare/internal/traffic"
)

// Version is the protocol's. Both sides are the same binary in all but a few
// set-ups, so any difference is refused. Progress is no difference: an agent without
// it sends none, and nobody is sent any who did not ask.
const Version = 4

// MaxLine bounds a message in bytes.
const MaxLine = 4 << 20

// Hello is the agent's first line.
type Hello struct {
	Agent int    `json:"tare_agent"` // Version
	Build string `json:"build"`
	PID   int    `json:"pid"`
}

// Op is what a request asks for.
type Op string

// The requests.
const (
	OpListen     Op = "listen" // be the server of a trial: answered as soon as the port is open
	OpDial       Op = "dial"   // be the client of a trial: answered with the report, or when ready for slices
	OpSlice      Op = "slice"  // drive the dialled trial for Request.Slice: answered at its end
	OpReport     Op = "report" // end of a served or sliced trial: answered with the report
	OpPeerReport Op = "ended"  // the other end has finished: Request.Report is its report
	OpAbort      Op = "abort"  // give up what is under way

	OpLinks       Op = "links"    // read the devices: answered with them, and with the address that Request.Address is dialled from
	OpProbeListen Op = "answer"   // answer knocks: answered as soon as the port is open
	OpProbeResult Op = "answered" // no more of them: answered when the port is closed again, with an error if nobody knocked
	OpProbe       Op = "knock"    // dial until the other end answers: answered with what it saw

	OpRead Op = "read" // read the counters of the agent's network stack, never while a trial is timed: answered with them
	OpCPU  Op = "cpu"  // read the CPU times of the agent's machine, never while a trial is timed: answered with Reply.Clock and, of Reply.Reading, boot and CPU
)

// Request is a line to the agent. Params belong to listen and dial.
type Request struct {
	ID     uint64          `json:"id"`
	Op     Op              `json:"op"`
	Params *traffic.Params `json:"params,omitempty"`
	Slice  time.Duration   `json:"slice,omitempty"`
	Report *traffic.Report `json:"report,omitempty"`

	Address string        `json:"address,omitempty"`
	Probe   *Probe        `json:"knock,omitempty"`
	Wait    time.Duration `json:"wait,omitempty"` // for a knock, at most
}

// Reply is a line from the agent: an error, or what the request asked for.
type Reply struct {
	ID     uint64          `json:"id"`
	Error  string          `json:"error,omitempty"`
	Port   uint16          `json:"port,omitempty"`
	Report *traffic.Report `json:"report,omitempty"`

	Links []Link `json:"links,omitempty"`
	From  string `json:"from,omitempty"` // the address that Request.Address is dialled from
	Probe *Probe `json:"knock,omitempty"`

	Reading *netstack.Reading `json:"reading,omitempty"` // with the CPU times of the agent's machine
	Clock   time.Duration     `json:"clock,omitempty"`   // when it was read, since the agent began

	// Progress is how far the trial of the request is that asked for it. Such a line is no
	// answer: that comes for itself.
	Progress *traffic.Progress `json:"progress,omitempty"`
}

// Reader reads messages.
type Reader struct{ r *bufio.Reader }

// NewReader reads messages from r.
func NewReader(r io.Reader) *Reader { return &Reader{bufio.NewReaderSize(r, 64<<10)} }

// Read decodes the next line into v. It returns io.EOF at the end of the stream
// and an error for a line that is cut, too long or no such message.
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
