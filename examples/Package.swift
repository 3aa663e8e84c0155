// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "signalbox-examples",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "signalbox", path: ".."),
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
        )
    ]
)
