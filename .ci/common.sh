# Sourced by the check scripts. Also runs on macOS's bash 3.2.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export LC_ALL=C.UTF-8

# The modules that must build on every Swift platform, without Foundation.
FREE_MODULES="SignalboxCore SignalboxRoutes NavigationChain"

# The modules whose public symbols are frozen, separated by commas (see docs/architecture.md).
FROZEN_MODULES="SignalboxCore"

# The traits beyond the default that this system supports. All steps of a gate share one build, because other traits would
# rebuild everything: the gates export these. Without that, each script builds what a user gets.
all_traits() {
    if [ "$(uname -s)" = Linux ] && command -v pkg-config >/dev/null && pkg-config --exists webkit2gtk-4.1; then
        echo "--traits default,WebKitGTK"
    fi
}

complain() {
    printf '%s\n' "$*" >&2
}

# The existing folders of Swift code, and the manifest.
swift_folders() {
    local folder
    for folder in Package.swift Sources adapters Tests examples packaging; do
        if [ -e "$folder" ]; then echo "$folder"; fi
    done
}

# The nested packages, which a build of the root does not include. Tests/Macros has another trait, so it is built apart.
# Tests/PeerServers uses nothing of the root and takes minutes; only the benchmarks build it. examples/hummingbird takes as long, and
# is built by its own check.
nested_packages() {
    find Tests examples -name Package.swift -not -path '*/.build*' -not -path 'Tests/Macros/*' -not -path 'Tests/PeerServers/*' -not -path 'examples/hummingbird/*' 2>/dev/null | sort | while read -r manifest; do
        dirname "$manifest"
    done
}

# imports_of FILE...: one line `FILE:LINE MODULE` per import, for any access level, attribute or kind.
imports_of() {
    awk '
        {
            line = $0
            sub(/\/\/.*/, "", line)
            while (match(line, /^[ \t]*@[A-Za-z_]+(\([^)]*\))?[ \t]+/)) line = substr(line, RLENGTH + 1)
            sub(/^[ \t]*(public|package|internal|fileprivate|private)[ \t]+/, "", line)
            if (line !~ /^[ \t]*import[ \t]/) next
            sub(/^[ \t]*import[ \t]+/, "", line)
            sub(/^(struct|class|enum|protocol|func|var|let|typealias|actor)[ \t]+/, "", line)
            sub(/[^A-Za-z0-9_].*$/, "", line)
            print FILENAME ":" FNR " " line
        }' "$@"
}

# toolchain_tool NAME: the tool of the active toolchain, otherwise of the system.
toolchain_tool() {
    local beside
    beside=$(dirname "$(readlink -f "$(command -v swift)" 2>/dev/null || command -v swift)")/$1
    if [ -x "$beside" ]; then
        echo "$beside"
    elif command -v "$1" >/dev/null; then
        command -v "$1"
    elif command -v xcrun >/dev/null; then
        xcrun -f "$1"
    else
        return 1
    fi
}

# The package's library modules, except two products that only Tests/Programs uses (see Package.swift).
library_modules() {
    sed -n 's/.*\.library(name: "\([A-Za-z]*\)".*/\1/p' Package.swift | grep -vxE 'SignalboxCommand|BrokerKit|TestSupport' | sort
}

# The folder of the modules' symbol graphs: SIGNALBOX_SYMBOL_GRAPHS if set, otherwise newly generated.
symbol_graphs() {
    if [ -n "${SIGNALBOX_SYMBOL_GRAPHS:-}" ]; then echo "$SIGNALBOX_SYMBOL_GRAPHS"; else .ci/symbols; fi
}

# swift_tool NAME: the program compiled from .ci/NAME.swift, rebuilt when the source changes.
swift_tool() {
    local tool=.build/ci/$1
    mkdir -p .build/ci
    if [ ! -x "$tool" ] || [ ".ci/$1.swift" -nt "$tool" ]; then
        swiftc -swift-version 6 -o "$tool" ".ci/$1.swift" >&2
    fi
    echo "$tool"
}
