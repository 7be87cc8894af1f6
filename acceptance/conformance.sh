#!/usr/bin/env bash
# The conformance suite on every store of this repository: memory, SQLite, Postgres, Redis and Redis Cluster, on servers
# that are started for it and end with it, and the store of examples/custom-store. Prints a table; ends with 0 only if all
# passed and the committed reports (docs/conformance) and README.md say the same. With --write it makes these anew
# instead. Needs node.
set -euo pipefail
cd "$(dirname "$0")/.."

write=
case "${1-}" in
    '') ;;
    --write) write=--write ;;
    *) echo "usage: acceptance/conformance.sh [--write]" >&2; exit 2 ;;
esac

built=${CARGO_TARGET_DIR:-target}/debug
if [ -z "${HOLDOVER_ON_SERVERS-}" ]; then
    cargo build --quiet -p holdover-cli -p holdover-launcher --features holdover-cli/full
    cargo build --quiet -p holdover-example-custom-store --example conformance
    export HOLDOVER_ON_SERVERS=1
    exec "$built/holdover-launcher" postgres redis redis-cluster -- "$PWD/acceptance/conformance.sh" $write
fi

committed=docs/conformance made=$(mktemp -d) code=0
trap 'rm -rf "$made"' EXIT

# A report without what differs from run to run and from machine to machine: times, how often something was asked
# until somebody else was done, the version of a server, and the file system.
steady() {
    sed -E -e 's/"(milliseconds|calls|p50_us|p99_us)": [0-9]+/"\1": _/; s/ time="[0-9.]+"/ time="_"/' \
        -e 's/(Postgres|Redis|Redis Cluster) [0-9][^":]*([":])/\1 _\2/; /"(server_version|redis_version|filesystem)"/{n;s/".*"/"_"/}' "$1"
}

# A program that tests a store and writes its reports, and their name.
reports() {
    local name=$1 form
    shift
    echo "== $name"
    "$@" >"$made/log" 2>&1 || { code=1; cat "$made/log"; }
    tail -n 1 "$made/log"
    for form in md json xml; do
        if [ -n "$write" ]; then
            cp "$made/$name.$form" "$committed/$name.$form"
        elif ! diff <(steady "$committed/$name.$form") <(steady "$made/$name.$form"); then
            echo "$committed/$name.$form is not what comes out today; acceptance/conformance.sh --write makes it anew"
            code=1
        fi
    done
}

test_store() {
    local name=$1 url=$2
    reports "$name" "$built/holdover" conformance --store "$url" --report md --out "$made/$name.md" \
        --report json --out "$made/$name.json" --report junit --out "$made/$name.xml"
}

test_store memory memory
# Beside where a file would lie by default: on that file system.
test_store sqlite sqlite:holdover.db
test_store postgres "$HOLDOVER_POSTGRES_URL"
test_store redis "$HOLDOVER_REDIS_URL"
test_store redis-cluster "$HOLDOVER_REDIS_CLUSTER_URL"
reports custom-store "$built/examples/conformance" "$made/custom-store"

echo
node acceptance/conformance/table.mjs print "$made"
if [ -n "$write" ]; then
    node acceptance/conformance/table.mjs write "$committed" README.md
else
    node acceptance/conformance/table.mjs check "$committed" README.md || code=1
fi
exit $code
