// Evaluates expressions with cel-go and Kubernetes' libraries, for tests/cel/compare.py: a JSON string a line on the
// standard input, a JSON object a line on the standard output.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"sort"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
	"k8s.io/apiserver/pkg/cel/openapi"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

type result struct {
	Compile string  `json:"compile,omitempty"`
	Panic   string  `json:"panic,omitempty"`
	Program string  `json:"program,omitempty"`
	Error   string  `json:"error,omitempty"`
	Value   string  `json:"value,omitempty"`
	Type    string  `json:"type,omitempty"`
	Cost    *uint64 `json:"cost,omitempty"`
	Min     uint64  `json:"min"`
	Max     uint64  `json:"max"`
}

// What fixtures.json declares: plain variables with a type's name, and self with a schema.
type fixtures struct {
	Variables map[string]struct {
		Type  string `json:"type"`
		Value string `json:"value"`
	} `json:"variables"`
	Schema json.RawMessage `json:"schema"`
	Self   any             `json:"self"`
}

type sizes struct{ root *apiservercel.DeclType }

func (s sizes) EstimateSize(element checker.AstNode) *checker.SizeEstimate {
	path := element.Path()
	// As the estimator of CustomResourceDefinitions: whatever the path begins with, it is looked up from self.
	if len(path) == 0 {
		return nil
	}
	node := s.root
	for _, name := range path[1:] {
		switch name {
		case "@items", "@values":
			node = node.ElemType
		case "@keys":
			node = node.KeyType
		default:
			field, ok := node.Fields[name]
			if !ok {
				return nil
			}
			node = field.Type
		}
		if node == nil {
			return nil
		}
	}
	return &checker.SizeEstimate{Max: uint64(node.MaxElements)}
}

func (s sizes) EstimateCallCost(string, string, *checker.AstNode, []checker.AstNode) *checker.CallEstimate {
	return nil
}

// As an expression that gives the value; a library's values by their type only.
func literal(val ref.Val) string {
	switch v := val.(type) {
	case types.Double:
		s := types.Format(v)
		if !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0) && !strings.Contains(s, ".") {
			s += ".0"
		}
		return s
	case *types.Optional:
		if !v.HasValue() {
			return "optional.none()"
		}
		return "optional.of(" + literal(v.GetValue()) + ")"
	case *types.Type:
		return v.TypeName()
	case *types.Err:
		return v.Error()
	case traits.Lister:
		var items []string
		for it := v.Iterator(); it.HasNext() == types.True; {
			items = append(items, literal(it.Next()))
		}
		return "[" + strings.Join(items, ", ") + "]"
	case traits.Mapper:
		var items []string
		for it := v.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			items = append(items, literal(key)+": "+literal(v.Get(key)))
		}
		sort.Strings(items)
		return "{" + strings.Join(items, ", ") + "}"
	case types.Bool, types.Int, types.Uint, types.String, types.Bytes, types.Null, types.Timestamp, types.Duration:
		return types.Format(val)
	}
	return "<" + val.Type().TypeName() + ">"
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	text, err := os.ReadFile(os.Args[1])
	fail(err)
	var given fixtures
	fail(json.Unmarshal(text, &given))
	var schema spec.Schema
	fail(json.Unmarshal(given.Schema, &schema))

	base := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).StoredExpressionsEnv()
	base, err = base.Extend(library.JSONPatch())
	fail(err)
	root := openapi.SchemaDeclType(&schema, true).MaybeAssignTypeName("Root")
	provider := apiservercel.NewDeclTypeProvider(root)
	options, err := provider.EnvOptions(base.CELTypeProvider())
	fail(err)
	options = append(options, cel.Variable("self", root.CelType()))
	kinds := map[string]*cel.Type{"int": cel.IntType, "uint": cel.UintType, "double": cel.DoubleType, "bool": cel.BoolType,
		"string": cel.StringType, "bytes": cel.BytesType, "timestamp": cel.TimestampType, "duration": cel.DurationType, "dyn": cel.DynType,
		"list(int)": cel.ListType(cel.IntType), "list(string)": cel.ListType(cel.StringType),
		"map(string, int)": cel.MapType(cel.StringType, cel.IntType)}
	self := normalize(given.Self)
	inputs := map[string]any{"self": openapi.UnstructuredToVal(self, common.WithTypeAndObjectMeta(&schema))}
	for name, variable := range given.Variables {
		kind, ok := kinds[variable.Type]
		if !ok {
			fail(fmt.Errorf("no type %q", variable.Type))
		}
		options = append(options, cel.Variable(name, kind))
		ast, issues := base.Compile(variable.Value)
		fail(issues.Err())
		program, err := base.Program(ast)
		fail(err)
		value, _, err := program.Eval(map[string]any{})
		fail(err)
		inputs[name] = value
	}
	inputs["json"] = self
	options = append(options, cel.Variable("json", cel.DynType))
	env, err := base.Extend(options...)
	fail(err)
	estimator := &library.CostEstimator{SizeEstimator: sizes{root}}

	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var expression string
		fail(json.Unmarshal(lines.Bytes(), &expression))
		fail(encoder.Encode(evaluate(env, estimator, expression, inputs)))
	}
	fail(lines.Err())
}

func evaluate(env *cel.Env, estimator checker.CostEstimator, expression string, inputs map[string]any) (r result) {
	defer func() {
		// Compile panics for {?"a": dyn(1)}: its validator expects the value's type to have a parameter.
		if cause := recover(); cause != nil {
			r = result{Panic: fmt.Sprint(cause)}
		}
	}()
	ast, issues := env.Compile(expression)
	if issues.Err() != nil {
		return result{Compile: issues.Err().Error()}
	}
	r = result{Type: cel.FormatCELType(ast.OutputType())}
	if estimate, err := env.EstimateCost(ast, estimator); err == nil {
		r.Min, r.Max = estimate.Min, estimate.Max
	}
	program, err := env.Program(ast)
	if err != nil {
		r.Program = err.Error()
		return r
	}
	value, details, err := program.Eval(inputs)
	if details != nil {
		r.Cost = details.ActualCost()
	}
	if err != nil {
		r.Error = err.Error()
	} else {
		r.Value = literal(value)
	}
	return r
}

// Numbers without a fraction are integers, as Kubernetes decodes them.
func normalize(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			v[key] = normalize(inner)
		}
	case []any:
		for i, inner := range v {
			v[i] = normalize(inner)
		}
	case float64:
		if v == math.Trunc(v) {
			return int64(v)
		}
	}
	return value
}
