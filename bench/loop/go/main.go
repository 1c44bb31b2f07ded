// The reference: a controller on controller-runtime that does what ../peers/ours.ts does.
//
//	controller KUBECONFIG NAMESPACE OBJECTS
//
// See ../peers/samples.ts for its input and output.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strconv"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

type samples struct {
	sync.Mutex
	start   time.Time
	objects int
	sent    map[string]string
	delays  []float64
	lastAt  float64
}

// CLOCK_MONOTONIC, as process.hrtime() has it.
func nowMs() float64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		panic(err)
	}
	return float64(now.Nano()) / 1e6
}

func say(fields map[string]any) {
	line, _ := json.Marshal(fields)
	fmt.Println(string(line))
}

// The first version of each object was written before this peer started.
func (s *samples) note(name, sent string) {
	now := nowMs()
	s.Lock()
	defer s.Unlock()
	before, known := s.sent[name]
	s.sent[name] = sent
	if !known {
		if len(s.sent) == s.objects {
			say(map[string]any{"syncedMs": float64(time.Since(s.start).Microseconds()) / 1e3})
		}
		return
	}
	if before == sent {
		return
	}
	at, err := strconv.ParseFloat(sent, 64)
	if err == nil {
		s.delays = append(s.delays, now-at)
		s.lastAt = now
	}
}

func (s *samples) report() {
	s.Lock()
	defer s.Unlock()
	sort.Float64s(s.delays)
	say(map[string]any{"delays": s.delays, "lastAt": s.lastAt})
	s.delays = nil
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	ctrl.SetLogger(logr.Discard())
	objects, err := strconv.Atoi(os.Args[3])
	if err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	if err != nil {
		return err
	}
	s := &samples{objects: objects, start: time.Now(), sent: map[string]string{}}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Cache:   cache.Options{DefaultNamespaces: map[string]cache.Config{os.Args[2]: {}}},
		Metrics: metrics.Options{BindAddress: "0"},
	})
	if err != nil {
		return err
	}
	count := func(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
		var object corev1.ConfigMap
		if err := manager.GetClient().Get(ctx, request.NamespacedName, &object); err == nil {
			s.note(request.Name, object.Data["sent"])
		}
		return ctrl.Result{}, nil
	}
	err = ctrl.NewControllerManagedBy(manager).For(&corev1.ConfigMap{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: 4}).Complete(reconcile.Func(count))
	if err != nil {
		return err
	}
	go func() {
		for input := bufio.NewScanner(os.Stdin); input.Scan(); {
			s.report()
		}
		os.Exit(0)
	}()
	return manager.Start(ctrl.SetupSignalHandler())
}
