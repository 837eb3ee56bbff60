// Package clock reads the clock by which traffic is timed: the finest monotonic one of each system.
// On Windows the Go runtime's own clock advances only with the timer's tick, 0.5 ms to 15.6 ms, which
// is longer than most round trips.
package clock
