package main

import "context"

func peersUDP(context.Context, bench) error { return nil }
func peersCRR(context.Context, bench) error { return nil }
func peersCPU(context.Context, bench) error { return nil }
func pacing(context.Context, bench) error   { return nil }
