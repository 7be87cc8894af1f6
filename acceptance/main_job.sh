#!/usr/bin/env bash
# Runs the whole main job of the command line against a third-party mock provider (npm @copilotkit/aimock) on loopback:
# once as OpenAI, once as Anthropic. Needs node and npm. Installs the provider below target/, at the versions of
# main_job/provider/package-lock.json, without running scripts of packages. Prints a line for each check (TAP). Exits with
# 1 if a check failed. Sessions are kept in a fresh SQLite file, or in the store that --store names. With --engine, a worker of
# that durable engine runs them, and the scenes in which a process is killed are left out.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

store='' engine=''
while [ $# -ge 2 ]; do
    case "$1" in
        --store) store=$2 ;;
        --engine) engine=$2 ;;
        *) break ;;
    esac
    shift 2
done
[ $# = 0 ] || { echo "usage: acceptance/main_job.sh [--store URL] [--engine URL]" >&2; exit 2; }

cd "$here/.."
provider=target/acceptance/provider
if ! cmp -s "$here/main_job/provider/package-lock.json" "$provider/package-lock.json"; then
    rm -rf "$provider" "$provider.new"
    mkdir -p target/acceptance
    cp -r "$here/main_job/provider" "$provider.new"
    npm ci --silent --no-audit --no-fund --ignore-scripts --prefix "$provider.new"
    mv "$provider.new" "$provider"
fi
# The feature `full` includes every store that --store may name.
[ -n "${HOLDOVER_BUILT-}" ] || cargo build --quiet -p holdover-cli --features full
exec node acceptance/main_job/main.mjs \
    "$provider/node_modules/.bin/llmock" "${CARGO_TARGET_DIR:-target}/debug/holdover" "$store" "$engine"
