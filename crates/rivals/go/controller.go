package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// counted is what its reconciler has seen, as src/bin/reconciler/seen.rs has it: the same lines in, the same lines out.
type counted struct {
	client client.Client
	mode   string
	// Which turn of the objects counts, and of how many.
	wanted, expected               atomic.Uint64
	runs, distinct, first, longest atomic.Uint64
	// The last turn that was seen of each object.
	marks []atomic.Uint64
}

func clock(of int32) uint64 {
	var now unix.Timespec
	if err := unix.ClockGettime(of, &now); err != nil {
		panic(err)
	}
	return uint64(now.Nano())
}

func (c *counted) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	now := clock(unix.CLOCK_MONOTONIC)
	c.runs.Add(1)
	c.first.CompareAndSwap(0, now)
	turn := c.wanted.Load()
	var object corev1.ConfigMap
	switch c.mode {
	case "each":
		fmt.Printf("run %d\n", now)
	case "read", "work":
		if err := c.client.Get(ctx, request.NamespacedName, &object); err != nil {
			return ctrl.Result{}, client.IgnoreNotFound(err)
		}
		turn, _ = strconv.ParseUint(object.Data["turn"], 10, 64)
	}
	kind, digits, _ := strings.Cut(request.Name, "-")
	if number, err := strconv.Atoi(digits); err == nil && kind == "map" {
		c.mark(now, number, turn, object.Data["at"])
	}
	if c.mode == "work" {
		time.Sleep(time.Millisecond)
	}
	if object.Data["again"] != "" {
		return ctrl.Result{RequeueAfter: time.Nanosecond}, nil
	}
	return ctrl.Result{}, nil
}

func (c *counted) mark(now uint64, number int, turn uint64, at string) {
	if turn != c.wanted.Load() || c.marks[number].Swap(turn) == turn {
		return
	}
	if at, err := strconv.ParseUint(at, 10, 64); err == nil {
		for {
			longest := c.longest.Load()
			if now-at <= longest || c.longest.CompareAndSwap(longest, now-at) {
				break
			}
		}
	}
	if c.distinct.Add(1) == c.expected.Load() {
		fmt.Printf("reached %d %d %d\n", now, clock(unix.CLOCK_PROCESS_CPUTIME_ID), c.first.Load())
	}
}

// answer reads commands until there are no more, which ends the program.
func (c *counted) answer() {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var turn, expected uint64
		if _, err := fmt.Sscanf(in.Text(), "turn %d %d", &turn, &expected); err == nil {
			c.expected.Store(expected)
			c.distinct.Store(0)
			c.first.Store(0)
			c.longest.Store(0)
			c.wanted.Store(turn)
		}
		fmt.Printf("count %d %d %d %d\n",
			c.runs.Load(), c.distinct.Load(), c.longest.Load(), clock(unix.CLOCK_PROCESS_CPUTIME_ID))
	}
	os.Exit(0)
}

// controllers runs a controller of ConfigMaps on controller-runtime at its defaults. Its arguments: a URL or the path of a kubeconfig, workers (0: as many as it has by
// default), mode, how many objects there are.
func controllers(args []string) error {
	if len(args) != 4 {
		return fmt.Errorf("controller takes 4 arguments, not %d", len(args))
	}
	workers, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	expected, err := strconv.ParseUint(args[3], 10, 64)
	if err != nil {
		return err
	}
	ctrl.SetLogger(logr.Discard())
	// Nobody scrapes, and the port may be taken.
	options := ctrl.Options{Metrics: metrics.Options{BindAddress: "0"}}
	config := &rest.Config{Host: args[0]}
	if !strings.HasPrefix(args[0], "http:") {
		if config, err = clientcmd.BuildConfigFromFlags("", args[0]); err != nil {
			return err
		}
	}
	manager, err := ctrl.NewManager(config, options)
	if err != nil {
		return err
	}
	seen := &counted{client: manager.GetClient(), mode: args[2], marks: make([]atomic.Uint64, expected)}
	for number := range seen.marks {
		seen.marks[number].Store(^uint64(0))
	}
	seen.expected.Store(expected)
	go seen.answer()
	err = ctrl.NewControllerManagedBy(manager).For(&corev1.ConfigMap{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).Complete(seen)
	if err != nil {
		return err
	}
	return manager.Start(context.Background())
}
