//go:build slow

package router_test

const slow = true
