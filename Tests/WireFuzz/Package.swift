// swift-tools-version: 6.2
import PackageDescription

// Fuzz targets for the wire formats that the adapters and the command read. .ci/wire-fuzz builds the library with
// coverage and links it with libFuzzer; a plain build only shows that it compiles.

let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

func ours(_ names: String...) -> [Target.Dependency] {
    names.map { .product(name: $0, package: "signalbox") }
}

let package = Package(
    name: "signalbox-wire-fuzz",
    platforms: [.macOS(.v15)],
    products: [.library(name: "WireFuzz", type: .static, targets: ["WireFuzz"])],
    traits: [
        .trait(name: "WebKitGTK", description: "None of its targets needs it; the gate builds all packages alike")
    ],
    dependencies: [
        .package(
            name: "signalbox",
            path: "../..",
            traits: [.defaults, .trait(name: "WebKitGTK", condition: .when(traits: ["WebKitGTK"]))]
        )
    ],
    targets: [
        .target(
            name: "WireFuzz",
            dependencies: ours(
                "BrowserBridge",
                "JSBridge",
                "MQTTPush",
                "Signalbox",
                "SignalboxCommand",
                "SignalboxCore",
                "SignalboxRoutes",
                "WebSocketChat"
            ),
            path: "Sources",
            swiftSettings: strict
        )
    ]
)
