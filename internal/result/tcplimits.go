package result

// The causes of TCP's retransmissions, as far as a kernel distinguishes them.
const (
	// RetransmitFast: the receiver's acknowledgements signalled the loss (fast
	// retransmit, RFC 5681 and 6675, or RACK, RFC 8985).
	RetransmitFast = "fast"
	// RetransmitTimeout: the retransmission timer expired; includes retransmissions in
	// the following slow start (RFC 6298).
	RetransmitTimeout = "timeout"
	// RetransmitProbe: tail loss probes (RFC 8985 section 7).
	RetransmitProbe = "tail_loss_probe"
	// RetransmitSYN: of the handshake, SYN and SYN-ACK.
	RetransmitSYN = "syn"
	// RetransmitOther: no counter shows the cause.
	RetransmitOther = "other"
)

// TCPLimits records what limited one sender's TCP: the shares (0..1, sum 1) of its timed
// window in which it had nothing to send (Application), was limited by the receiver's
// window (ReceiveWindow) or by its own buffer (SendBuffer), or by neither: by the path,
// through its congestion control (Network). A share is nil if the kernel does not report
// it; Missing then says why. In a trial, Mode and Workload are empty and Trials is 0. In
// a run, the shares are means over Trials trials and the counts are summed. Retransmits
// counts segments by cause (fast, timeout, tail_loss_probe, syn, other) in the sender's
// network namespace over the whole trial, warm-up included; nil is unknown.
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
