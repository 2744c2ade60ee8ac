#!/usr/bin/env bash
# Tune zstd on a real file from a shell script: the smallest result, in 60 ms of CPU time on average.
#
#     bash examples/tune_a_command.sh [ROUNDS]    # 40 rounds by default, about two minutes
#
# Needs softbandit[cli,tuner] and zstd. The rounds are stored in zstd.db, so running it again continues.
set -euo pipefail

rounds=${1:-40}
export SOFTBANDIT_STORE=zstd.db
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Something that everybody has: the source of Python's standard library.
library=$(python3 -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')
cat "$library"/[a-h]*.py > "$folder/library"

softbandit tune init zstd \
    --parameter 'level=Integer(1, 15)' \
    --parameter 'window=Integer(14, 23)' \
    --minimize bytes \
    --limit 'Mean("cpu_ms", at_most=60)' \
    --baseline level=3 --baseline window=21

TIMEFORMAT=%U # `time` prints the seconds of CPU time alone
for _ in $(seq "$rounds"); do
    eval "$(softbandit tune ask zstd)" # sets id, level and window
    if seconds=$({ time zstd -q -f "-$level" --zstd=wlog="$window" "$folder/library" -o "$folder/result"; } 2>&1); then
        bytes=$(wc -c < "$folder/result")
        softbandit tune tell zstd "$id" cpu_ms="$(printf %.0f "${seconds}e3")" bytes="$bytes"
    else
        softbandit tune tell zstd "$id" --failed "zstd failed: $seconds"
    fi
done

softbandit tune status zstd
