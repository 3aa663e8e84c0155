// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "signalbox-examples",
    platforms: [.macOS(.v15)],
    traits: [
        .trait(name: "WebKitGTK", description: "WebShop's pages in web views; without it their script alone")
    ],
    dependencies: [
        .package(
            name: "signalbox",
            path: "..",
            traits: [.defaults, .trait(name: "WebKitGTK", condition: .when(traits: ["WebKitGTK"]))]
        ),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    ],
    targets: [
        .executableTarget(
            name: "LineSource",
            dependencies: [
                .product(name: "SignalboxCore", package: "signalbox"),
                .product(name: "Signalbox", package: "signalbox"),
                .product(name: "SignalboxTesting", package: "signalbox"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: [.treatAllWarnings(as: .error)]
        ),
        .executableTarget(
            name: "WebShop",
            dependencies: [
                .product(name: "AppScheme", package: "signalbox"),
                .product(name: "JSBridge", package: "signalbox"),
                .product(name: "NavigationChain", package: "signalbox"),
                .product(name: "Signalbox", package: "signalbox"),
                .product(name: "SignalboxCore", package: "signalbox"),
                .product(name: "SignalboxRoutes", package: "signalbox"),
                .product(name: "WebSocketChat", package: "signalbox"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: [.treatAllWarnings(as: .error)]
        ),
    ]
)
