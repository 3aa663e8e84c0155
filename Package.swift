// swift-tools-version: 6.2
import CompilerPluginSupport
import PackageDescription

let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0335-existential-any.md
    .enableUpcomingFeature("ExistentialAny"),
    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0409-access-level-on-imports.md
    .enableUpcomingFeature("InternalImportsByDefault"),
    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0444-member-import-visibility.md
    .enableUpcomingFeature("MemberImportVisibility"),
]

// Not in SignalboxCore and NavigationChain: a `@MainActor` class that conforms to `Plugin` or `NavigationHandler` would then
// have to repeat the attribute on its method, as the requirement's isolation would be inferred for it.
// https://github.com/swiftlang/swift-evolution/blob/main/proposals/0461-async-function-isolation.md
let stayOnCaller: [SwiftSetting] = strict + [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]

let package = Package(
    name: "signalbox",
    platforms: [.macOS(.v15), .iOS(.v18)],
    products: [
        .library(name: "SignalboxCore", targets: ["SignalboxCore"]),
        .library(name: "SignalboxRoutes", targets: ["SignalboxRoutes"]),
        .library(name: "Signalbox", targets: ["Signalbox"]),
        .library(name: "NavigationChain", targets: ["NavigationChain"]),
        .library(name: "SignalboxStore", targets: ["SignalboxStore"]),
        .library(name: "PrometheusMetrics", targets: ["PrometheusMetrics"]),
        .library(name: "SignalboxTesting", targets: ["SignalboxTesting"]),
        .library(name: "AppScheme", targets: ["AppScheme"]),
        .library(name: "JSBridge", targets: ["JSBridge"]),
        .library(name: "MQTTPush", targets: ["MQTTPush"]),
        .library(name: "WebSocketChat", targets: ["WebSocketChat"]),
        .library(name: "HTTPActions", targets: ["HTTPActions"]),
        .library(name: "BrowserBridge", targets: ["BrowserBridge"]),
        .executable(name: "signalbox", targets: ["SignalboxProgram"]),
        // For Tests/Programs, a separate package, and not part of what Signalbox offers.
        .library(name: "SignalboxCommand", targets: ["SignalboxCommand"]),
        .library(name: "BrokerKit", targets: ["BrokerKit"]),
        .library(name: "TestSupport", targets: ["TestSupport"]),
        .executable(name: "RecordingPublisher", targets: ["RecordingPublisher"]),
    ],
    traits: [
        .default(enabledTraits: ["JavaScriptCore", "MQTT", "ServiceLifecycle", "Store", "WebSocket"]),
        .trait(
            name: "JavaScriptCore",
            description: "JSBridge's pages without a window: needs libjavascriptcoregtk-4.1-dev on Linux"
        ),
        .trait(name: "MQTT", description: "MQTTPush's connections to brokers, and the commands that use them"),
        .trait(name: "Macros", description: "The macro @ActionBody of SignalboxCore: builds swift-syntax"),
        .trait(name: "ServiceLifecycle", description: "Supervisor as a service of a ServiceGroup"),
        .trait(name: "Store", description: "SignalboxStore: needs libsqlite3-dev on Linux"),
        .trait(name: "WebKitGTK", description: "JSBridge's web view on Linux: needs libwebkit2gtk-4.1-dev"),
        .trait(
            name: "WebSocket",
            description: "WebSocketChat's connections, and what serves HTTP: needs libwebsockets-dev on Linux"
        ),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-system", from: "1.8.1"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.2", traits: []),
        // Only with the trait Macros: SwiftPM does not fetch a package of which no enabled target uses a product.
        .package(url: "https://github.com/swiftlang/swift-syntax", from: "603.0.1"),
    ],
    targets: [
        .target(
            name: "SignalboxCore",
            dependencies: [.target(name: "SignalboxMacros", condition: .when(traits: ["Macros"]))],
            swiftSettings: strict
        ),
        .macro(
            name: "SignalboxMacros",
            dependencies: [
                .product(name: "SwiftCompilerPlugin", package: "swift-syntax", condition: .when(traits: ["Macros"])),
                .product(name: "SwiftDiagnostics", package: "swift-syntax", condition: .when(traits: ["Macros"])),
                .product(name: "SwiftParser", package: "swift-syntax", condition: .when(traits: ["Macros"])),
                .product(name: "SwiftSyntax", package: "swift-syntax", condition: .when(traits: ["Macros"])),
                .product(name: "SwiftSyntaxBuilder", package: "swift-syntax", condition: .when(traits: ["Macros"])),
                .product(name: "SwiftSyntaxMacros", package: "swift-syntax", condition: .when(traits: ["Macros"])),
            ],
            swiftSettings: strict
        ),
        .target(name: "SignalboxRoutes", swiftSettings: strict),
        .target(
            name: "PrometheusMetrics",
            dependencies: [.product(name: "CoreMetrics", package: "swift-metrics")],
            swiftSettings: strict
        ),
        .testTarget(
            name: "PrometheusMetricsTests",
            dependencies: ["PrometheusMetrics", .product(name: "CoreMetrics", package: "swift-metrics")],
            swiftSettings: strict
        ),
        .target(name: "NavigationChain", dependencies: ["SignalboxRoutes"], swiftSettings: strict),
        .target(
            name: "Signalbox",
            dependencies: [
                "SignalboxCore",
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(
                    name: "ServiceLifecycle",
                    package: "swift-service-lifecycle",
                    condition: .when(traits: ["ServiceLifecycle"])
                ),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ],
            swiftSettings: stayOnCaller
        ),
        .systemLibrary(
            name: "CSQLite",
            pkgConfig: "sqlite3",
            providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]
        ),
        .target(
            name: "SQLiteDatabase",
            dependencies: [.target(name: "CSQLite", condition: .when(traits: ["Store"]))],
            swiftSettings: stayOnCaller
        ),
        .target(
            name: "SignalboxStore",
            dependencies: ["SignalboxCore", "SQLiteDatabase"],
            swiftSettings: stayOnCaller
        ),
        .target(
            name: "SignalboxTesting",
            dependencies: [
                "SignalboxCore", "Signalbox",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: stayOnCaller
        ),
        .target(
            name: "AdapterSupport",
            dependencies: ["SignalboxCore", "SignalboxRoutes", .product(name: "Logging", package: "swift-log")],
            path: "adapters/AdapterSupport",
            swiftSettings: stayOnCaller
        ),
        .target(
            name: "AppScheme",
            dependencies: [
                "SignalboxCore", "SignalboxRoutes", "AdapterSupport",
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "adapters/AppScheme",
            swiftSettings: stayOnCaller
        ),
        .systemLibrary(
            name: "CJavaScriptCore",
            path: "adapters/CJavaScriptCore",
            pkgConfig: "javascriptcoregtk-4.1",
            providers: [.apt(["libjavascriptcoregtk-4.1-dev"])]
        ),
        .systemLibrary(
            name: "CWebKitGTK",
            path: "adapters/CWebKitGTK",
            pkgConfig: "webkit2gtk-4.1",
            providers: [.apt(["libwebkit2gtk-4.1-dev"])]
        ),
        .target(
            name: "JSBridge",
            dependencies: [
                "SignalboxCore", "SignalboxRoutes", "NavigationChain", "AdapterSupport",
                .target(name: "CJavaScriptCore", condition: .when(platforms: [.linux], traits: ["JavaScriptCore"])),
                .target(name: "CWebKitGTK", condition: .when(platforms: [.linux], traits: ["WebKitGTK"])),
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "adapters/JSBridge",
            exclude: ["bridge.d.ts"],
            resources: [
                .embedInCode("bridge.js"), .embedInCode("Engines/JavaScriptCore/headless.js"),
                .embedInCode("Engines/WebView/Scripts/relay.js"), .embedInCode("Engines/WebView/Scripts/page.js"),
            ],
            swiftSettings: stayOnCaller
        ),
        .systemLibrary(
            name: "CMosquitto",
            path: "adapters/CMosquitto",
            pkgConfig: "libmosquitto",
            providers: [.apt(["libmosquitto-dev"]), .brew(["mosquitto"])]
        ),
        .systemLibrary(
            name: "COpenSSL",
            path: "adapters/COpenSSL",
            pkgConfig: "openssl",
            providers: [.apt(["libssl-dev"]), .brew(["openssl@3"])]
        ),
        .target(
            name: "SecureTransport",
            dependencies: ["SignalboxCore", "AdapterSupport", "COpenSSL"],
            path: "adapters/SecureTransport",
            swiftSettings: stayOnCaller
        ),
        .systemLibrary(
            name: "CCurl",
            path: "adapters/CCurl",
            pkgConfig: "libcurl",
            providers: [.apt(["libcurl4-openssl-dev"]), .brew(["curl"])]
        ),
        .target(
            name: "HTTPClient",
            dependencies: ["SignalboxCore", "SignalboxRoutes", "AdapterSupport", "SecureTransport", "CCurl"],
            path: "adapters/HTTPClient",
            swiftSettings: stayOnCaller
        ),
        .target(
            name: "MQTTPush",
            dependencies: [
                "SignalboxCore", "SignalboxRoutes", "AdapterSupport", "SecureTransport",
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "adapters/MQTTPush",
            swiftSettings: stayOnCaller
        ),
        .systemLibrary(
            name: "CLibwebsockets",
            path: "adapters/CLibwebsockets",
            pkgConfig: "libwebsockets",
            providers: [.apt(["libwebsockets-dev"]), .brew(["libwebsockets", "libev"])]
        ),
        .systemLibrary(
            name: "CZlib",
            path: "adapters/CZlib",
            pkgConfig: "zlib",
            providers: [.apt(["zlib1g-dev"])]
        ),
        .target(
            name: "WebSocketChat",
            dependencies: [
                "SignalboxCore", "SignalboxRoutes", "AdapterSupport", "SecureTransport",
                .target(name: "CLibwebsockets", condition: .when(traits: ["WebSocket"])),
                .target(name: "CZlib", condition: .when(traits: ["WebSocket"])),
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "adapters/WebSocketChat",
            swiftSettings: stayOnCaller
        ),
        .target(
            name: "HTTPActions",
            dependencies: [
                "SignalboxCore", "SignalboxRoutes", "AdapterSupport", "SecureTransport", "WebSocketChat",
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "adapters/HTTPActions",
            swiftSettings: stayOnCaller
        ),
        .target(
            name: "BrowserBridge",
            dependencies: [
                "SignalboxCore", "SignalboxRoutes", "JSBridge", "WebSocketChat", "AdapterSupport",
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "adapters/BrowserBridge",
            resources: [.embedInCode("browser.js")],
            swiftSettings: stayOnCaller
        ),
        .systemLibrary(
            name: "CYAML",
            pkgConfig: "yaml-0.1",
            providers: [.apt(["libyaml-dev"]), .brew(["libyaml"])]
        ),
        .target(
            name: "SignalboxCommand",
            dependencies: [
                "SignalboxCore", "SignalboxRoutes", "Signalbox", "NavigationChain", "AppScheme", "JSBridge",
                "MQTTPush", "WebSocketChat", "HTTPActions", "BrowserBridge", "AdapterSupport", "SignalboxStore",
                "HTTPClient", "SecureTransport", "PrometheusMetrics", "CYAML",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Subprocess", package: "swift-subprocess"),
                .product(name: "SystemPackage", package: "swift-system", condition: .when(platforms: [.linux])),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ],
            resources: [
                .embedInCode("Console/Page/console.html"), .embedInCode("Console/Page/console.css"),
                .embedInCode("Console/Page/console.js"),
            ],
            swiftSettings: stayOnCaller
        ),
        .systemLibrary(name: "CProgramStart"),
        .executableTarget(
            name: "SignalboxProgram",
            dependencies: ["SignalboxCommand", "CProgramStart"],
            swiftSettings: stayOnCaller
        ),
        .testTarget(
            name: "SignalboxTests",
            dependencies: [
                "Signalbox", "SignalboxCore", "SignalboxTesting", "TestSupport",
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "MetricsTestKit", package: "swift-metrics"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "TestSupport",
            dependencies: [
                "Signalbox", "SignalboxCore", "SignalboxTesting",
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Tests/TestSupport",
            swiftSettings: stayOnCaller
        ),
        .target(
            name: "BrokerKit",
            dependencies: ["SignalboxTesting"],
            path: "Tests/BrokerKit",
            swiftSettings: strict
        ),
        .executableTarget(
            name: "RecordingPublisher",
            dependencies: ["CMosquitto"],
            path: "Tests/RecordingPublisher",
            swiftSettings: strict
        ),
        .executableTarget(
            name: "PageProcess",
            dependencies: ["JSBridge"],
            path: "Tests/PageProcess",
            swiftSettings: strict
        ),
        .testTarget(
            name: "SecureTransportTests",
            dependencies: [
                "SecureTransport", "SignalboxCore", "AdapterSupport", "COpenSSL", "TestSupport", "BrokerKit",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "HTTPClientTests",
            dependencies: [
                "HTTPClient", "SignalboxCore", "SecureTransport", "AdapterSupport", "TestSupport", "BrokerKit",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "HTTPActionsTests",
            dependencies: [
                "HTTPActions", "WebSocketChat", "Signalbox", "SignalboxCore", "SignalboxRoutes", "SignalboxTesting",
                "AdapterSupport", "HTTPClient", "SecureTransport", "TestSupport", "BrokerKit",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "MQTTPushTests",
            dependencies: [
                "MQTTPush", "Signalbox", "SignalboxCore", "SignalboxRoutes", "AdapterSupport", "SecureTransport",
                "SignalboxTesting", "TestSupport", "BrokerKit", "RecordingPublisher",
                .product(name: "Logging", package: "swift-log"),
            ],
            exclude: ["Models"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "WebSocketChatTests",
            dependencies: [
                "WebSocketChat", "SignalboxCore", "SignalboxRoutes", "AdapterSupport", "SecureTransport", "Signalbox",
                "SignalboxTesting", "TestSupport", "BrokerKit",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "JSBridgeTests",
            dependencies: [
                "JSBridge", "Signalbox", "SignalboxCore", "SignalboxRoutes", "NavigationChain", "AdapterSupport",
                "SignalboxTesting", "TestSupport", "BrokerKit", "PageProcess",
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "BrowserBridgeTests",
            dependencies: [
                "BrowserBridge", "JSBridge", "WebSocketChat", "Signalbox", "SignalboxCore", "SignalboxRoutes",
                "AdapterSupport", "SignalboxTesting", "TestSupport", "BrokerKit",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "SignalboxTestingTests",
            dependencies: [
                "SignalboxTesting", "TestSupport", "Signalbox", "SignalboxCore",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "NavigationChainTests",
            dependencies: ["NavigationChain", "SignalboxRoutes", "SignalboxTesting", "TestSupport"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "AppSchemeTests",
            dependencies: [
                "AppScheme", "Signalbox", "SignalboxCore", "SignalboxRoutes", "SignalboxTesting", "TestSupport",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "SQLiteDatabaseTests",
            dependencies: ["SQLiteDatabase", "TestSupport"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "SignalboxStoreTests",
            dependencies: [
                "SignalboxStore", "SQLiteDatabase", "Signalbox", "SignalboxCore", "SignalboxTesting", "TestSupport",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "SignalboxCoreTests",
            dependencies: ["SignalboxCore", "TestSupport"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "SignalboxRoutesTests",
            dependencies: ["SignalboxRoutes", "TestSupport"],
            swiftSettings: strict
        ),
    ]
)
