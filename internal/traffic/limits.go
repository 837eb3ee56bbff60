package traffic

// Limits says where a sender's time went: seconds of its timed window, added up over
// its connections (and slices). The four parts add up to Seconds.
//
// They are what the sender's kernel books (TCP_INFO, since Linux 4.10): a connection
// with nothing unsent and nothing unacknowledged waits for the application; one that
// has something is held back by the receiver's window, by its own send buffer, or by
// neither. The last is the network: the congestion window, and with it queues, losses
// and CPUs of the path, which a sender cannot tell apart. The kernel counts in ticks
// (1 to 10 ms), so a single short window is rough.
type Limits struct {
	Seconds       float64 `json:"seconds"`
	Application   float64 `json:"application"`
	ReceiveWindow float64 `json:"receive_window"`
	SendBuffer    float64 `json:"send_buffer"`
	Network       float64 `json:"network"`
}

// Plus adds up two of them; either may be nil, which is unknown and adds nothing.
func (l *Limits) Plus(m *Limits) *Limits {
	switch {
	case l == nil:
		return m
	case m == nil:
		return l
	}
	return &Limits{
		Seconds: l.Seconds + m.Seconds, Application: l.Application + m.Application,
		ReceiveWindow: l.ReceiveWindow + m.ReceiveWindow, SendBuffer: l.SendBuffer + m.SendBuffer, Network: l.Network + m.Network,
	}
}
