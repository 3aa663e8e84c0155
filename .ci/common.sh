# Sourced by the check scripts. Written for the bash 3.2 of macOS as well.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export LC_ALL=C.UTF-8

# The modules that must build on every Swift platform, and therefore without Foundation.
FREE_MODULES="SignalboxCore SignalboxRoutes NavigationChain"

# The modules, separated by commas, whose public symbols stay as they are (docs/architecture.md says why).
FROZEN_MODULES="SignalboxCore"

# What the package is built with beyond the default, where the system has it. One build serves all steps of a gate, as another
# choice would build everything anew: .ci/test exports this, and without it each script builds what a user gets.
all_traits() {
    if [ "$(uname -s)" = Linux ] && command -v pkg-config >/dev/null && pkg-config --exists webkit2gtk-4.1; then
        echo "--traits WebKitGTK"
    fi
}

complain() {
    printf '%s\n' "$*" >&2
}

# The folders of Swift code that exist, the manifest included.
swift_folders() {
    local folder
    for folder in Package.swift Sources adapters Tests examples; do
        if [ -e "$folder" ]; then echo "$folder"; fi
    done
}

# The nested packages, which a build of the root does not reach.
nested_packages() {
    find Tests examples -name Package.swift -not -path '*/.build*' 2>/dev/null | sort | while read -r manifest; do
        dirname "$manifest"
    done
}

# imports_of FILE...: one line `FILE:LINE MODULE` per import, whatever its access level, attributes or kind.
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

# A tool of the toolchain that runs here, else one of the system.
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

# The modules that the package offers as libraries; two products are for Tests/Programs alone (Package.swift).
library_modules() {
    sed -n 's/.*\.library(name: "\([A-Za-z]*\)".*/\1/p' Package.swift | grep -vxE 'SignalboxCommand|BrokerKit' | sort
}

# The folder of the modules' symbol graphs: those that SIGNALBOX_SYMBOL_GRAPHS names, else new ones.
symbol_graphs() {
    if [ -n "${SIGNALBOX_SYMBOL_GRAPHS:-}" ]; then echo "$SIGNALBOX_SYMBOL_GRAPHS"; else .ci/symbols; fi
}

# swift_tool NAME: the program compiled from .ci/NAME.swift, built anew when that changed.
swift_tool() {
    local tool=.build/ci/$1
    mkdir -p .build/ci
    if [ ! -x "$tool" ] || [ ".ci/$1.swift" -nt "$tool" ]; then
        swiftc -swift-version 6 -o "$tool" ".ci/$1.swift" >&2
    fi
    echo "$tool"
}
