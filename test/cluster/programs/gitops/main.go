// gitops reports what Argo CD and kstatus say about objects. It reads one JSON request per line:
//
//	{"op": "health", "object": {...}}                 Argo CD's health
//	{"op": "actions", "object": {...}}                the actions that Argo CD offers
//	{"op": "action", "action": "...", "object": {...}} the object after an action
//	{"op": "kstatus", "object": {...}}                kstatus, as Flux and Helm compute it
//	{"op": "cel", "expression": "...", "variable": "...", "object": {...}}
//	                                                  a condition in CEL, as kro and Crossplane evaluate it
//
// and writes one JSON result per line. -argocd-cm names a file with the ConfigMap argocd-cm, which Argo CD's own code
// reads. With -sync, it syncs the objects in the JSON array that it reads, wave after wave, and prints the phase and the
// message of each step.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/sync"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/utils/kube"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/utils/tracing"
	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/util/lua"
	"github.com/argoproj/argo-cd/v3/util/settings"
	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/go-logr/logr"
	"github.com/google/cel-go/cel"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

const namespace = "argocd"

type request struct {
	Op         string         `json:"op"`
	Action     string         `json:"action"`
	Expression string         `json:"expression"`
	Variable   string         `json:"variable"`
	Object     map[string]any `json:"object"`
}

func main() {
	settingsFile := flag.String("argocd-cm", "", "file with the ConfigMap argocd-cm")
	kubeconfig := flag.String("kubeconfig", "", "kubeconfig file, for -sync")
	synced := flag.Bool("sync", false, "sync what is read")
	flag.Parse()
	run := func() error { return answer(*settingsFile) }
	if *synced {
		run = func() error { return syncWaves(*kubeconfig, *settingsFile) }
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func answer(settingsFile string) error {
	overrides, err := overridesIn(settingsFile)
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var asked request
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			return err
		}
		result, err := perform(asked, overrides)
		if err != nil {
			return fmt.Errorf("%s: %w", asked.Op, err)
		}
		if err := out.Encode(result); err != nil {
			return err
		}
	}
	return lines.Err()
}

func perform(asked request, overrides map[string]v1alpha1.ResourceOverride) (any, error) {
	object := &unstructured.Unstructured{Object: asked.Object}
	// The generation is an integer in a decoded object; JSON alone gives a float, which kstatus does not accept.
	text, err := json.Marshal(asked.Object)
	if err != nil {
		return nil, err
	}
	if err := object.UnmarshalJSON(text); err != nil {
		return nil, err
	}
	vm := lua.VM{ResourceOverrides: overrides}
	switch asked.Op {
	case "health":
		return lua.ResourceHealthOverrides(overrides).GetResourceHealth(object)
	case "actions":
		scripts, err := vm.GetResourceActionDiscovery(object)
		if err != nil {
			return nil, err
		}
		return vm.ExecuteResourceActionDiscovery(object, scripts)
	case "action":
		action, err := vm.GetResourceAction(object, asked.Action)
		if err != nil {
			return nil, err
		}
		return vm.ExecuteResourceAction(object, action.ActionLua, nil)
	case "kstatus":
		result, err := status.Compute(object)
		if err != nil {
			return nil, err
		}
		return map[string]string{"status": string(result.Status), "message": result.Message}, nil
	case "cel":
		return evaluate(asked.Expression, asked.Variable, object.Object)
	}
	return nil, errors.New("unknown op")
}

func evaluate(expression, variable string, object map[string]any) (any, error) {
	env, err := cel.NewEnv(cel.Variable(variable, cel.DynType))
	if err != nil {
		return nil, err
	}
	ast, issues := env.Compile(expression)
	if issues.Err() != nil {
		return nil, issues.Err()
	}
	program, err := env.Program(ast)
	if err != nil {
		return nil, err
	}
	result, _, err := program.Eval(map[string]any{variable: object})
	if err != nil {
		return nil, err
	}
	return result.Value(), nil
}

// overridesIn reads the ConfigMap with Argo CD's own settings code.
func overridesIn(file string) (map[string]v1alpha1.ResourceOverride, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var configMap corev1.ConfigMap
	if err := yaml.UnmarshalStrict(text, &configMap); err != nil {
		return nil, err
	}
	labels := map[string]string{"app.kubernetes.io/part-of": "argocd"}
	configMap.Namespace, configMap.Labels = namespace, labels
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "argocd-secret", Namespace: namespace, Labels: labels}}
	client := fake.NewClientset([]runtime.Object{&configMap, secret}...)
	return settings.NewSettingsManager(context.Background(), client, namespace).GetResourceOverrides()
}

// Like Argo CD, it reads the live objects again before each step.
func syncWaves(kubeconfig, settingsFile string) error {
	overrides, err := overridesIn(settingsFile)
	if err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	var targets []*unstructured.Unstructured
	if err := json.NewDecoder(os.Stdin).Decode(&targets); err != nil {
		return err
	}
	kubectl := &kube.KubectlCmd{Log: logr.Discard(), Tracer: tracing.NopTracer{}}
	started := metav1.Now()
	var phase common.OperationPhase
	var message string
	var results []common.ResourceSyncResult
	for !phase.Completed() {
		live := make([]*unstructured.Unstructured, len(targets))
		for i, target := range targets {
			found, err := kubectl.GetResource(
				context.Background(), config, target.GroupVersionKind(), target.GetName(), target.GetNamespace())
			if err == nil {
				live[i] = found
			} else if !apierrors.IsNotFound(err) {
				return err
			}
		}
		step, cleanup, err := sync.NewSyncContext(
			"", sync.ReconciliationResult{Live: live, Target: targets}, config, config, kubectl, namespace,
			sync.WithOperationSettings(false, false, false, false), sync.WithLogr(logr.Discard()),
			sync.WithHealthOverride(lua.ResourceHealthOverrides(overrides)),
			sync.WithInitialState(phase, message, results, started))
		if err != nil {
			return err
		}
		step.Sync()
		cleanup()
		phase, message, results = step.GetState()
		fmt.Printf("%s: %s\n", phase, message)
		time.Sleep(100 * time.Millisecond)
	}
	return nil
}
