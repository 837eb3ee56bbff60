//go:build !linux

// Package manned is of Linux alone: labs are.
package manned
