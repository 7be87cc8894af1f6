#!/usr/bin/env bash
# The whole main job of the command line, against a provider that others wrote (npm @copilotkit/aimock) on
# loopback: once as OpenAI, once as Anthropic. Needs node and npm; the provider is installed below target/, exactly
# as main_job/provider/package-lock.json names it, and no script of a package is run. Prints a line per check (TAP),
# ends with 1 if one failed. Sessions are kept in a fresh SQLite file, or where --store says.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

store=
case "${1-}" in
    '') ;;
    --store) store=${2:?usage: acceptance/main_job.sh [--store URL]} ;;
    *) echo "usage: acceptance/main_job.sh [--store URL]" >&2; exit 2 ;;
esac

cd "$here/.."
provider=target/acceptance/provider
if ! cmp -s "$here/main_job/provider/package-lock.json" "$provider/package-lock.json"; then
    rm -rf "$provider" "$provider.new"
    mkdir -p target/acceptance
    cp -r "$here/main_job/provider" "$provider.new"
    npm ci --silent --no-audit --no-fund --ignore-scripts --prefix "$provider.new"
    mv "$provider.new" "$provider"
fi
# --store may name any of them.
[ -n "${HOLDOVER_BUILT-}" ] || cargo build --quiet -p holdover-cli --features full
exec node acceptance/main_job/main.mjs \
    "$provider/node_modules/.bin/llmock" "${CARGO_TARGET_DIR:-target}/debug/holdover" "$store"
