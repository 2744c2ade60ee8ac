#!/bin/sh
# Tune zstd on a real file from a shell script: the smallest result, in 60 ms on average.
#
#     sh examples/tune_a_command.sh [ROUNDS]    # 40 rounds by default, about two minutes
#
# Needs softbandit[cli,tuner] and zstd. The rounds are stored in zstd.db: the next run continues.
set -eu

rounds=${1:-40}
export SOFTBANDIT_STORE=zstd.db
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Something that everybody has: the source of Python's standard library.
library=$(python3 -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')
cat "$library"/[a-h]*.py > "$folder/library"

softbandit tune init zstd \
    --parameter 'level=Integer(1, 19)' \
    --parameter 'window=Integer(14, 23)' \
    --minimize bytes \
    --limit 'Mean("ms", at_most=60)' \
    --baseline level=3 --baseline window=21

for _ in $(seq "$rounds"); do
    eval "$(softbandit tune ask zstd)" # sets id, level and window
    start=$(date +%s%N)
    if zstd -q -f "-$level" --zstd=wlog="$window" "$folder/library" -o "$folder/result"; then
        ms=$((($(date +%s%N) - start) / 1000000))
        softbandit tune tell zstd "$id" ms="$ms" bytes="$(wc -c < "$folder/result")"
    else
        softbandit tune tell zstd "$id" --failed "zstd ended with status $?"
    fi
done

softbandit tune status zstd
