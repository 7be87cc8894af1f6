#!/usr/bin/env bash
# Runs the main job (main_job.sh) on every store: SQLite, Postgres, Redis and Redis Cluster, on servers that this script
# starts and ends. Only --store differs. Prints a line for each check (TAP) and, at the end, one for each store. Exits with
# 1 if a check failed. The arguments are names of stores; without arguments, it runs on all. With HOLDOVER_BUILT=1, it
# builds no programs.
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

# The name of a schema or namespace that nothing else uses.
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
