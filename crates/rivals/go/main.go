// Command go runs one round of a workload on client-go's work queue for each line that it is sent, and answers what it
// took: "NAME VALUE...\n", or "error TEXT\n". The rounds of the peer are run between them by the program that asks. Called
// with "limits" it prints what client-go's limiters answer, with "elections" what its elector takes, and with "controller"
// it is a controller of controller-runtime.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "limits" {
		recordLimits()
		return
	}
	if len(os.Args) > 1 && os.Args[1] == "elections" {
		if err := elections(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if len(os.Args) > 1 && os.Args[1] == "controller" {
		if err := controllers(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		words := strings.Fields(in.Text())
		if len(words) == 0 {
			continue
		}
		values, err := round(words[0], words[1:])
		if err != nil {
			fmt.Printf("error %v\n", err)
			continue
		}
		line := make([]string, 0, len(values)+1)
		line = append(line, words[0])
		for _, value := range values {
			line = append(line, strconv.FormatFloat(value, 'g', -1, 64))
		}
		fmt.Println(strings.Join(line, " "))
	}
	if err := in.Err(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// round runs a workload once. The first value is nanoseconds an item.
func round(name string, args []string) ([]float64, error) {
	numbers := make([]int, len(args))
	for i, arg := range args {
		number, err := strconv.Atoi(arg)
		if err != nil {
			return nil, err
		}
		numbers[i] = number
	}
	run, found := workloads[name]
	if !found {
		return nil, fmt.Errorf("no workload is called %q", name)
	}
	if len(numbers) != run.args {
		return nil, fmt.Errorf("%s takes %d numbers, not %d", name, run.args, len(numbers))
	}
	return run.round(numbers), nil
}

type workload struct {
	args  int
	round func([]int) []float64
}

var workloads = map[string]workload{
	// One thread: keys, operations.
	"ping-int64":             {2, func(n []int) []float64 { return ping(integers(n[0]), n[1]) }},
	"burst-int64":            {2, func(n []int) []float64 { return burst(integers(n[0]), n[1], same[int64]) }},
	"burst-string-cloned":    {2, func(n []int) []float64 { return burst(names(n[0]), n[1], strings.Clone) }},
	"burst-string-shared":    {2, func(n []int) []float64 { return burst(names(n[0]), n[1], same[string]) }},
	"fresh-int64":            {1, func(n []int) []float64 { return fresh(integers(n[0]), same[int64]) }},
	"fresh-string-cloned":    {1, func(n []int) []float64 { return fresh(names(n[0]), strings.Clone) }},
	"reused-int64":           {1, func(n []int) []float64 { return reused(integers(n[0])) }},
	"duplicates-int64":       {2, func(n []int) []float64 { return duplicates(integers(n[0]), n[1]) }},
	"duplicates-string":      {2, func(n []int) []float64 { return duplicates(names(n[0]), n[1]) }},
	"readd-int64":            {2, func(n []int) []float64 { return readd(integers(n[0]), n[1]) }},
	"readd-string":           {2, func(n []int) []float64 { return readd(names(n[0]), n[1]) }},
	"burst-int64-prometheus": {2, func(n []int) []float64 { return burstMeasured(integers(n[0]), n[1]) }},
	// The same on controller-runtime's priority queue, with three priorities.
	"priority-int64":            {2, func(n []int) []float64 { return prioritised(integers(n[0]), n[1], "") }},
	"priority-int64-prometheus": {2, func(n []int) []float64 { return prioritised(integers(n[0]), n[1], "measured") }},
	// Keys in flight that were added again, operations.
	"priority-readded": {2, func(n []int) []float64 { return besideReadded(n[0], n[1]) }},
	// Keys that are delayed.
	"add-after-int64": {1, func(n []int) []float64 { return addAfter(integers(n[0])) }},
	// Threads: producers, consumers, items.
	"contended-int64": {3, func(n []int) []float64 { return contended(n[0], n[1], n[2]) }},
	// Limiters: keys, calls; calls; threads, calls.
	"back-off-int64":  {2, func(n []int) []float64 { return backOff(integers(n[0]), n[1]) }},
	"back-off-string": {2, func(n []int) []float64 { return backOff(names(n[0]), n[1]) }},
	"tokens":          {1, func(n []int) []float64 { return tokens(n[0]) }},
	"tokens-together": {2, func(n []int) []float64 { return tokensTogether(n[0], n[1]) }},
	// CPUs, goroutines that wait, items in a burst, bursts.
	"waiting": {4, func(n []int) []float64 { return waiting(n[0], n[1], n[2], n[3]) }},
}

func same[T any](item T) T { return item }

func integers(count int) []int64 {
	keys := make([]int64, count)
	for i := range keys {
		keys[i] = int64(i)
	}
	return keys
}

// names are what controllers hold: a namespace and a name, 24 bytes.
func names(count int) []string {
	keys := make([]string, count)
	for i := range keys {
		keys[i] = fmt.Sprintf("namespace-1/name-%07d", i)
	}
	return keys
}
