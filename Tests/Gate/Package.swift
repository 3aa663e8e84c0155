// swift-tools-version: 6.2
import PackageDescription

// Tests that fail, hang and crash on purpose. `run` compares the report of the gate with the expected one.

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
            traits: [.defaults, .trait(name: "WebKitGTK", condition: .when(traits: ["WebKitGTK"]))]
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
