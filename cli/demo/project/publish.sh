#!/bin/sh
# Uploads a release, slowly: the far end is far away. An upload that was cut off is taken up again.
version=$1
log=publish.log
if grep -q began "$log" 2>/dev/null; then
    echo "upload of $version: taken up again, finished" >>"$log"
    echo "upload of $version finished"
    exit 0
fi
echo "upload of $version: began" >>"$log"
# Goes on for as long as whoever started it lives, half a minute at most.
looks=0
while kill -0 "$PPID" 2>/dev/null && [ "$looks" -lt 600 ]; do
    sleep 0.05
    looks=$((looks + 1))
done
echo "upload of $version: cut off" >>"$log"
exit 1
