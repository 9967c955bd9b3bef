package main

import "os/exec"

// starts measures what everybody pays all day: a check that finds nothing, and
// one message.
func starts(b *bench) error {
	dir, _, err := b.makeOffice("start", 2)
	if err != nil {
		return err
	}
	nothing, err := exec.LookPath("true")
	if err != nil {
		return err
	}
	rounds := max(b.rounds, cheap)
	empty, hello := b.process(nothing, always()), b.process(b.hello, always())
	check := b.process(b.post, always("inbox", "-q", "--as", "a0", "--office", dir))
	version := b.process(b.post, always("version"))
	if err := interleave(rounds, empty, hello, check, version); err != nil {
		return err
	}
	b.atMost("inbox check, no mail", ms(check.median()), "Go hello "+ms(hello.median()), over(check, hello), 1.35)
	b.atMost("inbox check, no mail", ms(check.median()), "/bin/true "+ms(empty.median()), over(check, empty), 3)
	b.note("post version", ms(version.median()), "Go hello "+ms(hello.median()), over(version, hello))
	return b.sends(dir, rounds)
}

// sends measures post send, to an agent that needs no waking, against a process
// that puts one durable file into a directory.
func (b *bench) sends(dir string, rounds int) error {
	file, err := b.bodyFile()
	if err != nil {
		return err
	}
	ref, err := b.reference("start-ref")
	if err != nil {
		return err
	}
	send := b.process(b.post, always(sendArgs(dir, "a0", "a1", file)...))
	if err := interleave(rounds, ref, send); err != nil {
		return err
	}
	b.atMost("post send", ms(send.median()), "reference sender "+ms(ref.median()), over(send, ref), 1.4)
	return nil
}

// over is how many times as long a took as ref, by their medians.
func over(a, ref *side) float64 { return a.median().Seconds() / ref.median().Seconds() }
