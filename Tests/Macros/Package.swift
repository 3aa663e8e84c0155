// swift-tools-version: 6.2
import PackageDescription

// Tests and benchmark of the macro. A separate package, because building swift-syntax takes minutes.

let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

func syntax(_ names: String...) -> [Target.Dependency] {
    names.map { .product(name: $0, package: "swift-syntax") }
}

let package = Package(
    name: "signalbox-macros",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "signalbox", path: "../..", traits: ["Macros"]),
        .package(url: "https://github.com/swiftlang/swift-syntax", from: "603.0.1"),
    ],
    targets: [
        // A link to the macro's sources: SwiftPM offers no macro target to the tests of another package.
        .target(
            name: "MacroSources",
            dependencies: syntax(
                "SwiftDiagnostics",
                "SwiftParser",
                "SwiftSyntax",
                "SwiftSyntaxBuilder",
                "SwiftSyntaxMacros"
            ),
            exclude: ["Plugin.swift"],
            swiftSettings: strict + [.define("Macros")]
        ),
        .target(
            name: "MainActorShapes",
            dependencies: [.product(name: "SignalboxCore", package: "signalbox")],
            swiftSettings: strict + [.defaultIsolation(MainActor.self)]
        ),
        .testTarget(
            name: "MacroTests",
            dependencies: ["MacroSources", "MainActorShapes", .product(name: "SignalboxCore", package: "signalbox")]
                + syntax(
                    "SwiftDiagnostics",
                    "SwiftParser",
                    "SwiftSyntax",
                    "SwiftSyntaxBuilder",
                    "SwiftSyntaxMacroExpansion",
                    "SwiftSyntaxMacros"
                ),
            swiftSettings: strict
        ),
        .executableTarget(
            name: "ReadingBenchmark",
            dependencies: [.product(name: "SignalboxCore", package: "signalbox")],
            swiftSettings: strict
        ),
    ]
)
