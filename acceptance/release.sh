#!/usr/bin/env bash
# Makes this machine's release archive from the build that the tests use, and tries it as somebody who downloads it would.
# Also packages every crate that is published, without compiling it again. With HOLDOVER_BUILT=1, the command is not built.
set -euo pipefail
cd "$(dirname "$0")/.."

built=${CARGO_TARGET_DIR:-target} folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
[ -n "${HOLDOVER_BUILT-}" ] || cargo build --quiet -p holdover-cli --features full
packaging/release.sh --binary "$built/debug/holdover"
for archive in "$built"/release-files/holdover-*-unknown-linux-gnu.tar.gz; do
    name=$(basename "$archive" .tar.gz)
    cp "$archive" "$archive.sha256" "$folder/"
    (cd "$folder" && sha256sum --check --quiet "$name.tar.gz.sha256" && tar -xzf "$name.tar.gz")
    for file in holdover README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE; do
        [ -s "$folder/$name/$file" ] || { echo "$name.tar.gz: has no $file" >&2; exit 1; }
    done
    case "$name" in
        *-"$(uname -m)"-*) "$folder/$name/holdover" --version ;;
    esac
    # The checksum must detect a changed file.
    printf 'x' >>"$folder/$name.tar.gz"
    if (cd "$folder" && sha256sum --check --status "$name.tar.gz.sha256"); then
        echo "$name.tar.gz.sha256: takes what was changed for what it names" >&2
        exit 1
    fi
done
rm -rf "$built/package"
private=()
while read -r manifest; do
    private+=(--exclude "$(sed -n 's/^name = "\(.*\)"/\1/p' "$manifest" | head -n 1)")
done < <(git ls-files '*Cargo.toml' | xargs grep -l '^publish = false')
cargo package --quiet --workspace "${private[@]}" --no-verify --allow-dirty
for crate in "$built"/package/*.crate; do
    tar -tzf "$crate" --wildcards '*/README.md' >/dev/null 2>&1 || { echo "$crate: has no README.md" >&2; exit 1; }
done
echo "packed $(ls "$built"/package/*.crate | wc -l) crates"
