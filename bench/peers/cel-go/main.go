// Measures cel-go: reads cases as JSON from standard input, prints nanoseconds per operation as JSON.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/ext"
)

type input struct {
	Now    string         `json:"now"`
	Vars   map[string]any `json:"vars"`
	Millis int            `json:"millis"`
	Cases  []struct {
		Name   string `json:"name"`
		Source string `json:"source"`
	} `json:"cases"`
}

type figures struct {
	CompileNs float64 `json:"compileNs"`
	EvalNs    float64 `json:"evalNs"`
	LimitedNs float64 `json:"limitedNs"`
	Result    string  `json:"result"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	var in input
	if err := json.NewDecoder(os.Stdin).Decode(&in); err != nil {
		return err
	}
	now, err := time.Parse(time.RFC3339Nano, in.Now)
	if err != nil {
		return err
	}
	vars := integers(in.Vars).(map[string]any)
	options := []cel.EnvOption{ext.Strings(), cel.Variable("time", cel.TimestampType)}
	for name := range vars {
		options = append(options, cel.Variable(name, cel.DynType))
	}
	vars["time"] = types.Timestamp{Time: now}
	env, err := cel.NewEnv(options...)
	if err != nil {
		return err
	}
	out := map[string]figures{}
	for _, one := range in.Cases {
		measured, err := measureCase(env, one.Source, vars, time.Duration(in.Millis)*time.Millisecond)
		if err != nil {
			return fmt.Errorf("%s: %w", one.Name, err)
		}
		out[one.Name] = measured
	}
	return json.NewEncoder(os.Stdout).Encode(out)
}

func measureCase(env *cel.Env, source string, vars map[string]any, span time.Duration) (figures, error) {
	program, err := compile(env, source, cel.EvalOptions(cel.OptOptimize))
	if err != nil {
		return figures{}, err
	}
	limited, err := compile(env, source, cel.EvalOptions(cel.OptOptimize), cel.CostLimit(1_000_000_000))
	if err != nil {
		return figures{}, err
	}
	result, _, err := program.Eval(vars)
	if err != nil {
		return figures{}, err
	}
	return figures{
		CompileNs: measure(span, func() { compile(env, source, cel.EvalOptions(cel.OptOptimize)) }),
		EvalNs:    measure(span, func() { program.Eval(vars) }),
		LimitedNs: measure(span, func() { limited.Eval(vars) }),
		Result:    fmt.Sprint(result.Value()),
	}, nil
}

func compile(env *cel.Env, source string, options ...cel.ProgramOption) (cel.Program, error) {
	ast, issues := env.Compile(source)
	if issues.Err() != nil {
		return nil, issues.Err()
	}
	return env.Program(ast, options...)
}

// measure returns the best mean of batches that each take about a twentieth of the span, after one span to warm up.
func measure(span time.Duration, work func()) float64 {
	count := 0
	for start := time.Now(); time.Since(start) < span; count++ {
		work()
	}
	batch := max(1, count/20)
	best := 0.0
	for start := time.Now(); time.Since(start) < span; {
		began := time.Now()
		for range batch {
			work()
		}
		mean := float64(time.Since(began).Nanoseconds()) / float64(batch)
		if best == 0 || mean < best {
			best = mean
		}
	}
	return best
}

// integers turns whole JSON numbers into int64, as Kubernetes' decoder does.
func integers(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			value[key] = integers(inner)
		}
	case []any:
		for index, inner := range value {
			value[index] = integers(inner)
		}
	case float64:
		if value == float64(int64(value)) {
			return int64(value)
		}
	}
	return value
}
