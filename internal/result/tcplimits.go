package result

// The causes of TCP's retransmissions, as far as a kernel tells them apart.
const (
	// RetransmitFast: the receiver's acknowledgements told of the loss (fast
	// retransmit, RFC 5681 and 6675, or RACK, RFC 8985).
	RetransmitFast = "fast"
	// RetransmitTimeout: the retransmission timer ran out, with what was sent again
	// in the slow start behind it (RFC 6298).
	RetransmitTimeout = "timeout"
	// RetransmitProbe: tail loss probes (RFC 8985 section 7).
	RetransmitProbe = "tail_loss_probe"
	// RetransmitSYN: of the handshake, SYN and SYN-ACK.
	RetransmitSYN = "syn"
	// RetransmitOther: what no counter gives a cause for.
	RetransmitOther = "other"
)

// TCPLimits says who kept one sender's TCP from being faster: the shares (0..1, sum
// 1) of its timed window in which it had nothing to send (Application), had data that
// the receiver's window (ReceiveWindow) or its own buffer (SendBuffer) held back, or
// was held back by neither: by the path, as its congestion control sees it (Network).
// A share is nil where the kernel does not tell; then Missing says why.
//
// Of a trial, Mode and Workload are empty and Trials is 0. Of a run, the shares are
// means over so many trials and the counts are summed. Retransmits counts segments by
// their cause (fast, timeout, tail_loss_probe, syn, other) in the sender's network namespace over the
// whole trial, warm-up included; nil is unknown.
type TCPLimits struct {
	Mode          string           `json:"mode,omitempty"`
	Workload      string           `json:"workload,omitempty"`
	Sender        string           `json:"sender"` // client or server
	Trials        int              `json:"trials,omitempty"`
	Application   *float64         `json:"application,omitempty"`
	ReceiveWindow *float64         `json:"receive_window,omitempty"`
	SendBuffer    *float64         `json:"send_buffer,omitempty"`
	Network       *float64         `json:"network,omitempty"`
	Retransmits   map[string]int64 `json:"retransmits"`
	Missing       []string         `json:"missing,omitempty"`
}
