// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
]

let package = Package(
    name: "signalbox-benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "signalbox", path: "../.."),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        .target(name: "CMallocCounter"),
        .executableTarget(
            name: "DispatchBenchmark",
            dependencies: [
                "CMallocCounter",
                .product(name: "Signalbox", package: "signalbox"),
                .product(name: "SignalboxCore", package: "signalbox"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "ReceiveBenchmark",
            dependencies: [
                .product(name: "Signalbox", package: "signalbox"),
                .product(name: "SignalboxCore", package: "signalbox"),
                .product(name: "SignalboxRoutes", package: "signalbox"),
                .product(name: "MQTTPush", package: "signalbox"),
                "CMosquittoLibrary",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "BridgeBenchmark",
            dependencies: [
                .product(name: "Signalbox", package: "signalbox"),
                .product(name: "SignalboxCore", package: "signalbox"),
                .product(name: "JSBridge", package: "signalbox"),
                "CJavaScriptCoreLibrary",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "RouteBenchmark",
            dependencies: [
                .product(name: "SignalboxRoutes", package: "signalbox"),
                .product(name: "NavigationChain", package: "signalbox"),
            ],
            swiftSettings: strict
        ),
        .systemLibrary(name: "CJavaScriptCoreLibrary", pkgConfig: "javascriptcoregtk-4.1"),
        .systemLibrary(name: "CMosquittoLibrary", pkgConfig: "libmosquitto"),
        .executableTarget(name: "RawSubscriber", dependencies: ["CMosquittoLibrary"]),
        .executableTarget(name: "RawPublisher", dependencies: ["CMosquittoLibrary"]),
    ]
)
