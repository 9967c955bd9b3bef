package serve

import (
	"runtime/debug"
	"runtime/metrics"
)

// calmLooks is how many looks after a collection of garbage see to the program's
// pages.
const calmLooks = 4

// rest gives back the memory that only work needed, after a pass over all that
// found nothing. The program's pages come last: collecting garbage brings them
// back, and so does whatever runs first after that, whose stack grows anew.
func (r *run) rest() {
	if r.worked || heapIsFull() {
		r.worked, r.calm = false, calmLooks
		debug.FreeOSMemory()
		return
	}
	r.calm = 0
	releaseProgram()
}

// restOn is rest for the looks that follow: the first, and the one after which all
// that runs now and then has run once.
func (r *run) restOn() {
	if r.calm == 0 {
		return
	}
	if r.calm--; r.calm == calmLooks-1 || r.calm == 0 {
		releaseProgram()
	}
}

// heapIsFull reports whether the garbage of a few looks is all that the heap has
// room for.
func heapIsFull() bool {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/gc/heap/goal:bytes"}}
	metrics.Read(s)
	for _, v := range s {
		if v.Value.Kind() != metrics.KindUint64 {
			return false
		}
	}
	return s[0].Value.Uint64() > s[1].Value.Uint64()/4*3
}
