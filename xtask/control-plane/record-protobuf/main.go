// Record-protobuf writes down how Kubernetes' own kinds look as protobuf, read from the Go types that the real server
// and every Go client share. The output is data of crates/embedded-apiserver; `cargo xtask record-openapi` puts it there.
//
//	go run ./record-protobuf v1/ConfigMap coordination.k8s.io/v1/Lease
//
// A line `kind GROUP/VERSION/KIND MESSAGE` or `message MESSAGE` begins a paragraph; under a message there is a line
// `NUMBER NAME PRESENCE TYPE [GO] [in WHOLE]` for each field. NAME is the name in JSON, `-` if the members of the field's message are
// members of the object itself; NUMBER is greater than protobuf allows where JSON alone has the field. PRESENCE is pointer, value, omitempty, omitzero, list or map, or nullpointer, nulllist,
// nullmap where JSON says null of an absent one; TYPE a scalar, one of the types whose JSON differs from their message (Time, Quantity
// ...), or a message; GO the type's name in Go where TYPE does not tell it, WHOLE
// that of a list or a map which has one. (What the
// server fills in by the OpenAPI schema, `cargo xtask record-openapi` adds: `default MESSAGE NAME JSON`.)
package main

import (
	"bufio"
	"fmt"
	"os"
	"reflect"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

func main() {
	// A client's scheme has no definitions and no API services.
	for _, add := range []func(*runtime.Scheme) error{apiextensionsv1.AddToScheme, apiregistrationv1.AddToScheme} {
		if err := add(scheme.Scheme); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	r := &recorder{out: bufio.NewWriter(os.Stdout), known: map[string]bool{}}
	if err := r.kinds(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Types whose JSON is not what their message says.
var special = map[reflect.Type]string{
	reflect.TypeFor[metav1.Time]():          "Time",
	reflect.TypeFor[metav1.MicroTime]():     "MicroTime",
	reflect.TypeFor[metav1.FieldsV1]():      "FieldsV1",
	reflect.TypeFor[resource.Quantity]():    "Quantity",
	reflect.TypeFor[intstr.IntOrString]():   "IntOrString",
	reflect.TypeFor[runtime.RawExtension](): "RawExtension",
	// Messages whose only field is the list that they are.
	reflect.TypeFor[authenticationv1.ExtraValue](): "Strings",
	reflect.TypeFor[authorizationv1.ExtraValue]():  "Strings",
	reflect.TypeFor[certificatesv1.ExtraValue]():   "Strings",
	// What a definition's schema holds: any JSON, or a schema or something simpler.
	reflect.TypeFor[apiextensionsv1.JSON]():                         "JSON",
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrBool]():        "SchemaOrBool",
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrArray]():       "SchemaOrSchemas",
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrStringArray](): "SchemaOrStrings",
}

type recorder struct {
	out   *bufio.Writer
	known map[string]bool
	queue []reflect.Type
}

func (r *recorder) kinds(names []string) error {
	for _, name := range names {
		at := strings.LastIndex(name, "/")
		if at < 0 {
			return fmt.Errorf("%q is no GROUP/VERSION/KIND", name)
		}
		version, err := schema.ParseGroupVersion(name[:at])
		if err != nil {
			return err
		}
		object, err := scheme.Scheme.New(version.WithKind(name[at+1:]))
		if err != nil {
			return err
		}
		fmt.Fprintf(r.out, "kind %s %s\n", name, r.message(reflect.TypeOf(object).Elem()))
	}
	for len(r.queue) > 0 {
		next := r.queue[0]
		r.queue = r.queue[1:]
		fmt.Fprintf(r.out, "message %s\n", name(next))
		for i := range next.NumField() {
			if err := r.field(next.Field(i)); err != nil {
				return fmt.Errorf("%s: %w", name(next), err)
			}
		}
	}
	return r.out.Flush()
}

func name(of reflect.Type) string {
	parts := strings.Split(of.PkgPath(), "/")
	return strings.Join(parts[max(0, len(parts)-2):], "/") + "." + of.Name()
}

// Message notes that a message is to be written down, too.
func (r *recorder) message(of reflect.Type) string {
	if !r.known[name(of)] {
		r.known[name(of)] = true
		r.queue = append(r.queue, of)
	}
	return name(of)
}

func (r *recorder) field(field reflect.StructField) error {
	if field.Anonymous && field.Type == reflect.TypeFor[metav1.TypeMeta]() {
		_, err := fmt.Fprint(r.out, "536870912 kind omitempty string\n536870913 apiVersion omitempty string\n")
		return err
	}
	tag := field.Tag.Get("protobuf")
	if tag == "" {
		return nil
	}
	number := strings.Split(tag, ",")[1]
	json := strings.Split(field.Tag.Get("json"), ",")
	named := json[0]
	if named == "" {
		named = "-"
	}
	presence, of := "value", field.Type
	for _, option := range json[1:] {
		switch {
		case option == "omitzero":
			presence = "omitzero"
		case option == "omitempty" && presence == "value":
			presence = "omitempty"
		}
	}
	null, whole := "", ""
	if of.Name() != "" && (of.Kind() == reflect.Map || of.Kind() == reflect.Slice) && special[of] == "" {
		whole = " in " + of.String()
	}
	if presence == "value" {
		null = "null"
	}
	switch {
	case of.Kind() == reflect.Pointer:
		presence, of = null+"pointer", of.Elem()
	case of.Kind() == reflect.Map:
		if of.Key().Kind() != reflect.String {
			return fmt.Errorf("%s: a map by %v", field.Name, of.Key())
		}
		presence, of = null+"map", of.Elem()
	case of.Kind() == reflect.Slice && of.Elem().Kind() != reflect.Uint8 && special[of] == "":
		if _, own := reflect.PointerTo(of).MethodByName("Marshal"); own {
			return fmt.Errorf("%s: a list that is a message", field.Name)
		}
		presence, of = null+"list", of.Elem()
	}
	kind, err := r.kind(of)
	if err != nil {
		return fmt.Errorf("%s: %w", field.Name, err)
	}
	if word := goName(of); word != kind && special[of] == "" {
		kind += " " + word
	}
	_, err = fmt.Fprintf(r.out, "%s %s %s %s%s\n", number, named, presence, kind, whole)
	return err
}

// GoName is the type's name as Go's decoder says it in errors; a message's is its own last part.
func goName(of reflect.Type) string {
	if of.Kind() == reflect.Struct {
		return name(of)
	}
	return strings.ReplaceAll(of.String(), "[]uint8", "bytes")
}

func (r *recorder) kind(of reflect.Type) (string, error) {
	if word := special[of]; word != "" {
		return word, nil
	}
	switch of.Kind() {
	case reflect.String:
		return "string", nil
	case reflect.Bool:
		return "bool", nil
	case reflect.Int32:
		return "int32", nil
	case reflect.Int, reflect.Int64:
		return "int64", nil
	case reflect.Float64:
		return "float64", nil
	case reflect.Slice:
		if of.Elem().Kind() == reflect.Uint8 {
			return "bytes", nil
		}
	case reflect.Struct:
		return r.message(of), nil
	}
	return "", fmt.Errorf("nobody knows what %v is in JSON", of)
}
