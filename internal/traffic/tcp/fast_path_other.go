//go:build !linux

package tcp

func fastest() path { return portablePath() }
