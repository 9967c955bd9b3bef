//go:build !slow

package router_test

// slow enumerates the files that newCrash and its scenarios hold still, too.
const slow = false
