#!/bin/sh
# Stands for a service that takes an idempotency key: it notes every send, waits until its gate is open, and acts
# once for each key. If the process that sent the call has died before that, it does not act.
arguments=$(cat)
echo "$HOLDOVER_IDEMPOTENCY_KEY $arguments" >>sends
until [ -e gate ]; do
    kill -0 "$PPID" 2>/dev/null || exit 1
    sleep 0.02
done
grep -qxsF "$HOLDOVER_IDEMPOTENCY_KEY" applied || echo "$HOLDOVER_IDEMPOTENCY_KEY" >>applied
echo posted
