//go:build !linux && !windows && !darwin

package socket

// Info is unknown: package net does not report it.
func (s *portableStream) Info() TCPInfo { return TCPInfo{} }

// Unacknowledged is unknown, too.
func (s *portableStream) Unacknowledged() (n int, known bool) { return 0, false }
