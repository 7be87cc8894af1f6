#!/usr/bin/env bash
# Plays examples/custom-store/README.md, the guide to a store of one's own, in a fresh folder, exactly as a newcomer would.
set -euo pipefail
cd "$(dirname "$0")/.."
export HOLDOVER=$PWD CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}/guide
# What is built once and thrown away needs neither.
export CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=0 CARGO_PROFILE_TEST_DEBUG=0
# The folder is not in the repository, and takes its compiler all the same.
RUSTUP_TOOLCHAIN=${RUSTUP_TOOLCHAIN:-$(sed -n 's/^channel = "\(.*\)"/\1/p' rust-toolchain.toml)}
export RUSTUP_TOOLCHAIN
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"$HOLDOVER/acceptance/page.sh" "$HOLDOVER/examples/custom-store/README.md"
