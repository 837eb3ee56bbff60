package linuxnet

// Bucket is what the token bucket of a link of rate bit/s lets pass at once, and what
// the queue behind it holds, in bytes: 2 ms or 32 full GSO packets' worth of one MTU,
// whichever is more, and 50 ms.
func Bucket(rate uint64, mtu int) (burst, queue uint64) {
	bytes := rate / 8
	burst = max(bytes/500, 32*uint64(max(0, mtu)), 64<<10)
	return burst, max(bytes/20, 2*burst)
}
