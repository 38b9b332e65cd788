#!/usr/bin/env bash
# What each format costs on the bundled model: bytes, KL divergence from the source, and how many of five greedy
# answers stay the same. Prints the rows of the table in docs/convert.md. Usage: quantization_table.sh [TOKENS]
set -euo pipefail

root=$(cd "$(dirname "$(readlink -f "$0")")/.." && pwd)
coli=$root/build/release/coli
source=$root/models/nano
tokens=${1:-4000}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

questions=(
    "What is the capital of France?"
    "What is 23 plus 45?"
    "Write a SQL query that lists all rows of the table books."
    "Translate to German: The house is red."
    "What does an expert cache do?"
)

answers() {
    local question
    for question in "${questions[@]}"; do
        "$coli" run --model "$1" --greedy --max-tokens 120 "$question" 2>/dev/null | tr '\n' ' '
        echo
    done
}

# The first half calibrates, the second half measures.
head -n 2000 "$source/eval.jsonl" >"$work/calibrate.jsonl"
tail -n +2001 "$source/eval.jsonl" >"$work/measure.jsonl"
"$coli" calibrate "$work/calibrate.jsonl" --model "$source" --limit 20000 --out "$work/moments" >&2 2>/dev/null
answers "$source" >"$work/expected"

row() {
    local name=$1 size kld same
    shift
    "$coli" convert "$source" "$work/out" "$@" >/dev/null
    size=$(cat "$work/out"/*.safetensors | wc -c)
    kld=$("$coli" eval kld "$work/measure.jsonl" --limit "$tokens" --model "$work/out" --reference "$source" --json \
        2>/dev/null | sed 's/.*"kld":\([^,]*\),"kld_error":\([^,]*\),.*"same_choice":\([^,]*\),.*/\1 \2 \3/')
    answers "$work/out" >"$work/found"
    same=$(diff --unchanged-line-format='%L' --old-line-format= --new-line-format= \
        "$work/expected" "$work/found" | wc -l || true)
    awk -v name="$name" -v size="$size" -v kld="$kld" -v same="$same" 'BEGIN {
        split(kld, k, " ")
        printf "| %s | %.1f MB | %.5f ± %.5f | %.2f %% | %d of 5 |\n", name, size / 1e6, k[1], k[2], 100 * k[3], same }'
    rm -rf "$work/out"
}

row "keep (fp8-g128, bf16)" --experts keep --dense keep --mtp keep
row "experts fp8" --experts fp8
row "experts bf16" --experts bf16
for format in int8 int4-g32 int4-g64 int4-g128 int2-g64; do
    row "experts $format, nearest" --experts "$format" --scales nearest
    row "experts $format, search" --experts "$format"
    row "experts $format, calibrated" --experts "$format" --calibration "$work/moments"
done
