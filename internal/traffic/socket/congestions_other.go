//go:build !linux

package socket

// Congestions returns nothing: the system chooses the congestion control.
func Congestions() (settable []string, standard string, err error) { return nil, "", nil }
