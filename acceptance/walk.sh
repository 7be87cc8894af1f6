#!/usr/bin/env bash
# Plays docs/walk.md in a fresh folder, exactly as a newcomer would. Needs curl.
set -euo pipefail
cd "$(dirname "$0")/.."
export HOLDOVER=$PWD
# The folder is not in the repository, and takes its compiler all the same.
RUSTUP_TOOLCHAIN=${RUSTUP_TOOLCHAIN:-$(sed -n 's/^channel = "\(.*\)"/\1/p' rust-toolchain.toml)}
export RUSTUP_TOOLCHAIN
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"$HOLDOVER/acceptance/page.sh" "$HOLDOVER/docs/walk.md"
