// swift-tools-version: 6.2
import PackageDescription

// Tests that fail, hang and crash on purpose: `run` holds what the gate says of them against what it should say.

let package = Package(
    name: "signalbox-gate",
    platforms: [.macOS(.v15)],
    traits: [
        .trait(name: "WebKitGTK", description: "Changes nothing here: the gate builds all packages alike")
    ],
    dependencies: [
        .package(
            name: "signalbox",
            path: "../..",
            traits: [.trait(name: "WebKitGTK", condition: .when(traits: ["WebKitGTK"]))]
        )
    ],
    targets: [
        .testTarget(
            name: "GateTests",
            dependencies: [
                .product(name: "BrokerKit", package: "signalbox"),
                .product(name: "SignalboxTesting", package: "signalbox"),
            ],
            path: "GateTests",
            swiftSettings: [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)]
        )
    ]
)
