//go:build linux

package docker_test

import (
	"testing"

	"tare/internal/driver/docker"
	"tare/internal/driver/drivertest"
)

func TestConformance(t *testing.T) { drivertest.Conformance(t, docker.Driver{}) }

func TestConformancePairs(t *testing.T) { drivertest.ConformancePairs(t, docker.Driver{}) }
