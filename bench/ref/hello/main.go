// Command hello is the empty Go process that starts are measured against.
package main

import "os"

func main() { os.Stdout.WriteString("hello\n") }
