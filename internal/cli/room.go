package cli

// room makes the stack as large as a command needs, once and first of all, while
// there is next to nothing on it. It would grow by itself, three or four times, and each time
// every frame on it is looked up and moved. It is the frame that counts, which
// is there before anything is asked: nobody calls it with true.
//
//go:noinline
func room(use bool) (n byte) {
	if use {
		var frame [18 << 10]byte
		for i := range frame {
			frame[i] = n + byte(i)
			n += frame[i/2]
		}
	}
	return n
}
