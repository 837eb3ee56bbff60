//go:build !linux

package traffic

func fastestPath() path { return portablePath() }
