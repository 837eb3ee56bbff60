package losses

import (
	"tare/internal/observe/nic"
	"tare/internal/result"
)

// cards attributes what network cards counted and their devices did not: many drivers copy
// a card's drops to the device's counters, in part or whole. Cards count packets on the wire,
// each with one datagram, and those of others too, so they only fill what is missing.
func (b *attribution) cards() {
	for _, s := range b.in.Stacks {
		for _, c := range nic.Cards(s.Deltas) {
			device := "dev/" + c.Device + "."
			noBuffer := max(s.delta(device+"rx_dropped"), s.delta(device+"rx_fifo"))
			b.card(result.PlaceDeviceRx, s, c, nic.NoBuffer, s.delta(device+"rx_dropped"), noBuffer)
			b.card(result.PlaceDeviceRx, s, c, nic.Damaged, 0, s.delta(device+"rx_frame"))
			b.card(result.PlaceDeviceTx, s, c, nic.Unsent, s.delta(device+"tx_dropped"), s.delta(device+"tx_fifo"))
			b.card(result.PlaceDeviceTx, s, c, nic.Throttled, 0, 0)
		}
	}
}

// card attributes, later, the larger of a card's own count of a class and its device's. What
// is attributed already is left out.
func (b *attribution) card(place string, s Stack, c nic.Card, class nic.Class, attributed, device uint64) {
	n, family, _ := c.Count(class)
	counter := "nic/" + c.Device + " " + family
	if device > n {
		n, counter = device, "dev/"+c.Device+" "+string(class)
	}
	if n = subtractFloor(n, attributed); n > 0 {
		b.deferred = append(b.deferred, func() { b.attributeRest(place, s, counter, int64(n)) }) //nolint:gosec // far below 2^63
	}
}
