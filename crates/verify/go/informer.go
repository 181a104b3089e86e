package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
)

// FollowWithInformer writes ConfigMaps while an informer follows them: undisturbed, through watches that are cut, and
// across a compaction. Each object holds a number that grows with each write.
func followWithInformer(ctx context.Context, run *run) error {
	client, err := kubernetes.NewForConfig(run.config)
	if err != nil {
		return err
	}
	writing, err := kubernetes.NewForConfig(run.writer)
	if err != nil {
		return err
	}
	w := &writer{api: writing.CoreV1().ConfigMaps(run.namespace), numbers: map[string]int{}, gone: map[string]bool{}}
	if err := w.create(ctx, "before", 20); err != nil {
		return err
	}

	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(run.namespace))
	informer := factory.Core().V1().ConfigMaps().Informer()
	seen := &seen{numbers: map[string]int{}, ever: map[string]bool{}, deleted: map[string]int{}, fresh: run.traffic.fresh}
	if _, err := informer.AddEventHandler(seen); err != nil {
		return err
	}
	stopped, stop := context.WithCancel(ctx)
	factory.StartWithContext(stopped)
	defer factory.Shutdown()
	defer stop()
	if !cache.WaitForCacheSync(stopped.Done(), informer.HasSynced) {
		return fmt.Errorf("the informer did not sync (%v)", run.traffic)
	}

	steps := []struct {
		name, before, after string
		// What the informer must have met on the way.
		met func() error
	}{
		{name: "undisturbed"},
		{name: "watches that end between events", before: "cut-between", after: "heal"},
		{name: "watches that end within an event", before: "cut-mid-line", after: "heal"},
		// A watch that ends early without an event makes client-go start afresh, and then it does not meet the compaction.
		{name: "undisturbed again"},
		{name: "a compaction", before: "partition", after: "compact-and-heal", met: func() error {
			if run.traffic.timesExpired() == 0 {
				return fmt.Errorf("no watch was told that its history is gone")
			}
			return nil
		}},
		{name: "undisturbed at last"},
	}
	for i, step := range steps {
		if step.before != "" {
			if err := run.steer.do(step.before); err != nil {
				return err
			}
		}
		if err := w.work(ctx, fmt.Sprintf("step%d", i)); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		if step.after != "" {
			if err := run.steer.do(step.after); err != nil {
				return err
			}
		}
		if err := eventually(ctx, func() error { return seen.agrees(w) }); err != nil {
			return fmt.Errorf("%s: %w (%v)", step.name, err, run.traffic)
		}
		if step.met != nil {
			if err := step.met(); err != nil {
				return fmt.Errorf("%s: %w (%v)", step.name, err, run.traffic)
			}
		}
	}
	if err := eventually(ctx, func() error { return equalsList(ctx, informer.GetStore(), w.api) }); err != nil {
		return err
	}
	fmt.Println(run.traffic)
	return nil
}

// A writer makes changes and remembers what is there.
type writer struct {
	api     typedcorev1.ConfigMapInterface
	numbers map[string]int
	gone    map[string]bool
}

func (w *writer) create(ctx context.Context, prefix string, count int) error {
	for i := range count {
		name := fmt.Sprintf("%s-%d", prefix, i)
		object := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Data:       map[string]string{"number": "1"},
		}
		if _, err := w.api.Create(ctx, object, metav1.CreateOptions{}); err != nil {
			return err
		}
		w.numbers[name] = 1
	}
	return nil
}

// Work creates, changes everything that is there twice, and deletes three of the oldest and one of the newest.
func (w *writer) work(ctx context.Context, prefix string) error {
	if err := w.create(ctx, prefix, 5); err != nil {
		return err
	}
	for range 2 {
		for name, number := range w.numbers {
			object, err := w.api.Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			object.Data["number"] = strconv.Itoa(number + 1)
			if _, err := w.api.Update(ctx, object, metav1.UpdateOptions{}); err != nil {
				return err
			}
			w.numbers[name] = number + 1
		}
	}
	names := slices.Sorted(maps.Keys(w.numbers))
	for _, name := range append(names[:3], prefix+"-0") {
		if err := w.api.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			return err
		}
		delete(w.numbers, name)
		w.gone[name] = true
	}
	return nil
}

