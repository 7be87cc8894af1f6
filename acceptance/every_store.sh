#!/usr/bin/env bash
# Runs the main job (main_job.sh) on every store: SQLite, Postgres, Redis and Redis Cluster, on servers that this script
# starts and ends; and on SQLite and Postgres with a worker of Temporal and of Restate. Only --store and --engine differ. Prints
# a line for each check (TAP) and, at the end, one for each place. Exits with 1 if a check failed. The arguments are places:
# STORE or STORE@ENGINE; without arguments, it runs in all. With HOLDOVER_BUILT=1, it builds no programs.
set -euo pipefail
cd "$(dirname "$0")/.."

places=("$@")
[ $# -gt 0 ] || places=(sqlite postgres redis redis-cluster {sqlite,postgres}@{temporal,restate})
servers=()
for place in "${places[@]}"; do
    case "${place%@*}" in
        sqlite) ;;
        postgres | redis | redis-cluster) servers+=("${place%@*}") ;;
        *) place='' ;;
    esac
    case "$place" in
        *@temporal | *@restate) servers+=("${place#*@}") ;;
        '' | *@*)
            echo "usage: acceptance/every_store.sh [{sqlite|postgres|redis|redis-cluster}[@{temporal|restate}]]..." >&2
            exit 2
            ;;
    esac
done

if [ -z "${HOLDOVER_ON_SERVERS-}" ]; then
    [ -n "${HOLDOVER_BUILT-}" ] || cargo build --quiet -p holdover-cli -p holdover-launcher --features holdover-cli/full
    export HOLDOVER_ON_SERVERS=1
    readarray -t servers < <(printf '%s\n' "${servers[@]}" | sort -u | sed '/^$/d')
    exec "${CARGO_TARGET_DIR:-target}/debug/holdover-launcher" "${servers[@]}" -- "$PWD/acceptance/every_store.sh" "${places[@]}"
fi

# The name of a schema or namespace that nothing else uses.
own=main_job_$$
store_of() {
    case "$1" in
        sqlite*) ;;
        postgres*) echo "$HOLDOVER_POSTGRES_URL?schema=$own" ;;
        redis) echo "$HOLDOVER_REDIS_URL?namespace=$own" ;;
        redis-cluster) echo "$HOLDOVER_REDIS_CLUSTER_URL?namespace=$own" ;;
    esac
}
engine_of() {
    case "$1" in
        *@temporal) echo "$HOLDOVER_TEMPORAL_URL" ;;
        *@restate) echo "restate://${HOLDOVER_RESTATE_INGRESS_URL#http://}?admin=$HOLDOVER_RESTATE_ADMIN_URL" ;;
    esac
}

code=0 said=()
for place in "${places[@]}"; do
    began=$SECONDS store=$(store_of "$place") engine=$(engine_of "$place") verdict=passed
    printf '# == %s\n' "$place"
    acceptance/main_job.sh ${store:+--store "$store"} ${engine:+--engine "$engine"} || { verdict=FAILED; code=1; }
    said+=("$(printf '# %-18s %s in %s s' "$place" "$verdict" "$((SECONDS - began))")")
done
printf '%s\n' "${said[@]}"
exit $code
