#!/usr/bin/env bash
# Runs the conformance suite on every store of this repository: memory, SQLite, Postgres, Redis and Redis Cluster, on servers
# that this script starts and ends, and the store of examples/custom-store. Leaves the reports in target/conformance. Prints
# a table, and exits with 0 only if all stores passed and docs/conformance.md and README.md show the same results. With
# --write, it writes these two pages instead, if all passed. With HOLDOVER_BUILT=1, it builds no programs. Needs node.
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
    if [ -z "${HOLDOVER_BUILT-}" ]; then
        cargo build --quiet -p holdover-cli -p holdover-launcher --features holdover-cli/full
        cargo build --quiet -p holdover-example-custom-store --example conformance
    fi
    export HOLDOVER_ON_SERVERS=1
    exec "$built/holdover-launcher" postgres redis redis-cluster -- "$PWD/acceptance/conformance.sh" $write
fi

made=${CARGO_TARGET_DIR:-target}/conformance code=0
rm -rf "$made"
mkdir -p "$made"

# Runs a program that tests a store and writes its reports. The first argument is the name of the reports.
reports() {
    local name=$1
    shift
    echo "== $name"
    "$@" >"$made/$name.log" 2>&1 || { code=1; cat "$made/$name.log"; }
    tail -n 1 "$made/$name.log"
}

test_store() {
    local name=$1 url=$2
    reports "$name" "$built/holdover" conformance --store "$url" --report md --out "$made/$name.md" \
        --report json --out "$made/$name.json" --report junit --out "$made/$name.xml"
}

test_store memory memory
# The file is made in the current folder, as by default, so its file system is the usual one.
test_store sqlite sqlite:holdover.db
test_store postgres "$HOLDOVER_POSTGRES_URL"
test_store redis "$HOLDOVER_REDIS_URL"
test_store redis-cluster "$HOLDOVER_REDIS_CLUSTER_URL"
reports custom-store "$built/examples/conformance" "$made/custom-store"

echo
node acceptance/conformance/page.mjs print "$made"
if [ -n "$write" ] && [ $code = 0 ]; then
    node acceptance/conformance/page.mjs write "$made"
else
    node acceptance/conformance/page.mjs check "$made" || code=1
fi
exit $code
