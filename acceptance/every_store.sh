#!/usr/bin/env bash
# The main job (main_job.sh) on every store: SQLite, Postgres, Redis and Redis Cluster, on servers that are started for
# it and end with it. Nothing differs but --store. Prints a line per check (TAP) and, at the end, one per store; ends
# with 1 if a check failed. Takes the names of stores, all if there is none. HOLDOVER_BUILT=1: the programs are there, and
# none is built.
set -euo pipefail
cd "$(dirname "$0")/.."

stores=("$@")
[ $# -gt 0 ] || stores=(sqlite postgres redis redis-cluster)
servers=()
for store in "${stores[@]}"; do
    case "$store" in
        sqlite) ;;
        postgres | redis | redis-cluster) servers+=("$store") ;;
        *) echo "usage: acceptance/every_store.sh [sqlite|postgres|redis|redis-cluster]..." >&2; exit 2 ;;
    esac
done

if [ -z "${HOLDOVER_ON_SERVERS-}" ]; then
    [ -n "${HOLDOVER_BUILT-}" ] || cargo build --quiet -p holdover-cli -p holdover-launcher --features holdover-cli/full
    export HOLDOVER_ON_SERVERS=1
    exec "${CARGO_TARGET_DIR:-target}/debug/holdover-launcher" "${servers[@]}" -- "$PWD/acceptance/every_store.sh" "${stores[@]}"
fi

# A schema, or a namespace, that nobody else uses.
own=main_job_$$
url() {
    case "$1" in
        sqlite) ;;
        postgres) echo "$HOLDOVER_POSTGRES_URL?schema=$own" ;;
        redis) echo "$HOLDOVER_REDIS_URL?namespace=$own" ;;
        redis-cluster) echo "$HOLDOVER_REDIS_CLUSTER_URL?namespace=$own" ;;
    esac
}

code=0 said=()
for store in "${stores[@]}"; do
    began=$SECONDS url=$(url "$store") verdict=passed
    printf '# == %s\n' "$store"
    acceptance/main_job.sh ${url:+--store "$url"} || { verdict=FAILED; code=1; }
    said+=("$(printf '# %-14s %s in %s s' "$store" "$verdict" "$((SECONDS - began))")")
done
printf '%s\n' "${said[@]}"
exit $code
