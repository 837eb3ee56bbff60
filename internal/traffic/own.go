package traffic

import "time"

// The own time is the least mean of ownBatches batches of exchanges: what other programs or the hypervisor take during one of
// them is not the generator's. All together take a few milliseconds.
const ownBatches, ownBatch = 20, 1000

// OwnTime measures what the client of exchanges itself adds to each of them, in seconds and without its system calls: a reading of its
// clock now, and count, which does to an exchange that began and ended then what the client does. Unknown, nil, is for the
// caller to tell where requests have a schedule, which their rate does not depend on.
func OwnTime(now func() time.Duration, count func(from, at time.Duration)) *float64 {
	least, from := time.Duration(1<<63-1), now()
	for range ownBatches {
		began := from
		for range ownBatch {
			at := now()
			count(from, at)
			from = at
		}
		least = min(least, from-began)
	}
	own := least.Seconds() / ownBatch
	return &own
}
