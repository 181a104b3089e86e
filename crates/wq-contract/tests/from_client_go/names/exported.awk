# The exported names of a Go package, from what `go doc -all` prints: functions, types, and their methods and fields as type.member.
# In crates/rivals/go, whose go.mod says of which version:
#   go doc -all k8s.io/client-go/util/workqueue | awk -f ../../wq-contract/tests/from_client_go/names/exported.awk
#   go doc -all sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue | awk -f the same
/^func [A-Z]/ { name = $2; sub(/[(\[].*/, "", name); print name }
/^func \(/ { type = $3; gsub(/[*)]|\[.*/, "", type); member = $4; sub(/\(.*/, "", member); print type "." member }
/^type [A-Z]/ { type = $2; sub(/\[.*/, "", type); print type; inside = /\{$/ }
/^\}/ { inside = 0 }
inside && /^\t[A-Z][A-Za-z, ]*[( ]/ { member = $1; sub(/\(.*/, "", member); print type "." member }
