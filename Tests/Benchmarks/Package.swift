// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
]

let package = Package(
    name: "signalbox-benchmarks",
    platforms: [.macOS(.v15)],
    traits: [
        .trait(name: "WebKitGTK", description: "The rows of the web view: needs libwebkit2gtk-4.1-dev")
    ],
    dependencies: [
        .package(
            name: "signalbox",
            path: "../..",
            traits: [.defaults, .trait(name: "WebKitGTK", condition: .when(traits: ["WebKitGTK"]))]
        ),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        .target(name: "CMallocCounter"),
        .target(name: "MarkdownTable", swiftSettings: strict),
        .executableTarget(
            name: "DispatchBenchmark",
            dependencies: [
                "CMallocCounter",
                "MarkdownTable",
                .product(name: "Signalbox", package: "signalbox"),
                .product(name: "SignalboxCore", package: "signalbox"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "PrometheusMetrics", package: "signalbox"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "GrowthBenchmark",
            dependencies: [
                "CMallocCounter",
                "MarkdownTable",
                .product(name: "Signalbox", package: "signalbox"),
                .product(name: "SignalboxCore", package: "signalbox"),
                .product(name: "SignalboxTesting", package: "signalbox"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "ScaleBenchmark",
            dependencies: [
                "MarkdownTable",
                .product(name: "Signalbox", package: "signalbox"),
                .product(name: "SignalboxCore", package: "signalbox"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "StoreBenchmark",
            dependencies: [
                "MarkdownTable",
                .product(name: "Signalbox", package: "signalbox"),
                .product(name: "SignalboxCore", package: "signalbox"),
                .product(name: "SignalboxStore", package: "signalbox"),
                .product(name: "SignalboxTesting", package: "signalbox"),
                "CSQLiteLibrary",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "ReceiveBenchmark",
            dependencies: [
                .product(name: "Signalbox", package: "signalbox"),
                .product(name: "SignalboxCore", package: "signalbox"),
                .product(name: "SignalboxRoutes", package: "signalbox"),
                .product(name: "SignalboxStore", package: "signalbox"),
                .product(name: "MQTTPush", package: "signalbox"),
                "CMosquittoLibrary",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "BridgeBenchmark",
            dependencies: [
                "MarkdownTable",
                .product(name: "Signalbox", package: "signalbox"),
                .product(name: "SignalboxCore", package: "signalbox"),
                .product(name: "JSBridge", package: "signalbox"),
                "BareJavaScriptCore",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "EngineBenchmark",
            dependencies: [
                .product(name: "Signalbox", package: "signalbox"),
                .product(name: "SignalboxCore", package: "signalbox"),
                .product(name: "SignalboxRoutes", package: "signalbox"),
                .product(name: "JSBridge", package: "signalbox"),
                .product(name: "BrowserBridge", package: "signalbox"),
                "CPageCounter",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "RouteBenchmark",
            dependencies: [
                "MarkdownTable",
                .product(name: "SignalboxRoutes", package: "signalbox"),
                .product(name: "NavigationChain", package: "signalbox"),
            ],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "WebSocketBenchmark",
            dependencies: [
                .product(name: "Signalbox", package: "signalbox"),
                .product(name: "SignalboxCore", package: "signalbox"),
                .product(name: "WebSocketChat", package: "signalbox"),
                "BareWebSocketClient",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "HTTPBenchmark",
            dependencies: [
                .product(name: "Signalbox", package: "signalbox"),
                .product(name: "SignalboxCore", package: "signalbox"),
                .product(name: "HTTPActions", package: "signalbox"),
                .product(name: "WebSocketChat", package: "signalbox"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "PluginBenchmark",
            dependencies: [
                .product(name: "Signalbox", package: "signalbox"),
                .product(name: "SignalboxCommand", package: "signalbox"),
                .product(name: "SignalboxCore", package: "signalbox"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),
        .systemLibrary(name: "CJavaScriptCoreLibrary", pkgConfig: "javascriptcoregtk-4.1"),
        .target(name: "BareJavaScriptCore", dependencies: ["CJavaScriptCoreLibrary"], swiftSettings: strict),
        .target(name: "CPageCounter"),
        .executableTarget(
            name: "RawScriptEngine",
            dependencies: ["BareJavaScriptCore", "CPageCounter"],
            swiftSettings: strict
        ),
        .systemLibrary(name: "CWebKitGTKLibrary", pkgConfig: "webkit2gtk-4.1"),
        .executableTarget(
            name: "RawWebView",
            dependencies: ["CPageCounter", .target(name: "CWebKitGTKLibrary", condition: .when(traits: ["WebKitGTK"]))]
        ),
        .systemLibrary(name: "CSQLiteLibrary", pkgConfig: "sqlite3"),
        .systemLibrary(name: "CMosquittoLibrary", pkgConfig: "libmosquitto"),
        .executableTarget(name: "RawSubscriber", dependencies: ["CMosquittoLibrary"]),
        .executableTarget(name: "RawPublisher", dependencies: ["CMosquittoLibrary"]),
        .systemLibrary(name: "CLibwebsocketsLibrary", pkgConfig: "libwebsockets"),
        .target(name: "BareWebSocketClient", dependencies: ["CLibwebsocketsLibrary"], swiftSettings: strict),
        .target(name: "CWebSocketWire", dependencies: ["CLibwebsocketsLibrary"]),
        .executableTarget(name: "RawWebSocketClient", dependencies: ["CLibwebsocketsLibrary", "CWebSocketWire"]),
        .executableTarget(name: "RawWebSocketServer", dependencies: ["CLibwebsocketsLibrary", "CWebSocketWire"]),
        .executableTarget(name: "RawPageServer", dependencies: ["CLibwebsocketsLibrary", "CPageCounter"]),
        .executableTarget(name: "RawWebSocketFlood", dependencies: ["CWebSocketWire"]),
        .executableTarget(name: "RawWebSocketSender", dependencies: ["CWebSocketWire"]),
        .executableTarget(name: "RawWebSocketCrowd", dependencies: ["CWebSocketWire"]),
        .executableTarget(name: "RawHTTPServer", dependencies: ["CLibwebsocketsLibrary"]),
        .executableTarget(name: "RawHTTPClients", dependencies: ["CWebSocketWire"]),
        .systemLibrary(name: "CCurlLibrary", pkgConfig: "libcurl"),
        .executableTarget(name: "RawPoster", dependencies: ["CCurlLibrary", "CWebSocketWire"]),
        .executableTarget(name: "RawProgram"),
        .executableTarget(name: "RawProgramCaller", dependencies: ["CWebSocketWire"]),
    ]
)
