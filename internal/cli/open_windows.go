package cli

import "os"

func openToRead(path string) (*os.File, error) { return os.Open(path) }
