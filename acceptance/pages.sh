#!/usr/bin/env bash
# Opens real pages in a headless browser against `holdover serve`: one with useChat of the AI SDK, one with the client of AG-UI.
# They stream, approve, deny, run a tool of their own, stop, are reloaded in mid-stream, and see their server killed. Needs
# node, npm and Chromium. Installs the clients below target/. With HOLDOVER_BUILT=1, it builds no programs.
set -euo pipefail
cd "$(dirname "$0")/.."
here=$PWD/acceptance/pages tools=$PWD/target/acceptance/pages

if ! cmp -s "$here/package.json" "$tools/installed"; then
    rm -rf "$tools"
    mkdir -p "$tools"
    cp "$here/package.json" "$tools"
    npm install --silent --no-audit --no-fund --no-package-lock --ignore-scripts --prefix "$tools"
    cp "$here/package.json" "$tools/installed"
fi
[ -n "${HOLDOVER_BUILT-}" ] || cargo build --quiet -p holdover-cli --features serve
HOLDOVER=$(realpath "${CARGO_TARGET_DIR:-target}/debug/holdover")
export HOLDOVER PAGES_TOOLS=$tools
exec node "$here/main.mjs" "$@"
