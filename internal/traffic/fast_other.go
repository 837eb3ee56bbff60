//go:build !linux

package traffic

func fastest() network { return portable{} }
