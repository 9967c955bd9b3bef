//go:build !slow

package router_test

// slow enumerates what becomes of the lease and the hint, too.
const slow = false
