// swift-tools-version: 6.2
import PackageDescription

// Tests of the command and of whole programs. They observe processes from outside, where no sanitizer can check.

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

let logging = Target.Dependency.product(name: "Logging", package: "swift-log")

let package = Package(
    name: "signalbox-programs",
    platforms: [.macOS(.v15)],
    traits: [
        .trait(name: "WebKitGTK", description: "The command's web views: needs libwebkit2gtk-4.1-dev")
    ],
    dependencies: [
        .package(
            name: "signalbox",
            path: "../..",
            traits: [.defaults, .trait(name: "WebKitGTK", condition: .when(traits: ["WebKitGTK"]))]
        ),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        .executableTarget(
            name: "CrashWorker",
            dependencies: ours("MQTTPush", "Signalbox", "SignalboxCore", "SignalboxRoutes", "SignalboxStore") + [
                logging,
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            path: "CrashWorker",
            swiftSettings: strict
        ),
        .executableTarget(
            name: "StoreWorker",
            dependencies: ours("Signalbox", "SignalboxCore", "SignalboxStore", "SignalboxTesting") + [logging],
            path: "StoreWorker",
            swiftSettings: strict
        ),
        .testTarget(
            name: "IntegrationTests",
            dependencies: ours("BrokerKit", "RecordingPublisher", "SignalboxStore", "signalbox") + [
                "CrashWorker", "StoreWorker",
            ],
            path: "IntegrationTests",
            // The tests compile it when they run.
            exclude: ["StoreFaults/fault_injector.c"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "SignalboxCommandTests",
            dependencies: ours(
                "AppScheme",
                "BrokerKit",
                "HTTPActions",
                "JSBridge",
                "MQTTPush",
                "NavigationChain",
                "PrometheusMetrics",
                "RecordingPublisher",
                "Signalbox",
                "SignalboxCommand",
                "SignalboxCore",
                "SignalboxRoutes",
                "SignalboxStore",
                "TestSupport",
                "WebSocketChat",
                "signalbox"
            ) + [
                logging,
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ],
            path: "SignalboxCommandTests",
            swiftSettings: strict
        ),
    ]
)
