// Flux's reconcilers of GitRepositories and Kustomizations, set up as source-controller and kustomize-controller do by default.
package main

import (
	"context"
	"os"

	kustomize "github.com/fluxcd/kustomize-controller"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	artifact "github.com/fluxcd/pkg/artifact/config"
	artifactserver "github.com/fluxcd/pkg/artifact/server"
	"github.com/fluxcd/pkg/artifact/storage"
	"github.com/fluxcd/pkg/runtime/client"
	"github.com/fluxcd/pkg/runtime/controller"
	"github.com/fluxcd/pkg/runtime/events"
	"github.com/fluxcd/pkg/runtime/logger"
	"github.com/fluxcd/pkg/runtime/metrics"
	source "github.com/fluxcd/source-controller"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	flag "github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

func main() {
	var (
		artifacts     artifact.Options
		clientOptions client.Options
		limits        controller.RateLimiterOptions
		watch         controller.WatchOptions
	)
	artifacts.BindFlags(flag.CommandLine)
	clientOptions.BindFlags(flag.CommandLine)
	limits.BindFlags(flag.CommandLine)
	watch.BindFlags(flag.CommandLine)
	flag.Parse()
	logger.SetLogger(logger.NewLogger(logger.Options{LogEncoding: "json", LogLevel: "info"}))

	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, sourcev1.AddToScheme, kustomizev1.AddToScheme} {
		must(add(scheme))
	}
	uncached := []ctrlclient.Object{&corev1.Secret{}, &corev1.ConfigMap{}}
	manager, err := ctrl.NewManager(client.GetConfigOrDie(clientOptions), ctrl.Options{
		Scheme:  scheme,
		Logger:  ctrl.Log,
		Metrics: metricsserver.Options{BindAddress: "0"},
		Client:  ctrlclient.Options{Cache: &ctrlclient.CacheOptions{DisableFor: uncached}},
	})
	must(err)
	ctx := ctrl.SetupSignalHandler()
	recorder := metrics.MustMakeRecorder()
	configs, err := controller.GetWatchConfigsPredicate(watch)
	must(err)
	setUpSource(ctx, manager, controller.NewMetrics(manager, recorder, sourcev1.SourceFinalizer), limits, &artifacts)
	setUpKustomize(ctx, manager, controller.NewMetrics(manager, recorder, kustomizev1.KustomizationFinalizer), kustomize.Options{
		RateLimiter:           controller.GetRateLimiter(limits),
		WatchConfigs:          true,
		WatchConfigsPredicate: configs,
	})
	must(manager.Start(ctx))
}

func setUpSource(ctx context.Context, manager ctrl.Manager, recorded controller.Metrics, limits controller.RateLimiterOptions, options *artifact.Options) {
	const name = "source-controller"
	store, err := storage.New(options)
	must(err)
	recorder, err := events.NewRecorder(manager, ctrl.Log, "", name)
	must(err)
	must((&source.Reconciler{
		Client:         manager.GetClient(),
		EventRecorder:  recorder,
		Metrics:        recorded,
		Storage:        store,
		ControllerName: name,
	}).SetupWithManager(manager, source.Options{RateLimiter: controller.GetRateLimiter(limits)}))
	go func() { must(artifactserver.Start(ctx, options)) }()
}

func setUpKustomize(ctx context.Context, manager ctrl.Manager, recorded controller.Metrics, options kustomize.Options) {
	const name = "kustomize-controller"
	recorder, err := events.NewRecorder(manager, ctrl.Log, "", name)
	must(err)
	mapper, err := client.NewDynamicRESTMapper(manager.GetConfig())
	must(err)
	must((&kustomize.Reconciler{
		APIReader:            manager.GetAPIReader(),
		ArtifactFetchRetries: 9,
		Client:               manager.GetClient(),
		ConcurrentSSA:        4,
		ControllerName:       name,
		EventRecorder:        recorder,
		FailFast:             true,
		Mapper:               mapper,
		Metrics:              recorded,
		MigrateAPIVersion:    true,
		StatusManager:        "gotk-" + name,
	}).SetupWithManager(ctx, manager, options))
}

func must(err error) {
	if err != nil {
		ctrl.Log.Error(err, "cannot go on")
		os.Exit(1)
	}
}