// What the informer's handler was told.
type seen struct {
	mu      sync.Mutex
	numbers map[string]int
	ever    map[string]bool
	deleted map[string]int
	// How often the informer has asked for everything; what lies before such a moment need not be told one by one.
	fresh func() int
	since int
	wrong error
}

func (s *seen) OnAdd(object any, _ bool) { s.now(object, false) }

func (s *seen) OnUpdate(_, object any) { s.now(object, true) }

func (s *seen) now(object any, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	configMap := object.(*corev1.ConfigMap)
	number, err := strconv.Atoi(configMap.Data["number"])
	if err != nil {
		s.blame("%s holds %q", configMap.Name, configMap.Data["number"])
		return
	}
	last, before := s.numbers[configMap.Name]
	fresh := s.fresh()
	switch {
	case before != known:
		s.blame("%s: an event of the wrong kind, known before: %v", configMap.Name, before)
	case number < last:
		s.blame("%s went back from %d to %d", configMap.Name, last, number)
	case fresh == s.since && before && number != last+1:
		s.blame("%s went from %d to %d while the watch went on", configMap.Name, last, number)
	}
	s.numbers[configMap.Name] = number
	s.ever[configMap.Name] = true
}

func (s *seen) OnDelete(object any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if unknown, is := object.(cache.DeletedFinalStateUnknown); is {
		object = unknown.Obj
	}
	name := object.(*corev1.ConfigMap).Name
	if _, there := s.numbers[name]; !there {
		s.blame("%s was deleted and not there", name)
	}
	delete(s.numbers, name)
	s.deleted[name]++
}

func (s *seen) blame(format string, arguments ...any) {
	if s.wrong == nil {
		s.wrong = final{fmt.Errorf(format, arguments...)}
	}
}

// Agrees says what differs from what was written; from then on no number may be left out.
func (s *seen) agrees(w *writer) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wrong != nil {
		return s.wrong
	}
	if len(s.numbers) != len(w.numbers) {
		return fmt.Errorf("the informer knows %d objects of %d", len(s.numbers), len(w.numbers))
	}
	for name, number := range w.numbers {
		if s.numbers[name] != number {
			return fmt.Errorf("the informer knows %s at %d instead of %d", name, s.numbers[name], number)
		}
	}
	for name := range w.gone {
		// What came and went before the informer asked for everything, it never knew.
		unknown := !s.ever[name] && s.fresh() != s.since
		if s.deleted[name] != 1 && !unknown {
			return fmt.Errorf("the deletion of %s was told %d times", name, s.deleted[name])
		}
	}
	s.since = s.fresh()
	// Nobody asks for these again.
	clear(w.gone)
	return nil
}

func equalsList(ctx context.Context, store cache.Store, api typedcorev1.ConfigMapInterface) error {
	list, err := api.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	if len(list.Items) != len(store.List()) {
		return fmt.Errorf("the store holds %d objects, the list %d", len(store.List()), len(list.Items))
	}
	for _, item := range list.Items {
		held, found, err := store.GetByKey(item.Namespace + "/" + item.Name)
		if err != nil || !found {
			return fmt.Errorf("the store does not hold %s (%v)", item.Name, err)
		}
		if version := held.(*corev1.ConfigMap).ResourceVersion; version != item.ResourceVersion {
			return fmt.Errorf("the store holds %s at %s, the list at %s", item.Name, version, item.ResourceVersion)
		}
	}
	return nil
}

// A final error does not go away by waiting.
type final struct{ error }

// Eventually asks until there is nothing to complain about any more.
func eventually(ctx context.Context, wrong func() error) error {
	for {
		err := wrong()
		var final final
		if err == nil || errors.As(err, &final) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(10 * time.Millisecond):
		}
	}
}
