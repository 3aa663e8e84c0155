// swift-tools-version: 6.2
import PackageDescription

// The package has a folder of its own below `hummingbird`, because a package that is named as one of its dependencies cannot be
// resolved, and a package at a path has its folder's name.
let package = Package(
    name: "signalbox-hummingbird",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "signalbox", path: "../../.."),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.0.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.0.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        .executableTarget(
            name: "OrderServer",
            dependencies: [
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "Signalbox", package: "signalbox"),
                .product(name: "SignalboxCore", package: "signalbox"),
            ],
            swiftSettings: [.treatAllWarnings(as: .error)]
        )
    ]
)
