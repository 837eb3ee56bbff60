//go:build !linux && !windows

package tcp

func fastest() path { return portablePath() }
