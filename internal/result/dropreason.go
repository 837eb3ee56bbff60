package result

// DropReason is how many datagrams of a trial the kernel threw away for one reason
// at one spot, by its own word (skb:kfree_skb). A packet that stands for several
// datagrams counts as so many.
type DropReason struct {
	Reason   string `json:"reason"`             // of enum skb_drop_reason, without its prefix: SOCKET_RCVBUFF
	Location string `json:"location,omitempty"` // function that dropped it, empty where symbols are hidden
	Count    int64  `json:"count"`              // datagrams
}
