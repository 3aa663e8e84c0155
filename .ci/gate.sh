# Sourced by the gates, after common.sh: runs their steps, each with a time limit, and prints the summary. The full output of
# each step is in .build/ci/.

LOGS=.build/ci
# In seconds. A step that hangs fails instead of blocking the gate.
STEP_LIMIT=${STEP_LIMIT:-1800}
# Hundreds of tests at once would start more programs and threads than two processors can serve, and wait for each other.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=${SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH:-16}

passed=0
failed=0
failures=""
details=""
running=""
aside=""
mkdir -p "$LOGS"

# Truncates lines, because a test's argument may be as long as a size limit.
shown() {
    cut -c 1-300
}

# limited [--display] COMMAND...: runs the command in a separate session and ends the session with it, so that no process of the
# command remains. At the time limit the command receives SIGUSR2, on which tests print what they wait for.
limited() {
    local status=0 on_display="" began=$SECONDS
    if [ "$1" = --display ]; then
        on_display=${DISPLAY_OF_ITS_OWN:-}
        shift
    fi
    if ! command -v timeout >/dev/null; then
        "$@" &
        running=$!
        wait "$running" || status=$?
        running=""
        return "$status"
    elif [ ! -d /proc/self ] || ! command -v setsid >/dev/null; then
        timeout --kill-after=10 "$STEP_LIMIT" "$@" &
        running=$!
        wait "$running" || status=$?
        running=""
        return "$status"
    else
        # Unquoted on purpose. --foreground sends the signal to the command only, not to its child processes.
        setsid $on_display timeout --foreground --signal=USR2 --kill-after=20 "$STEP_LIMIT" "$@" &
        running=$!
        wait "$running" || status=$?
        end_session "$running"
        running=""
        # A command that ignores the signal is killed, and timeout then returns 137.
        if [ "$status" -eq 137 ] && [ $((SECONDS - began)) -ge "$STEP_LIMIT" ]; then status=124; fi
        return "$status"
    fi
}

# end_session ID: ends the remaining processes of a session by their ids (proc(5): the fourth field after the name).
end_session() {
    local file facts
    for file in /proc/[0-9]*/stat; do
        facts=$(cat "$file" 2>/dev/null) || continue
        # Unquoted on purpose.
        set -- "$1" ${facts##*) }
        if [ "$5" = "$1" ]; then kill "-${signal:-KILL}" "${facts%% *}" 2>/dev/null || true; fi
    done
}

# A nested gate in the session has its own session to end, and gets one second for that.
interrupted() {
    if [ -n "$aside" ]; then kill "$aside" 2>/dev/null || true; fi
    if [ -n "$running" ]; then
        kill "$running" 2>/dev/null || true
        signal=TERM end_session "$running"
        sleep 1
        end_session "$running"
    fi
    if [ -n "$aside" ]; then wait "$aside" || true; fi
    exit 130
}
trap interrupted INT TERM USR2

# count TITLE STATUS [REMARK]: counts a step as passed or failed.
count() {
    if [ "$2" -eq 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        failures="$failures
  $1${3:+ ($3)}"
    fi
}

# tell TITLE FILE: repeats the file's lines in the gate's summary, which is all that some readers see.
tell() {
    details="$details
  $1
$(shown <"$2" | sed 's/^/    /')"
}

# ended STATUS: describes how a step ended.
ended() {
    if [ "$1" -eq 124 ]; then echo "timed out after $STEP_LIMIT s"; else echo "status $1"; fi
}

# step NAME TITLE COMMAND...: runs the command, prints the end of its output and returns its status.
step() {
    local name=$1 title=$2 began=$SECONDS status=0
    shift 2
    printf '\n== %s\n' "$title"
    limited "$@" >"$LOGS/$name.log" 2>&1 </dev/null || status=$?
    conclude "$name" "$title" "$status" $((SECONDS - began))
}

# begin_aside NAME TITLE COMMAND...: starts a step in the background, until end_aside. At most one runs at a time.
begin_aside() {
    aside_name=$1
    aside_title=$2
    aside_began=$SECONDS
    shift 2
    rm -f "$LOGS/$aside_name.seconds"
    (
        running=""
        aside=""
        status=0
        trap interrupted INT TERM USR2
        limited "$@" || status=$?
        echo $((SECONDS - aside_began)) >"$LOGS/$aside_name.seconds"
        exit "$status"
    ) >"$LOGS/$aside_name.log" 2>&1 </dev/null &
    aside=$!
}

# end_aside: waits for the background step and prints its result as `step` does.
end_aside() {
    local status=0 seconds=$((SECONDS - aside_began))
    printf '\n== %s (in the background of the steps above)\n' "$aside_title"
    wait "$aside" || status=$?
    aside=""
    read -r seconds <"$LOGS/$aside_name.seconds" || true
    conclude "$aside_name" "$aside_title" "$status" "$seconds"
}

# conclude NAME TITLE STATUS SECONDS: counts a finished step and prints the end of its log.
conclude() {
    local name=$1 title=$2 status=$3 seconds=$4 log=$LOGS/$1.log
    if [ "$status" -eq 0 ]; then
        tail -n 8 "$log" | shown
        echo "-- passed in $seconds s"
        count "$title" 0
        return 0
    fi
    {
        sed -E 's/\x1b\[[0-9;]*m//g' "$log" | grep -aE 'error:|SUMMARY: [A-Z][a-z]+Sanitizer|Fatal error' | grep -av 'signal handler spoils errno' |
            awk '!seen[$0]++ && shown++ < 12' || true
        # The location of a crash, from Swift's backtrace.
        grep -aE '^\*\*\* Program crashed|^ *[0-9]+ .* in .* at /' "$log" | awk 'shown++ < 10' || true
        tail -n 40 "$log"
    } >"$LOGS/$name.report"
    tail -n 40 "$log" | shown
    echo "-- FAILED: $(ended "$status") after $seconds s; full log: $log"
    count "$title" 1 "$(ended "$status")"
    tell "$title" "$LOGS/$name.report"
    return "$status"
}

# sanitizer_frames REPORT: the first error of a sanitizer's report and its first stack. A crash in the sanitizer itself has
# nothing else.
sanitizer_frames() {
    awk '/ERROR: [A-Z][a-z]+Sanitizer: / { found = 1; print; next }
        found && /^ *#[0-9]+ / { print; if (++frames == 14) exit; next }
        frames { exit }' "$1" | sed -E 's/ 0x[0-9a-f]+ / /'
}

# package_folder PACKAGE: the folder of the package with this name.
package_folder() {
    case $1 in
        signalbox) echo . ;;
        signalbox-programs) echo Tests/Programs ;;
        signalbox-gate) echo Tests/Gate ;;
    esac
}

