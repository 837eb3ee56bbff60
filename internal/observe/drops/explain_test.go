package drops

import (
	"testing"

	"tare/internal/result"
	"tare/internal/testkit/must"
)

func TestExplain(t *testing.T) {
	for _, tt := range []struct {
		name        string
		lost        int64
		attributed  []result.LossPlace
		reasons     []result.DropReason
		want        []result.LossPlace
		unexplained int64
	}{
		{
			name: "what counters have is not attributed again", lost: 100,
			attributed: []result.LossPlace{{Place: result.PlaceProxy, Where: "b", Counter: "socket/1.drops", Count: 60}, {Place: result.PlaceReceive, Where: "b/server", Counter: "socket", Count: 40}},
			reasons:    []result.DropReason{{Reason: "SOCKET_RCVBUFF", Location: "__udp_enqueue_schedule_skb", Count: 100}},
			want:       []result.LossPlace{{Place: result.PlaceProxy, Where: "b", Counter: "socket/1.drops", Count: 60}, {Place: result.PlaceReceive, Where: "b/server", Counter: "socket", Count: 40}},
		},
		{
			name: "what they left is", lost: 100,
			attributed: []result.LossPlace{{Place: result.PlaceReceive, Where: "b/server", Counter: "socket", Count: 30}},
			reasons:    []result.DropReason{{Reason: "SOCKET_RCVBUFF", Count: 30}, {Reason: "QDISC_DROP", Count: 25}, {Reason: "NETFILTER_DROP", Count: 20}, {Reason: "NOT_SPECIFIED", Location: "br_forward", Count: 25}},
			want: []result.LossPlace{
				{Place: result.PlaceQdisc, Counter: "skb:kfree_skb QDISC_DROP", Count: 25}, {Place: result.PlaceNetfilter, Counter: "skb:kfree_skb NETFILTER_DROP", Count: 20},
				{Place: result.PlaceReceive, Where: "b/server", Counter: "socket", Count: 30},
			},
			unexplained: 25,
		},
		{
			name: "a reason of two functions claims once", lost: 50,
			attributed: []result.LossPlace{{Place: result.PlaceBacklog, Where: "b", Counter: "softnet.dropped", Count: 40}},
			reasons:    []result.DropReason{{Reason: "CPU_BACKLOG", Location: "one", Count: 30}, {Reason: "CPU_BACKLOG", Location: "other", Count: 20}},
			want:       []result.LossPlace{{Place: result.PlaceBacklog, Where: "b", Counter: "softnet.dropped", Count: 40}, {Place: result.PlaceBacklog, Counter: "skb:kfree_skb CPU_BACKLOG", Count: 10}},
		},
		{
			name: "no more than was lost", lost: 10,
			reasons: []result.DropReason{{Reason: "NETFILTER_DROP", Count: 500}},
			want:    []result.LossPlace{{Place: result.PlaceNetfilter, Counter: "skb:kfree_skb NETFILTER_DROP", Count: 10}},
		},
		{
			name: "nothing of what was attributed too often", lost: 10,
			attributed:  []result.LossPlace{{Place: result.PlaceQdisc, Where: "a", Counter: "qdisc/eth0.drops", Count: 15}},
			reasons:     []result.DropReason{{Reason: "NO_SOCKET", Count: 3}},
			want:        []result.LossPlace{{Place: result.PlaceQdisc, Where: "a", Counter: "qdisc/eth0.drops", Count: 15}},
			unexplained: -5,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := result.Losses{Lost: tt.lost, Places: tt.attributed, Unexplained: tt.lost}
			for _, p := range tt.attributed {
				l.Unexplained -= p.Count
			}
			Explain(&l, tt.reasons)
			must.Equal(t, tt.want, l.Places)
			must.True(t, l.Unexplained == tt.unexplained && len(l.Reasons) == len(tt.reasons), "%d are unexplained, want %d; reasons %+v", l.Unexplained, tt.unexplained, l.Reasons)
		})
	}
}
