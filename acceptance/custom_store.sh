#!/usr/bin/env bash
# Runs the commands of examples/custom-store/README.md, the guide to writing a store, in a fresh folder, as a newcomer would.
set -euo pipefail
cd "$(dirname "$0")/.."
export HOLDOVER=$PWD CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}/guide
# A build that is used only once needs neither incremental data nor debug information.
export CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=0 CARGO_PROFILE_TEST_DEBUG=0
# The folder is outside of the repository, so the repository's compiler is set for it.
RUSTUP_TOOLCHAIN=${RUSTUP_TOOLCHAIN:-$(sed -n 's/^channel = "\(.*\)"/\1/p' rust-toolchain.toml)}
export RUSTUP_TOOLCHAIN
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"$HOLDOVER/acceptance/page.sh" "$HOLDOVER/examples/custom-store/README.md"