# run_tests NAME PACKAGE SCRATCH [ARGUMENT...]: runs the built tests of a package (its name in the manifest). Writes their log,
# their events, a report (NAME.report) and `PASSED FAILED SKIPPED` (NAME.counts). TEST_OPTIONS are the options of their build.
# On Linux it runs the test program itself, because after a crash `swift test` waits for every process that the tests started.
run_tests() {
    local name=$1 package=$2 scratch=$3 status=0 log=$LOGS/$1.log
    shift 3
    rm -f "$LOGS/$name".*
    local program=$scratch/debug/${package}PackageTests.xctest
    set -- --event-stream-output-path "$LOGS/$name.events.jsonl" --event-stream-version 0 "$@"
    if [ -d "$program" ]; then
        # Unquoted on purpose.
        limited env SIGNALBOX_REPORT_WAITS=1 swift test --skip-build ${TEST_OPTIONS-${SIGNALBOX_TRAITS-}} --disable-xctest \
            --package-path "$(package_folder "$package")" --scratch-path "$scratch" "$@" >"$log" 2>&1 </dev/null || status=$?
    else
        limited --display env SIGNALBOX_REPORT_WAITS=1 "$program" --testing-library swift-testing "$@" >"$log" 2>&1 </dev/null || status=$?
    fi
    .ci/test-report "$LOGS/$name.events.jsonl" "$log" "$status" "$LOGS/$name.counts" >"$LOGS/$name.report"
    return "$status"
}

# tests NAME TITLE PACKAGE [ARGUMENT...]: runs the package's tests and counts each of them.
tests() {
    local name=$1 title=$2 package=$3 began=$SECONDS status=0 ran=0 bad=0 skipped=0
    shift 3
    printf '\n== %s\n' "$title"
    run_tests "$name" "$package" .build "$@" || status=$?
    # A run without counts has failed.
    read -r ran bad skipped <"$LOGS/$name.counts" || bad=1
    grep -aE '^skipped: ' "$LOGS/$name.log" | shown | sort -u | head -n 40 || true
    shown <"$LOGS/$name.report"
    passed=$((passed + ran))
    failed=$((failed + bad))
    if [ "$bad" -ne 0 ]; then
        failures="$failures
  $title: $bad"
    elif [ "$status" -ne 0 ] || [ "$ran" -eq 0 ]; then
        count "$title" 1 "the run itself: $(ended "$status")"
        tail -n 20 "$LOGS/$name.log" | shown
        if [ ! -s "$LOGS/$name.report" ]; then tail -n 12 "$LOGS/$name.log" >"$LOGS/$name.report"; fi
    fi
    if [ -s "$LOGS/$name.report" ]; then tell "$title" "$LOGS/$name.report"; fi
    echo "-- $ran passed, $bad failed, $skipped skipped in $((SECONDS - began)) s"
}

# finish NAME: prints the gate's summary. The last line is `N passed, N failed`, where each step and each test counts once.
finish() {
    printf '\n== Result after %s s\n' "$SECONDS"
    if [ "$failed" -ne 0 ]; then printf 'details:%s\nfailed:%s\n' "$details" "$failures"; fi
    echo "$passed $failed" >"$LOGS/$1.result"
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
}

# If a display or a browser is installed, a test that does not find it fails. Windows open on a virtual display.
find_displays() {
    SIGNALBOX_TRAITS=$(all_traits)
    export SIGNALBOX_TRAITS
    DISPLAY_OF_ITS_OWN=""
    if [ -n "$SIGNALBOX_TRAITS" ] && command -v xvfb-run >/dev/null; then
        DISPLAY_OF_ITS_OWN="$PWD/.ci/display"
        export DISPLAY_OF_ITS_OWN SIGNALBOX_NEEDS_DISPLAY=1
    fi
    if command -v chromium-headless-shell >/dev/null; then export SIGNALBOX_NEEDS_CHROMIUM=1; fi
}
