package serve

import (
	"runtime/debug"
	"runtime/metrics"
)

// rest gives back the memory that only work needed, after a pass over all that
// found nothing; again says that the next look has to go on with it. The program's
// pages come last: collecting garbage brings them back, and so does the first look
// after that, whose stack grows anew.
func (r *run) rest() (again bool) {
	if r.worked || heapIsFull() {
		r.worked = false
		debug.FreeOSMemory()
		return true
	}
	releaseProgram()
	return false
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
