#!/usr/bin/env bash
# Runs the command line against a provider that others wrote (npm @copilotkit/aimock) on loopback.
# Needs node and npm; the provider is installed below target/. Prints a line per check.
set -euo pipefail
cd "$(dirname "$0")/.."

provider=target/acceptance/aimock-1.43.0
if [ ! -x "$provider/node_modules/.bin/llmock" ]; then
    npm install --silent --no-audit --no-fund --no-save --prefix "$provider" @copilotkit/aimock@1.43.0
fi
cargo build --quiet -p holdover-cli
exec node acceptance/provider/main.mjs \
    "$provider/node_modules/.bin/llmock" "${CARGO_TARGET_DIR:-target}/debug/holdover"
