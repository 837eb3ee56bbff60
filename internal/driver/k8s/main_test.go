//go:build linux

package k8s_test

import (
	"testing"

	"tare/internal/testkit/kubetest"
)

func TestMain(m *testing.M) { kubetest.Main(m) }
