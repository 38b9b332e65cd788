#!/bin/sh
# Builds base, tensor and kernels for AArch64 with their tests and runs them under qemu: the proof
# that the NEON table gives the reference's bits.
#   tools/neon_check.sh [GTEST_FILTER]
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
out=$root/build/neon
cxx=aarch64-linux-gnu-g++
gtest=/usr/src/googletest
filter=${1:-*}

missing() {
    echo "neon_check: $1 is missing: apt-get install g++-aarch64-linux-gnu qemu-user libgtest-dev" >&2
    exit 1
}
for tool in $cxx qemu-aarch64; do
    command -v "$tool" >/dev/null || missing "$tool"
done
[ -d $gtest ] || missing $gtest

# The host's header-only libraries, without its other headers.
mkdir -p "$out/include" "$out/objects"
for library in fmt tl; do ln -sfn "/usr/include/$library" "$out/include/$library"; done

launcher=$(command -v ccache || true)
flags="-std=c++20 -O2 -DNDEBUG -DFMT_HEADER_ONLY -ffp-contract=off -fno-fast-math -I$out/include"
flags="$flags -I$gtest/googletest/include -I$gtest/googlemock/include"
ours="-Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Wno-psabi"
ours="$ours -Wno-missing-field-initializers -Werror -I$root/src"
ours="$ours -DCOLIBRI_SOURCE_DIR='\"$root\"'"
theirs="-I$gtest/googletest -I$gtest/googlemock"

cd "$root"
{
    find src/base src/tensor src/kernels -name '*.cpp' ! -path '*/avx*' | sort |
        while read -r source; do
            object=$out/objects/$(echo "$source" | tr / _).o
            echo "$launcher $cxx $flags $ours -c $source -o $object"
        done
    for source in googletest/src/gtest-all googlemock/src/gmock-all googlemock/src/gmock_main; do
        object=$out/objects/$(basename $source).o
        echo "$launcher $cxx $flags $theirs -c $gtest/$source.cc -o $object"
    done
} >"$out/commands"
rm -f "$out"/objects/*.o
tr '\n' '\0' <"$out/commands" | xargs -0 -P "$(nproc)" -I{} sh -c '{}'
$cxx -static -o "$out/neon_test" "$out"/objects/*.o -lpthread
qemu-aarch64 "$out/neon_test" --gtest_filter="$filter" --gtest_brief=1
