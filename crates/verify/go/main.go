// Clients is client-go of one version, used as controllers use it, against whatever server a kubeconfig names. It
// knows nothing about that server; whoever starts it breaks the server when asked to (see steer.go).
//
// It exits 0 if everything was as Kubernetes promises, and otherwise prints one line that says what was not.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"sort"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
)

// A scenario is one claim about the server.
type scenario func(ctx context.Context, run *run) error

var scenarios = map[string]scenario{
	"crud":     crud,
	"informer": followWithInformer,
	"election": elect,
}

// A run is what a scenario works with.
type run struct {
	// The configuration that the part under test uses, and what it sent.
	config  *rest.Config
	traffic *traffic
	// Another user's configuration: what it does is not broken.
	writer    *rest.Config
	namespace string
	steer     *steer
}

func main() {
	names := make([]string, 0, len(scenarios))
	for name := range scenarios {
		names = append(names, name)
	}
	sort.Strings(names)
	kubeconfig := flag.String("kubeconfig", "", "file that names the server and the user")
	writer := flag.String("writer-kubeconfig", "", "the same for the user who makes changes; default: -kubeconfig")
	namespace := flag.String("namespace", "default", "an existing namespace to work in")
	limit := flag.Duration("limit", time.Minute, "a scenario that takes longer has failed")
	contentType := flag.String("content-type", "", "media type of bodies; default: what client-go takes by itself")
	name := flag.String("scenario", "", "one of "+strings.Join(names, ", "))
	klog.InitFlags(nil)
	flag.Parse()
	if *writer == "" {
		writer = kubeconfig
	}
	if err := play(*name, *kubeconfig, *writer, *namespace, *contentType, *limit); err != nil {
		fmt.Printf("failed: %s: %v\n", *name, err)
		os.Exit(1)
	}
	fmt.Printf("ok: %s\n", *name)
}

func play(name, kubeconfig, writer, namespace, contentType string, limit time.Duration) error {
	body, known := scenarios[name]
	if !known {
		return fmt.Errorf("there is no such scenario")
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	writing, err := clientcmd.BuildConfigFromFlags("", writer)
	if err != nil {
		return err
	}
	traffic := watchTraffic(config)
	config.ContentType, writing.ContentType = contentType, contentType
	// Nobody waits for client-go's own rate limiter: what is slow here is the server.
	for _, config := range []*rest.Config{config, writing} {
		config.QPS, config.Burst = 500, 500
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	err = body(ctx, &run{config, traffic, writing, namespace, newSteer(os.Stdin, os.Stdout)})
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("took longer than %v: %w", limit, err)
	}
	return err
}
