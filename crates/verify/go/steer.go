package main

import (
	"bufio"
	"fmt"
	"io"
)

// A steer asks whoever started the program to do something to the server: it prints `do: WORD` and waits for a line.
type steer struct {
	in  *bufio.Scanner
	out io.Writer
}

func newSteer(in io.Reader, out io.Writer) *steer {
	return &steer{bufio.NewScanner(in), out}
}

// Do returns when the thing has been done.
func (s *steer) do(word string) error {
	if _, err := fmt.Fprintf(s.out, "do: %s\n", word); err != nil {
		return err
	}
	if !s.in.Scan() {
		return fmt.Errorf("nobody answered %q on standard input", word)
	}
	if answer := s.in.Text(); answer != "done" {
		return fmt.Errorf("asked for %q and was told %q", word, answer)
	}
	return nil
}
