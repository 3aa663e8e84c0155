# Sourced by the scripts that run libFuzzer, after common.sh.

SANITIZERS="-sanitize=fuzzer,address"

# fuzzer_options TARGETS ARGUMENT...: sets seconds, runs, seed and files. TARGETS is the Swift file whose cases are the targets;
# --each N gives each of them N seconds.
fuzzer_options() {
    local targets=$1
    shift
    seconds=60
    runs=-1
    seed=0
    files=()
    while [ $# -gt 0 ]; do
        case $1 in
            --seconds) seconds=$2 && shift 2 ;;
            --each) seconds=$(($2 * $(grep -c '^    case .* = "' "$targets"))) && shift 2 ;;
            --runs) runs=$2 && shift 2 ;;
            --seed) seed=$2 && shift 2 ;;
            -*) complain "usage: $(basename "$0") [--seconds N | --each N] [--runs N] [--seed N] [FILE...]" && exit 64 ;;
            *) files+=("$1") && shift ;;
        esac
    done
}

# need_fuzzer PLACE: exits if the toolchain has no libFuzzer, as Xcode's.
need_fuzzer() {
    mkdir -p "$1"
    printf '@_cdecl("LLVMFuzzerTestOneInput")\npublic func test(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt { 0 }\n' \
        >"$1/probe.swift"
    # $SANITIZERS is unquoted on purpose.
    if swiftc -parse-as-library $SANITIZERS -o "$1/probe" "$1/probe.swift" >"$1/probe.log" 2>&1; then return; fi
    if [ "$(uname -s)" = Darwin ]; then
        echo "fuzz: skipped: this toolchain cannot link with -sanitize=fuzzer (see $1/probe.log)"
        exit 0
    fi
    cat "$1/probe.log" >&2
    complain "fuzz: this toolchain cannot link with -sanitize=fuzzer"
    exit 1
}

# run_fuzzer TOOL PLACE SEEDS: fuzzes within the options' bounds, or replays the files. The last line is the result.
run_fuzzer() {
    local tool=$1 place=$2 crashes=$2/crashes corpus=$2/corpus status=0 found
    # libFuzzer itself reports the location of a trap. The tests under the address sanitizer check for leaks.
    export SWIFT_BACKTRACE="enable=no" ASAN_OPTIONS="detect_leaks=0"
    if [ "${#files[@]}" -gt 0 ]; then exec "$tool" "${files[@]}"; fi
    # A run bounded by --runs starts from the seeds, so that its duration is stable. A run bounded by time resumes the corpus.
    if [ "$runs" -ge 0 ]; then
        corpus=$place/short
        mkdir -p "$corpus"
        find "$corpus" -type f -delete
    fi
    mkdir -p "$place/seeds" "$corpus" "$crashes"
    find "$place/seeds" -type f -delete
    export SIGNALBOX_SEEDS=$3 SIGNALBOX_CORPUS=$place/seeds
    "$tool" -artifact_prefix="$crashes/" -max_total_time="$seconds" -runs="$runs" -seed="$seed" -max_len=4096 -timeout=10 \
        -rss_limit_mb=2048 -print_final_stats=1 "$corpus" "$place/seeds" >"$place/log.txt" 2>&1 || status=$?
    grep -aE 'stat::(number_of|average_exec)' "$place/log.txt" || true
    if [ "$status" -eq 0 ]; then
        echo "fuzz: no finding; $(grep -a ' cov: ' "$place/log.txt" | tail -n 1 | grep -ao 'cov: [0-9]*' || true)"
        return
    fi
    grep -aE 'Fatal error|SUMMARY|ERROR: ' "$place/log.txt" | cut -c 1-2000 || tail -n 20 "$place/log.txt"
    found=$(sed -n 's/.*Test unit written to //p' "$place/log.txt" | tail -n 1)
    complain "fuzz: a finding (full log: $place/log.txt); replay it with: $0 ${found:-$crashes/FILE}"
    return "$status"
}
