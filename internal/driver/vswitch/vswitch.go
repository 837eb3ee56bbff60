// Package vswitch starts a private Open vSwitch on a host of a lab, and a private OVN that programs the switches of several.
package vswitch
