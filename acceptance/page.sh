#!/usr/bin/env bash
# Plays a Markdown page: runs its sh blocks in order, in one shell, in the current folder, and checks what the page says
# about each block in comments after it:
#   <!-- shows: TEXT -->      the block printed this text
#   <!-- exit: CODE -->       a command of the block exited with this code; without this comment, all exited with 0
#   <!-- until: COMMAND -->   wait until this command succeeds, and fail after a minute
# Before anything runs, the page is refused if it has any other comment, a block that is not closed, or a block with a
# curl without -f, which would accept an error as an answer.
set -uo pipefail
page=$(realpath "${1:?usage: page.sh PAGE.md}")
stage=$(mktemp -d)
trap 'jobs -p | xargs -r kill -9 2>/dev/null; rm -rf "$stage"' EXIT

fail() {
    printf '%s: %s, after:\n%s\n-- printed:\n' "$page" "$1" "$block" >&2
    cat "$stage/printed" >&2
    exit 1
}
shows() { grep -qF -- "$1" "$stage/printed" || fail "does not show: $1"; }
settled() { [ "$codes" = "$expected" ] || fail "exit codes other than 0:${codes:- none}, expected:${expected:- none}"; }
until_true() {
    for _ in $(seq 600); do
        if (eval "$1") >/dev/null 2>&1; then return; fi
        sleep 0.1
    done
    fail "not so within a minute: $1"
}

# Turns the page into a script.
awk -v quote="'" '
    function wrong(why) { printf "%s:%d: %s\n", FILENAME, NR, why >"/dev/stderr"; bad = 1 }
    function quoted(text) { gsub(quote, quote "\\" quote quote, text); return quote text quote }
    /^```sh$/   { within = 1; block = ""; next }
    /^```$/ && within {
        within = 0; blocks++
        print "settled; codes= expected=; block=" quoted(block)
        print "{\n" block "} >\"$stage/printed\" 2>&1"
        next
    }
    within && /curl -[a-eg-zA-Z]* / { wrong("curl takes an error for an answer: say curl -f: " $0) }
    within      { block = block $0 "\n"; next }
    /^```/      { listing = !listing; next }
    listing     { next }
    /<!--/ && !/^<!-- (shows|exit|until): .* -->$/ { wrong("is no word of this page: " $0) }
    match($0, /^<!-- (shows|exit|until): .* -->$/) {
        text = $0; sub(/^<!-- [a-z]+: /, "", text); sub(/ -->$/, "", text)
        if ($2 == "shows:") print "shows " quoted(text)
        if ($2 == "until:") print "until_true " quoted(text)
        if ($2 == "exit:")  print "expected+=" quoted(" " text)
    }
    END {
        if (within || listing) wrong("a block is not closed")
        if (bad) exit 2
        print "settled; played=" blocks + 0
    }
' "$page" >"$stage/script" || exit 2

codes='' expected='' block='' played=0
touch "$stage/printed"
trap 'codes+=" $?"' ERR
. "$stage/script"
trap - ERR
[ "$played" -gt 0 ] || fail "holds no sh block"
echo "$(basename "$page"): $played blocks played"
